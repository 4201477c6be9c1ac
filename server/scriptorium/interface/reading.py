"""`memory_list` and `memory_read`: what files there are, and what stands in them.

Promises that an answer is cut at a line's or a record's end and tells how to go on, and that a
block comes with the words it rests on. Never writes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scriptorium.errors import InvalidArgument, Json
from scriptorium.format import markdown, paths
from scriptorium.format.evidence import cited
from scriptorium.format.model import Heading
from scriptorium.interface import envelope, evidence
from scriptorium.interface.call import Reading
from scriptorium.interface.envelope import Answer, success
from scriptorium.interface.memory import VIEWS, Found, files_under


def list_files(
    call: Reading, *, prefix: str, include_derived: bool, limit: int, offset: int
) -> Answer:
    """The files of memory with their size and headings, in order of path."""
    layers, rest = call.reach(prefix)
    listed = [
        (call.memory.qualify(name, info.path), info)
        for name, snapshot in layers
        for info in files_under(snapshot, rest)
        if include_derived or info.kind not in VIEWS
    ]
    window = listed[offset : offset + limit]
    records: list[dict[str, Json]] = [
        {
            "path": path,
            "bytes": info.bytes,
            "headings": envelope.take([envelope.clip(h, 200) for h in info.headings], 2048),
            "kind": info.kind,
        }
        for path, info in window
    ]
    files = envelope.take(records, envelope.ROOM - 256)
    end = offset + len(files)
    data: dict[str, Json] = {"files": files, "total": len(listed), "truncated": end < len(listed)}
    if files and end < len(listed):
        data["next_offset"] = end
    return success(data, call.snapshots.revision)


def read(
    call: Reading,
    *,
    path: str,
    heading: str | None,
    block_id: str | None,
    offset: int | None,
    limit: int | None,
) -> Answer:
    """A file, a section, a window of lines, or a block with its evidence."""
    window = offset is not None or limit is not None
    if (heading is not None) + (block_id is not None) + window > 1:
        raise InvalidArgument(
            "Give at most one of heading, block_id, and offset/limit: they choose different parts.",
            path=path,
        )
    call.reach("")
    found = call.memory.find(call.snapshots, path)
    with call.memory.within(found.layer):
        text = found.snapshot.read(found.path)
    if block_id is not None:
        data = _block(call, found, text, block_id.removeprefix("^"))
        return success(data, call.snapshots.revision)
    lines = _lines(text)
    part = _Part("file", 1, len(lines))
    if heading is not None:
        part = _section(found, text, len(lines), heading)
    elif window:
        part = _window(found, len(lines), offset or 1, limit)
    return success(_cut(found, lines, part), call.snapshots.revision)


@dataclass(frozen=True, slots=True)
class _Part:
    mode: str
    start: int
    end: int
    """1-based, inclusive."""


def _cut(found: Found, lines: Sequence[str], part: _Part) -> dict[str, Json]:
    """The data of a part of a file, cut at the end of the last line that fits."""
    room = envelope.ROOM - 1024
    taken = envelope.take(lines[part.start - 1 : part.end], room)
    end = part.start + len(taken) - 1
    data: dict[str, Json] = {
        "path": found.shown,
        "mode": part.mode,
        "content": "\n".join(taken),
        "start_line": part.start,
        "end_line": end,
        "total_lines": len(lines),
        "truncated": end < part.end,
    }
    if not taken and part.start <= part.end:
        data["content"] = envelope.clip(lines[part.start - 1], room)
        data["end_line"] = end = part.start
        data["cut_line"] = part.start
        data["truncated"] = True
    if end < part.end:
        data["next_offset"] = end + 1
    if paths.kind(found.path) == "source":
        data["note"] = envelope.DATA_NOT_INSTRUCTIONS
    return data


def _window(found: Found, total: int, offset: int, limit: int | None) -> _Part:
    if offset > max(total, 1):
        raise InvalidArgument(
            f"offset {offset} is past the end: {found.shown} has {total} lines.", path=found.shown
        )
    return _Part("lines", offset, min(total, offset + limit - 1) if limit else total)


def _section(found: Found, text: str, total: int, wanted: str) -> _Part:
    """The lines of a heading and all below it, up to the next heading of its level or above."""
    headings = _headings(found, text)
    names = _heading_paths(headings)
    key = wanted.lstrip("#").strip()
    exact = [i for i, name in enumerate(names) if name == key]
    hits = exact or [i for i, heading in enumerate(headings) if heading.text == key]
    if len(hits) == 1:
        index = hits[0]
        level = headings[index].level
        below = (h.line - 1 for h in headings[index + 1 :] if h.level <= level)
        return _Part("heading", headings[index].line, next(below, total))
    listed = [f"{name} (line {headings[i].line})" for i, name in enumerate(names)]
    if not hits:
        why = f"There is no heading {wanted[:200]!r} in {found.shown}; see details.headings."
    else:
        why = (
            f"{len(hits)} headings are {wanted[:200]!r}: name one by its path, as in "
            "details.headings, or read its lines with offset and limit."
        )
        listed = [listed[i] for i in hits]
    raise InvalidArgument(why, path=found.shown, details={"headings": listed})


def _block(call: Reading, found: Found, text: str, block_id: str) -> dict[str, Json]:
    topic = found.snapshot.topic(found.path)
    block = next((b for b in topic.blocks if b.id == block_id), None) if topic else None
    if topic is None or block is None:
        raise InvalidArgument(_elsewhere(call, found, block_id), path=found.shown)
    share = envelope.ROOM // 3
    content = block.text
    cites = cited(topic, block)
    if cites:
        content += "\n\n" + "\n".join(definition.text for definition in cites)
    data: dict[str, Json] = {
        "path": found.shown,
        "mode": "block",
        "content": envelope.clip(content, share),
        "start_line": block.start_line,
        "end_line": block.end_line,
        "total_lines": len(_lines(text)),
        "truncated": envelope.size(content) - 2 > share,
        "headings": envelope.take([envelope.clip(h, 200) for h in block.headings], 1024),
    }
    shown = evidence.shown(call.memory, found, cites, envelope.ROOM - envelope.size(data) - 512)
    data["evidence"] = shown.records
    data["truncated"] = bool(data["truncated"]) or shown.truncated
    data["note"] = envelope.DATA_NOT_INSTRUCTIONS
    if data["truncated"]:
        data["go_on"] = "Read the path of a source with its heading to see all of its words."
    return data


def _elsewhere(call: Reading, found: Found, block_id: str) -> str:
    there = call.memory.locate_block(call.snapshots, block_id)
    if there is not None:
        return f"Block {block_id} is not in {found.shown} but in {there}: read that path."
    return (
        f"There is no block {block_id[:100]!r} in {found.shown}, nor anywhere else: it may have "
        "been removed. memory_search finds what is there now."
    )


def _headings(found: Found, text: str) -> Sequence[Heading]:
    if paths.kind(found.path) in ("topic", "core"):
        return markdown.parse_topic(text).headings
    marked = re.finditer(r"^(#{1,6})[ \t]+(.*?)[ \t]*\r?$", text, re.MULTILINE)
    return [Heading(len(m[1]), m[2], text.count("\n", 0, m.start()) + 1) for m in marked]


def _heading_paths(headings: Sequence[Heading]) -> list[str]:
    """Each heading with those above it, outermost first: `Residence > Where the user lives`."""
    stack: list[Heading] = []
    names = []
    for heading in headings:
        stack = [h for h in stack if h.level < heading.level] + [heading]
        names.append(" > ".join(h.text for h in stack))
    return names


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
