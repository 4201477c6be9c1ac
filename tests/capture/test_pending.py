"""The pool: once each, redacted, in whole messages, and enough at the right time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capture.desk import NOON, filler

from scriptorium.capture import area, pending
from scriptorium.capture.conversation import Message
from scriptorium.capture.parts import PART_TOKENS, part_of, split
from scriptorium.capture.pool import BATCH_MESSAGES, BATCH_TOKENS, Pool, Waiting
from scriptorium.format.tokens import estimate_tokens
from scriptorium.workspace.layout import Layout, create
from scriptorium.workspace.runtime_files import append_runtime

PENDING = "pending.jsonl"


def message(number: int = 1, text: str = "hello", thread: str = "s1") -> Message:
    return Message("claude-code", thread, f"m{number}", "user", text, NOON.isoformat(), "/home/dev")


def waiting(number: int, tokens: int, thread: str = "s1", *, minutes_ago: int = 0) -> Waiting:
    said = NOON - timedelta(minutes=minutes_ago)
    one = replace(message(number, thread=thread), time=said.isoformat())
    return Waiting(one, tokens, NOON)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return create(tmp_path / "memory", ignore=True)


def test_a_message_is_pending_once_whichever_session_it_comes_from(layout: Layout) -> None:
    assert pending.add(layout, [message(), message()], NOON) == 1
    assert pending.add(layout, [replace(message(), thread="fork")], NOON) == 0
    assert [w.message for w in pending.load(layout).waiting] == [message()]


def test_a_message_known_under_another_of_its_ids_is_not_added_again(layout: Layout) -> None:
    pending.add(layout, [replace(message(1), also=("other",))], NOON)
    assert pending.add(layout, [message(1), replace(message(2), id="other")], NOON) == 0


def test_of_an_answer_known_in_part_only_the_rest_is_added(layout: Layout) -> None:
    first = replace(message(1, "one"), role="assistant")
    whole = replace(first, text="one\n\ntwo", also=("m2",), pieces=(("m1", "one"), ("m2", "two")))
    pending.add(layout, [first], NOON)
    assert pending.add(layout, [whole], NOON) == 1
    assert [w.message.text for w in pending.load(layout).waiting] == ["one", "two"]
    assert pending.add(layout, [whole], NOON) == 0


def test_what_is_pending_is_redacted_on_disk(layout: Layout) -> None:
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    pending.add(layout, [message(1, f"<private>diary</private> use {secret}")], NOON)
    on_disk = area.read(area.place(layout, PENDING)).decode()
    assert "diary" not in on_disk
    assert secret not in on_disk
    assert "[redacted:github-token]" in on_disk


def test_a_message_that_is_all_private_leaves_nothing(layout: Layout) -> None:
    assert pending.add(layout, [message(1, "<private>all of it")], NOON) == 0
    assert not pending.load(layout).waiting


def test_a_torn_line_costs_that_line_and_the_next_one_stands_alone(layout: Layout) -> None:
    pending.add(layout, [message(1)], NOON)
    place = area.place(layout, PENDING)
    torn = place.read_bytes() + b'{"provider": "claude-code", "thr'
    place.write_bytes(torn)
    assert pending.add(layout, [message(2)], NOON) == 1
    assert [w.message.id for w in pending.load(layout).waiting] == ["m1", "m2"]


@pytest.mark.parametrize("row", [{}, {"id": 1}, {"text": None}, {"provider": "x"}, {"tokens": "1"}])
def test_a_row_of_another_shape_is_no_message(layout: Layout, row: dict[str, object]) -> None:
    append_runtime(layout, area.named(PENDING), json.dumps(row).encode())
    assert not pending.load(layout).waiting


@given(st.text(min_size=1, max_size=100), st.text(min_size=1, max_size=20))
def test_every_text_comes_back_from_the_pool(text: str, id_: str) -> None:
    one = Waiting(replace(message(), id=id_, text=text), 7, NOON)
    assert pending._parse(pending._line(one)) == (one,)


def test_a_lone_surrogate_survives_the_pool() -> None:
    one = Waiting(message(1, "broken \ud83d emoji"), 7, NOON)
    assert pending._parse(pending._line(one)) == (one,)


def test_what_is_set_aside_is_not_pending_until_it_is_brought_back(layout: Layout) -> None:
    pending.add(layout, [message(1), message(2)], NOON)
    pool = pending.load(layout)
    pending.set_aside(layout, pool.waiting[:1])
    assert [w.message.id for w in pending.load(layout).waiting] == ["m2"]
    assert pending.add(layout, [message(1)], NOON) == 0
    assert pending.bring_back(layout) == 1
    assert [w.message.id for w in pending.load(layout).waiting] == ["m1", "m2"]
    assert pending.load_set_aside(layout) == ()


def test_killed_while_setting_aside_a_message_counts_as_set_aside(layout: Layout) -> None:
    pending.add(layout, [message(1)], NOON)
    line = area.read(area.place(layout, PENDING))
    append_runtime(layout, area.named("set-aside.jsonl"), line)
    assert not pending.load(layout).waiting
    assert len(pending.load_set_aside(layout)) == 1


@pytest.mark.parametrize(
    ("pool", "threshold", "enough"),
    [
        ([waiting(1, 15_999)], 16_000, False),
        ([waiting(1, 16_000)], 16_000, True),
        ([waiting(1, 8_000), waiting(2, 8_000, "s2")], 16_000, True),
        ([waiting(1, 999, minutes_ago=60)], 16_000, False),
        ([waiting(1, 1_000, minutes_ago=59)], 16_000, False),
        ([waiting(1, 1_000, minutes_ago=60)], 16_000, True),
        ([waiting(1, 500, minutes_ago=99), waiting(2, 500)], 16_000, False),
        ([waiting(1, 500, minutes_ago=99), waiting(2, 500, "s2")], 16_000, True),
        ([], 0, False),
        ([waiting(1, 10)], 10, True),
    ],
    ids=[
        "below", "at-threshold", "over-all-sessions", "idle-but-little", "not-idle-yet", "idle",
        "still-going-on", "one-session-over", "nothing", "own-threshold",
    ],
)  # fmt: skip
def test_it_is_time_to_write(pool: list[Waiting], threshold: int, *, enough: bool) -> None:
    assert Pool(tuple(pool)).is_enough(threshold, NOON) is enough


@given(st.lists(st.integers(0, PART_TOKENS), max_size=300))
def test_batches_are_whole_bounded_and_in_order(sizes: list[int]) -> None:
    rest = Pool(tuple(waiting(n, size) for n, size in enumerate(sizes)))
    seen: list[Waiting] = []
    while rest.waiting:
        batch = rest.batch()
        assert 0 < len(batch) <= BATCH_MESSAGES
        assert sum(w.tokens for w in batch) <= BATCH_TOKENS * 3 // 2
        seen += batch
        rest = Pool(rest.waiting[len(batch) :])
    assert [w.message.id for w in seen] == [f"m{n}" for n in range(len(sizes))]


@pytest.mark.parametrize(
    "text",
    [filler(40_000), "字" * 60_000, " " * 400_000 + "x", "line\n" * 40_000, "x" * 300_000],
    ids=["prose", "chinese", "blanks", "lines", "one-word"],
)
def test_a_message_larger_than_a_batch_is_split_and_nothing_of_it_is_lost(text: str) -> None:
    parts = split(message(1, text))
    assert "".join(part.text for part, _ in parts) == text
    assert len(parts) > 1
    assert [part_of(part.id) for part, _ in parts] == [
        (n, len(parts)) for n in range(1, len(parts) + 1)
    ]
    assert all(size <= PART_TOKENS * 1.1 for _, size in parts)
    assert split(message(1, text)) == parts


def test_a_usual_message_stays_whole() -> None:
    text = filler(11_000)
    assert split(message(1, text)) == [(message(1, text), estimate_tokens(text))]


def test_a_large_message_is_known_again_when_all_its_parts_are_there(layout: Layout) -> None:
    large = message(1, filler(40_000))
    assert pending.add(layout, [large], NOON) == 1
    assert pending.add(layout, [large], NOON) == 0


def test_parts_that_a_killed_writer_did_not_reach_are_added_later(layout: Layout) -> None:
    large = message(1, filler(40_000))
    pending.add(layout, [large], NOON)
    place = area.place(layout, PENDING)
    lines = place.read_bytes().splitlines(keepends=True)
    place.write_bytes(b"".join(lines[:2]) + lines[2][:100])
    pending.add(layout, [large], NOON)
    assert "".join(w.message.text for w in pending.load(layout).waiting) == large.text
