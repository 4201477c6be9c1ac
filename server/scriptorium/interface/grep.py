"""`memory_grep`: lines that hold a text or match a regular expression.

Promises an end: a literal search is linear, a regular expression has a deadline. Views repeat what
topics say, so they are looked through only when the prefix names them. Never writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scriptorium.errors import InvalidArgument, Json
from scriptorium.format.model import RelPath
from scriptorium.interface import envelope, regex
from scriptorium.interface.call import Reading
from scriptorium.interface.envelope import Answer, success
from scriptorium.interface.folded import FoldedTexts
from scriptorium.interface.memory import VIEWS, files_under
from scriptorium.workspace.snapshot import Snapshot

_LINE = 1000
"""Bytes of a line that an answer shows."""
_LINE_BY_LINE = (
    "Lines are looked at one by one, so nothing matches across a line break: ask for a part of one"
    " line."
)


@dataclass(frozen=True, slots=True)
class _File:
    shown: str
    path: RelPath
    is_source: bool
    snapshot: Snapshot


type _Match = tuple[_File, int]
"""A file, and the 0-based number of a line in it."""


def grep(
    call: Reading, *, query: str, prefix: str, case_sensitive: bool, literal: bool, limit: int
) -> Answer:
    """Every line that matches, in order of path."""
    files = _files(call, prefix)
    if not literal:
        found = _regex(files, query, case_sensitive)
    elif case_sensitive:
        found = list(_exact(files, query, call.memory.folded))
    else:
        found = list(_folded(files, query, call.memory.folded))
    matches = envelope.take(_records(found[:limit]), envelope.ROOM - 512)
    data: dict[str, Json] = {
        "matches": matches,
        "total": len(found),
        "truncated": len(matches) < len(found),
    }
    if data["truncated"]:
        data["go_on"] = "Narrow the query or the prefix, or raise limit (at most 1000)."
    if not found and _spans_lines(query, literal):
        data["hint"] = _LINE_BY_LINE
    if any(file.is_source for file, _ in found[: len(matches)]):
        data["note"] = envelope.DATA_NOT_INSTRUCTIONS
    return success(data, call.snapshots.revision)


def _spans_lines(query: str, literal: bool) -> bool:
    return "\n" in query or (not literal and r"\n" in query)


def _files(call: Reading, prefix: str) -> list[_File]:
    layers, rest = call.reach(prefix)
    derived = rest.lstrip("./").startswith(VIEWS)
    return [
        _File(call.memory.qualify(name, info.path), info.path, info.kind == "source", snapshot)
        for name, snapshot in layers
        for info in files_under(snapshot, rest, derived=derived)
    ]


def _folded(files: Iterable[_File], query: str, texts: FoldedTexts) -> Iterator[_Match]:
    wanted = query.casefold()
    for file in files:
        text = texts.of(file.snapshot, file.path)
        if text is not None and wanted in text:
            yield from ((file, number) for number in _lines_with(text, wanted))


def _exact(files: Iterable[_File], query: str, texts: FoldedTexts) -> Iterator[_Match]:
    wanted = query.casefold()
    for file in files:
        folded = texts.of(file.snapshot, file.path)
        if folded is None or wanted not in folded:
            continue
        text = file.snapshot.text(file.path) or ""
        yield from ((file, number) for number in _lines_with(text, query))


def _lines_with(text: str, wanted: str) -> Iterator[int]:
    return (number for number, line in enumerate(text.split("\n")) if wanted in line)


def _regex(files: Sequence[_File], query: str, case_sensitive: bool) -> list[_Match]:
    texts = [file.snapshot.text(file.path) or "" for file in files]
    try:
        numbers = regex.matching_lines(query, texts, case_sensitive=case_sensitive)
    except ValueError as error:
        raise InvalidArgument(
            f"query: not a usable regular expression: {error}. Simplify it, or use literal=true."
        ) from None
    return [(file, n) for file, hits in zip(files, numbers, strict=True) for n in hits]


def _records(found: Iterable[_Match]) -> list[Json]:
    """The matches with their lines as they stand in the files."""
    lines: dict[str, list[str]] = {}
    records: list[Json] = []
    for file, number in found:
        if file.shown not in lines:
            lines = {file.shown: (file.snapshot.text(file.path) or "").split("\n")}
        line = "".join(lines[file.shown][number : number + 1]).rstrip("\r")
        records.append({"path": file.shown, "line": number + 1, "text": envelope.clip(line, _LINE)})
    return records
