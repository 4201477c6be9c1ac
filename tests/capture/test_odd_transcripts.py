"""Transcripts as a crash, an odd clock, a newer client or a stranger leaves them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.capture.desk import Desk, Session

from scriptorium.capture import intake, transcript
from scriptorium.capture.conversation import Message


def read(path: Path) -> list[Message]:
    reading = transcript.read_new(path, None)
    assert reading is not None
    return list(reading.messages)


def texts(path: Path) -> list[str]:
    return [m.text for m in read(path)]


def test_bytes_that_are_no_utf_8_cost_no_message(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.turn("on-e", "two")
    session.path.write_bytes(session.path.read_bytes().replace(b"on-e", b"on\xffe"))
    assert texts(session.path) == ["on\ufffde", "two"]


@pytest.mark.parametrize("remains", [b"\0" * 5000, b'{"uuid": "x", "type": "user", "mess'])
def test_a_row_behind_the_remains_of_a_crash_is_read(tmp_path: Path, remains: bytes) -> None:
    session = Session(tmp_path)
    session.turn("one", "two")
    with session.path.open("ab") as file:
        file.write(remains)
    session.turn("three", "four")
    assert texts(session.path) == ["one", "two", "three", "four"]


def test_a_torn_row_whose_end_looks_like_a_row_waits_for_its_rest(tmp_path: Path) -> None:
    session = Session(tmp_path)
    block = {"type": "text", "text": "typed"}
    row = {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"content": [block]}}
    line = json.dumps(row).encode()
    torn = line.index(json.dumps(block).encode()) + len(json.dumps(block))
    session.path.write_bytes(b'{"type": "system"}\n' + line[:torn])
    reading = transcript.read_new(session.path, None)
    assert reading is not None
    assert reading.messages == ()
    session.path.write_bytes(b'{"type": "system"}\n' + line + b"\n")
    reading = transcript.read_new(session.path, reading.cursor)
    assert reading is not None
    assert [m.text for m in reading.messages] == ["typed"]


@pytest.mark.parametrize("kind", ["pipe", "device", "directory"])
def test_what_is_no_file_is_no_transcript_and_holds_nobody_up(desk: Desk, kind: str) -> None:
    path = desk.home / "x.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    assert desk.ingest(path).outcome == "waiting"


ODD_TIMES = [
    "",
    "yesterday",
    17,
    None,
    "2026-02-30T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2026-08-03T10:00:00+23:59",
    "2026-W31-1",
    "2026-08-03T10:00:00.123456789Z",
]


@pytest.mark.parametrize("time", ODD_TIMES, ids=str)
def test_a_message_of_any_time_is_written(desk: Desk, time: object) -> None:
    session = desk.session()
    session.write({**session.typed("FACT-a"), "timestamp": time})
    assert desk.ingest(session, force=True).outcome == "written"
    assert list(desk.contents().values()) == ["FACT-a"]


def test_while_the_last_answer_is_awaited_a_file_that_stays_the_same_is_read_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = desk.session()
    session.turn("q", "a")
    readings: list[Path] = []
    read_new = transcript.read_new

    def counted(path: Path, cursor: transcript.Cursor | None) -> transcript.Reading | None:
        readings.append(path)
        return read_new(path, cursor)

    monkeypatch.setattr(transcript, "read_new", counted)
    assert desk.ingest(session, last_message="never written down").added == 3
    assert sum(desk.clock.slept) == pytest.approx(intake.PATIENCE)
    assert len(readings) == 1


def test_a_session_of_an_older_codex_that_a_newer_one_goes_on_with_is_read_whole(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rollout-x.jsonl"

    def response(role: str, text: str) -> dict[str, object]:
        kind = "input_text" if role == "user" else "output_text"
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"type": "response_item", "payload": payload}

    def event(type_: str, text: str) -> dict[str, object]:
        item = {"type": type_, "id": type_, "content": [{"type": "text", "text": text}]}
        payload = {"type": "item_completed", "turn_id": "t9", "item": item}
        return {"type": "event_msg", "payload": payload}

    rows = [
        {"type": "session_meta", "payload": {"id": "thread-1", "cwd": "/home/dev"}},
        response("user", "old question"),
        response("assistant", "old answer"),
        response("user", "new question"),
        event("UserMessage", "new question"),
        event("AgentMessage", "new answer"),
        response("assistant", "new answer"),
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert texts(path) == ["old question", "old answer", "new question", "new answer"]


def test_where_the_rows_tell_no_directory_the_hooks_counts_for_the_ignore_file(desk: Desk) -> None:
    project = desk.home / "project"
    project.mkdir()
    (project / ".scriptorium-ignore").touch()
    session = desk.session()
    session.write({**session.typed("secret plans"), "cwd": None})
    assert desk.ingest(session, cwd=str(project)).added == 0
