"""The answer's form and its limit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptorium.errors import InvalidArgument, InvalidTopicFormat, Json
from scriptorium.interface import envelope


def test_a_success_carries_data_and_revision() -> None:
    answer = envelope.success({"files": []}, "r1")
    assert json.loads(answer.text()) == {"ok": True, "data": {"files": []}, "revision": "r1"}
    assert answer.ok


def test_an_error_carries_code_message_path_and_details() -> None:
    answer = envelope.failure(InvalidArgument("no", path="topics/a.md", details={"n": 1}))
    assert answer.payload == {
        "ok": False,
        "error": {
            "code": "INVALID_ARGUMENT",
            "message": "no",
            "path": "topics/a.md",
            "details": {"n": 1},
        },
    }


def test_an_error_without_path_and_details_has_neither() -> None:
    assert set(envelope.failure(InvalidArgument("no")).error) == {"code", "message"}


def test_long_details_are_cut_at_a_record_and_tell_their_whole_length() -> None:
    problems: list[Json] = [
        {"path": "topics/a.md", "line": n, "message": "x" * 90} for n in range(5000)
    ]
    answer = envelope.failure(InvalidTopicFormat("many", details={"problems": problems}))
    details = answer.error["details"]
    assert isinstance(details, dict)
    shown = details["problems"]
    assert isinstance(shown, list)
    assert details["problems_total"] == 5000
    assert details["truncated"] is True
    assert shown == problems[: len(shown)]
    assert len(answer.text().encode()) <= envelope.LIMIT


def test_a_message_of_a_megabyte_is_clipped() -> None:
    answer = envelope.failure(InvalidArgument("é\n" * 600_000))
    assert len(answer.text().encode()) <= envelope.LIMIT


def test_data_over_the_limit_becomes_an_internal_error() -> None:
    assert envelope.success({"x": "y" * 40_000}, "").error["code"] == "INTERNAL_ERROR"


def test_lone_surrogates_are_replaced_everywhere() -> None:
    answer = envelope.success({"a\ud800": ["\udfff", {"b": "ok \ud83d"}]}, "r")
    answer.text().encode()
    assert answer.data == {"a\ufffd": ["\ufffd", {"b": "ok \ufffd"}]}


@settings(max_examples=60)
@given(st.text(), st.integers(0, 200))
def test_a_clipped_text_fits_and_begins_the_same(text: str, room: int) -> None:
    clipped = envelope.clip(text, room)
    if clipped == text:
        assert envelope.size(text) - 2 <= room
    else:
        assert text.startswith(clipped[:-1])
        assert envelope.size(clipped) - 2 <= max(room, 3)


@pytest.mark.parametrize(("room", "taken"), [(0, 0), (3, 1), (6, 2), (100, 3)])
def test_records_are_taken_while_they_fit(room: int, taken: int) -> None:
    assert envelope.take([11, 22, 33], room) == [11, 22, 33][:taken]
