"""Transcripts of the real clients, read whole, in pieces, torn, rewritten, copied and huge."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.capture.desk import TRANSCRIPTS, Session

from scriptorium.capture import transcript
from scriptorium.capture.conversation import Message
from scriptorium.capture.transcript import Cursor, Reading

ALL = sorted(TRANSCRIPTS.glob("*/*.jsonl"))
GOLDENS = TRANSCRIPTS / "goldens"


def read(path: Path, cursor: Cursor | None = None) -> Reading:
    reading = transcript.read_new(path, cursor)
    assert reading is not None
    return reading


def texts(path: Path) -> list[str]:
    return [m.text for m in read(path).messages]


def golden(path: Path) -> Path:
    return GOLDENS / path.parent.name / f"{path.stem}.md"


def shown(messages: tuple[Message, ...]) -> str:
    """The conversation as the goldens write it down."""
    return "".join(
        f"## {m.role} · {m.id}\n\n{m.thread} · {m.time} · {m.cwd}\n\n{m.text}\n\n" for m in messages
    )


@pytest.mark.parametrize("path", ALL, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_the_conversation_of_a_real_transcript_is_what_was_typed_and_said(path: Path) -> None:
    assert shown(read(path).messages) == golden(path).read_text(encoding="utf-8")


def test_every_golden_belongs_to_a_transcript() -> None:
    assert sorted(GOLDENS.glob("*/*.md")) == sorted(golden(path) for path in ALL)


@pytest.mark.parametrize("path", ALL, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_transcript_read_while_it_grows_gives_the_same_conversation(
    path: Path, tmp_path: Path
) -> None:
    data = path.read_bytes()
    copy = tmp_path / path.name
    cuts = [*range(0, len(data), max(len(data) // 40, 1)), len(data)]
    found: list[Message] = []
    cursor = None
    for cut in cuts:
        copy.write_bytes(data[:cut])
        reading = transcript.read_new(copy, cursor)
        if reading is not None:
            found += reading.messages
            cursor = transcript.load(reading.cursor.dump())
            assert cursor == reading.cursor
    whole = read(path).messages
    assert [(m.id, m.text, m.thread) for m in found] == [(m.id, m.text, m.thread) for m in whole]
    assert cursor is not None
    assert cursor.offset == len(data)


def test_a_torn_last_line_waits_for_its_rest(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.turn("one", "two")
    whole = session.path.read_bytes()
    late = json.dumps(session.typed("three")).encode()
    session.path.write_bytes(whole + late[:50])
    first = read(session.path)
    assert [m.text for m in first.messages] == ["one", "two"]
    session.path.write_bytes(whole + late + b"\n")
    assert [m.text for m in read(session.path, first.cursor).messages] == ["three"]


def test_a_last_row_that_lacks_only_its_newline_is_read_once(tmp_path: Path) -> None:
    session = Session(tmp_path)
    row = json.dumps(session.typed("one")).encode()
    session.path.write_bytes(row)
    first = read(session.path)
    assert [m.text for m in first.messages] == ["one"]
    session.path.write_bytes(row + b"\n" + json.dumps(session.said("two")).encode() + b"\n")
    assert [m.text for m in read(session.path, first.cursor).messages] == ["two"]


def test_nothing_new_gives_nothing(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.turn("one", "two")
    first = read(session.path)
    second = read(session.path, first.cursor)
    assert second.messages == ()
    assert second.cursor == first.cursor


@pytest.mark.parametrize("change", ["rewritten", "shrunk"])
def test_a_file_that_is_another_one_now_is_read_from_its_start(tmp_path: Path, change: str) -> None:
    session = Session(tmp_path)
    session.turn("one", "two")
    session.turn("three", "four")
    cursor = read(session.path).cursor
    lines = session.path.read_bytes().splitlines(keepends=True)
    kept = lines[1:] if change == "rewritten" else lines[:1]
    session.path.write_bytes(b"".join(kept))
    expected = ["two", "three", "four"] if change == "rewritten" else ["one"]
    assert [m.text for m in read(session.path, cursor).messages] == expected


def test_a_rewritten_file_of_the_same_size_is_noticed(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.turn("one", "two")
    cursor = read(session.path).cursor
    session.path.write_bytes(session.path.read_bytes().replace(b"two", b"TWO"))
    assert [m.text for m in read(session.path, cursor).messages] == ["one", "TWO"]


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"[1, 2]\n",
        b'"user"\n',
        b'{"type": "user"}\n',
        b'{"type": "user", "message": "text"}\n',
        b'{"type": "user", "message": {"content": [1, null, {"type": "text", "text": 7}]}}\n',
        b'{"type": "assistant", "message": {"content": {"type": "text"}}}\n',
        b'{"type": "attachment", "attachment": ["queued_command"]}\n',
        b'{"type": "brand-new-row", "message": {"content": "user assistant"}}\n',
        b'{"type": ["user"], "message": {}}\n',
        b'\xff\xfe "user"\n',
        b"[" * 5000 + b'"user"\n',
        b"\n",
    ],
    ids=range(13),
)
def test_a_row_that_cannot_be_understood_costs_that_row(tmp_path: Path, line: bytes) -> None:
    session = Session(tmp_path)
    session.write(session.typed("before"))
    with session.path.open("ab") as file:
        file.write(line)
    session.write(session.said("after"))
    assert texts(session.path) == ["before", "after"]


def test_the_text_blocks_of_one_answer_are_one_message(tmp_path: Path) -> None:
    session = Session(tmp_path)
    ids = session.write(
        session.typed("q"), session.said("first", "msg_1"), session.said("second", "msg_1")
    )
    message = read(session.path).messages[1]
    assert message.text == "first\n\nsecond"
    assert message.id == ids[1]
    assert ids[2] in message.also


@pytest.mark.parametrize(
    "more",
    [
        {"isSidechain": True},
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"rowSource": "harness"},
        {"origin": {"kind": "task-notification"}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_the_client_put_in_is_not_the_persons(tmp_path: Path, more: dict[str, object]) -> None:
    session = Session(tmp_path)
    session.write(session.typed("typed"), {**session.typed("injected"), **more})
    assert texts(session.path) == ["typed"]


@pytest.mark.parametrize("flag", ["isSidechain", "isAbortedMidStream", "isApiErrorMessage"])
def test_an_answer_broken_off_or_an_error_is_not_said(tmp_path: Path, flag: str) -> None:
    session = Session(tmp_path)
    session.write(
        session.typed("q"), session.said("partial", **{flag: True}), session.said("whole")
    )
    assert texts(session.path) == ["q", "whole"]


def test_memory_read_back_by_a_tool_is_not_part_of_the_conversation(tmp_path: Path) -> None:
    session = Session(tmp_path)
    result = {"type": "tool_result", "tool_use_id": "t", "content": "The user moved to Pudong."}
    beside = {"type": "text", "text": "The user moved to Pudong, too."}
    session.write(
        session.typed("where do I live?"),
        session.row(type="user", message={"role": "user", "content": [result, beside]}),
        session.said("In Pudong."),
    )
    assert texts(session.path) == ["where do I live?", "In Pudong."]


def test_a_session_that_changed_directory_tells_where_each_message_was_said(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.turn("one", "two")
    session.cwd = "/elsewhere"
    session.turn("three", "four")
    assert [m.cwd for m in read(session.path).messages][1:3] == ["/home/dev/project", "/elsewhere"]


def test_an_old_rollout_without_events_is_read_from_its_response_items(tmp_path: Path) -> None:
    path = tmp_path / "rollout-old.jsonl"
    passed = {"turn_id": "t1", "content_item_kinds": ["user.text"]}

    def item(role: str, text: str, **more: object) -> dict[str, object]:
        kind = "input_text" if role == "user" else "output_text"
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {
            "timestamp": "2026-08-03T10:00:00Z",
            "type": "response_item",
            "payload": payload | more,
        }

    rows = [
        {"type": "session_meta", "payload": {"id": "thread-1", "cwd": "/home/dev"}},
        item("user", "# AGENTS.md instructions for /home/dev"),
        item("user", "<environment_context>x</environment_context>"),
        item("user", "typed", internal_chat_message_metadata_passthrough=passed),
        item("assistant", "said"),
        {**item("assistant", "summary"), "metadata": {"compaction_output": True}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    messages = read(path).messages
    assert [(m.role, m.text, m.thread) for m in messages] == [
        ("user", "typed", "thread-1"),
        ("assistant", "said", "thread-1"),
    ]
    assert len({m.id for m in messages}) == 2


@pytest.mark.parametrize("content", [b"", b"\n\n", b"no transcript\n", b'{"type": "user"'])
def test_a_file_that_is_no_transcript_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    assert transcript.read_new(path, None) is None


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b'{"path": 1}', b'{"session": {"x": 1}}', b"\xff"]
)
def test_a_damaged_cursor_is_none(data: bytes) -> None:
    assert transcript.load(data) is None


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel does not count reads")
def test_of_400_mb_only_what_is_new_is_read(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.turn("one", "two")
    whole = session.path.read_bytes()
    with session.path.open("r+b") as file:  # 400 MB of one row that nobody has to look at
        file.write(whole + b'{"type": "padding"')
        file.seek(400 << 20)
        file.write(b"}\n")
    size = session.path.stat().st_size
    assert size > 400 << 20
    with session.path.open("rb") as file:
        check = transcript._check(file, size)
    cursor = Cursor(str(session.path), "claude-code", offset=size, check=check)
    session.turn("x" * 2000, "y" * 2000)
    before = _bytes_read()
    reading = transcript.read_new(session.path, cursor)
    read = _bytes_read() - before
    os.truncate(session.path, 0)
    assert reading is not None
    assert len(reading.messages) == 2
    assert read < 1 << 20


def _bytes_read() -> int:
    """Bytes that this process has read so far, as the kernel counts them."""
    return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])
