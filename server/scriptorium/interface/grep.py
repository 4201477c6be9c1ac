"""`memory_grep`: lines that hold a text or match a regular expression.

Promises an end: a literal search is linear, a regular expression has a deadline. Never writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scriptorium.errors import InvalidArgument, Json, ScriptoriumError
from scriptorium.format.model import RelPath
from scriptorium.interface import envelope, regex
from scriptorium.interface.envelope import Answer, success
from scriptorium.interface.memory import Reading, files_under
from scriptorium.workspace.memory import Snapshot, SnapshotMoved

_LINE = 1000
"""Bytes of a line that an answer shows."""


def grep(
    call: Reading, *, query: str, prefix: str, case_sensitive: bool, literal: bool, limit: int
) -> Answer:
    """Every line that matches, in order of path."""
    layers, rest = call.reach(prefix)
    files = [
        _File(call.memory.qualify(name, info.path), info.kind == "source", text)
        for name, snapshot in layers
        for info in files_under(snapshot, rest)
        if (text := _text(snapshot, info.path)) is not None
    ]
    if literal:
        found = _literal(files, query, case_sensitive)
    else:
        found = _regex(files, query, case_sensitive)
    matches = envelope.take(
        [
            {"path": file.path, "line": number + 1, "text": envelope.clip(line, _LINE)}
            for file, number, line in found[:limit]
        ],
        envelope.ROOM - 512,
    )
    data: dict[str, Json] = {
        "matches": matches,
        "total": len(found),
        "truncated": len(matches) < len(found),
    }
    if data["truncated"]:
        data["go_on"] = "Narrow the query or the prefix, or raise limit (at most 1000)."
    if any(file.is_source for file, _, _ in found[: len(matches)]):
        data["note"] = envelope.DATA_NOT_INSTRUCTIONS
    return success(data, call.view.revision)


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    is_source: bool
    text: str


type _Match = tuple[_File, int, str]


def _text(snapshot: Snapshot, path: RelPath) -> str | None:
    """The file's text; None for one that cannot be read, which costs that file only."""
    try:
        return snapshot.read(path)
    except SnapshotMoved:
        raise
    except ScriptoriumError:
        return None


def _literal(files: Sequence[_File], query: str, case_sensitive: bool) -> list[_Match]:
    return [match for file in files for match in _literal_in(file, query, case_sensitive)]


def _literal_in(file: _File, query: str, case_sensitive: bool) -> Iterator[_Match]:
    fold = str if case_sensitive else str.casefold
    wanted = fold(query)
    if wanted not in fold(file.text):  # most files end here, without being split into lines
        return
    for number, line in enumerate(file.text.split("\n")):
        if wanted in fold(line):
            yield file, number, line.rstrip("\r")


def _regex(files: Sequence[_File], query: str, case_sensitive: bool) -> list[_Match]:
    try:
        numbers = regex.matching_lines(
            query, [file.text for file in files], case_sensitive=case_sensitive
        )
    except ValueError as error:
        raise InvalidArgument(
            f"query: not a usable regular expression: {error}. Simplify it, or use literal=true."
        ) from None
    found: list[_Match] = []
    for file, hits in zip(files, numbers, strict=True):
        lines = file.text.split("\n") if hits else []
        found += [(file, number, lines[number].rstrip("\r")) for number in hits]
    return found
