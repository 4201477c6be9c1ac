"""A unified diff as a model writes it, read into files and hunks.

Promises: wrong or missing counts and line numbers, a bare `@@`, missing `a/ b/`, prose or a fence
around the diff, CRLF, stripped blanks and a missing final newline are read as what they must mean;
what could mean two things is refused with the number of its line. Must not look at any file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scriptorium.errors import InvalidArgument
from scriptorium.format.model import RelPath
from scriptorium.format.patch_header import (
    Change,
    Target,
    git_change,
    git_target,
    is_git_line,
    names_file,
    target,
)
from scriptorium.format.patch_hunk import Hunk, RawLine, count, read_header, read_hunk

PATCH_BYTES = 256 * 1024

_FENCE = re.compile(r"(`{3,}|~{3,})[\w+-]*\s*")
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file."""

    path: RelPath
    kind: Change
    hunks: tuple[Hunk, ...]
    line: int
    """1-based line of its header in the patch."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch whose structure is sound; whether it fits is for `patch.apply` to say."""

    files: tuple[FilePatch, ...]


def parse(diff: str, layer: str = "") -> Patch:
    """The patch that `diff` states, of which `layer:` may qualify the paths.

    Raises InvalidArgument for structure that is unknown or ambiguous, a patch over 256 KiB, a file
    that appears twice and features that memory does not have; PathOutsideWorkspace; ReadOnlyPath.
    """
    _check_text(diff)
    files = tuple(_Parser(*_lines(diff), layer).files())
    if not files:
        raise InvalidArgument(
            "The patch names no file. Send a unified diff: `--- a/topics/x.md`, `+++ b/topics/x.md`"
            " (`--- /dev/null` to create, `+++ /dev/null` to delete), then `@@` hunks."
        )
    seen: set[str] = set()
    for file in files:
        if file.path in seen:
            raise _refused(file.line, f"{file.path} appears a second time; join its hunks")
        seen.add(file.path)
    return Patch(files)


def _check_text(diff: str) -> None:
    try:
        size = len(diff.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidArgument("The patch holds a lone surrogate; send valid Unicode.") from None
    if size > PATCH_BYTES:
        raise InvalidArgument(
            f"The patch has {size} bytes, more than {PATCH_BYTES}. Split it into several updates."
        )


def _lines(diff: str) -> tuple[list[str], frozenset[int]]:
    """The lines without their ends, and the indexes of those that end in CR where others do not."""
    raw = diff.removeprefix("\ufeff").split("\n")
    unended = 0 if raw[-1] == "" else 1
    if not unended:
        raw.pop()
    ended = [n for n, line in enumerate(raw) if line.endswith("\r")]
    # A patch in which every line ends in CRLF came through a system with such line ends.
    transport = len(ended) >= len(raw) - unended
    return [line.removesuffix("\r") for line in raw], frozenset(() if transport else ended)


class _Parser:
    """A cursor over the lines of one patch."""

    def __init__(self, lines: list[str], crs: frozenset[int], layer: str) -> None:
        self.lines = lines
        self.crs = crs
        self.layer = layer
        self.at = 0
        self.fence = ""

    def files(self) -> Iterator[FilePatch]:
        while self.at < len(self.lines):
            if self.lines[self.at].startswith("diff --git "):
                yield self._git_file()
            elif names_file(self.lines, self.at):
                yield self._file(None)
            else:
                self._skip_prose()

    def _skip_prose(self) -> None:
        line, number = self.lines[self.at], self.at + 1
        if line.startswith("@@"):
            raise _refused(number, "a hunk stands before any `---` and `+++` lines")
        if line.startswith(("--- ", "+++ ")) and line.rstrip().endswith((".md", "/dev/null")):
            raise _refused(number, "`--- a/<path>` and `+++ b/<path>` must follow each other")
        if is_git_line(line):
            git_change(line, number)
        fence = _FENCE.fullmatch(line)
        if fence:
            self.fence = "" if self.fence else fence[1]
        self.at += 1

    def _git_file(self) -> FilePatch:
        start, change = self.at, None
        self.at += 1
        while self.at < len(self.lines) and is_git_line(self.lines[self.at]):
            change = git_change(self.lines[self.at], self.at + 1) or change
            self.at += 1
        if names_file(self.lines, self.at):
            return self._file(change)
        if change is None:
            raise _refused(start + 1, "`diff --git` is followed by no change")
        what = git_target(self.lines[start], change, start + 1, self.layer)
        return _file_patch(what, [], start + 1)

    def _file(self, change: Change | None) -> FilePatch:
        line = self.at + 1
        what = target(self.lines[self.at], self.lines[self.at + 1], change, line, self.layer)
        self.at = self._next_text(self.at + 2)
        hunks: list[Hunk] = []
        while self.at < len(self.lines) and self.lines[self.at].startswith("@@"):
            hunks.append(self._hunk(create=what.change == "create"))
        if not hunks and not self._ends(self.at):
            raise _refused(self.at + 1, "expected a hunk header, `@@ -1,3 +1,4 @@` or a bare `@@`")
        return _file_patch(what, hunks, line)

    def _hunk(self, *, create: bool) -> Hunk:
        header, self.at = self.at, self._end_of_hunk(self.at)
        below = self._raw(header + 1, self.at)
        return read_hunk(self.lines[header], header + 1, below, create=create)

    def _end_of_hunk(self, header: int) -> int:
        """Where the lines end that can belong to the hunk."""
        end = self._next_end(header + 1)
        counts = read_header(self.lines[header], header + 1)[1]
        if counts is None or not names_file(self.lines, end):
            return end
        # A removed `-- x` with an added `++ y` looks like the names of a file. Only counts that
        # come out right with these two lines, and do not without them, prove that it is not.
        further = self._next_end(end + 2)
        short, long = (count(self._raw(header + 1, e)) for e in (end, further))
        return further if long == counts != short else end

    def _next_end(self, at: int) -> int:
        while not self._ends(at):
            at += 1
        return at

    def _ends(self, at: int) -> bool:
        """Whether a hunk ends before `at`: at a header, the closing fence or a mail signature."""
        if at >= len(self.lines):
            return True
        line = self.lines[at]
        if line.startswith(("@@", "diff --git ")):
            return True
        if self.fence and line.startswith(self.fence) and not line.strip(self.fence[0] + " "):
            return True
        if names_file(self.lines, at):
            follows = self._next_text(at + 2)
            null = any(name.rstrip().endswith("/dev/null") for name in self.lines[at : at + 2])
            return null or follows >= len(self.lines) or self.lines[follows].startswith("@@")
        signed = line in ("--", "-- ") and at + 1 < len(self.lines)
        return signed and _VERSION.fullmatch(self.lines[at + 1]) is not None

    def _next_text(self, at: int) -> int:
        while at < len(self.lines) and not self.lines[at].strip():
            at += 1
        return at

    def _raw(self, start: int, end: int) -> list[RawLine]:
        return [RawLine(self.lines[n], n in self.crs, n + 1) for n in range(start, end)]


def _file_patch(what: Target, hunks: list[Hunk], line: int) -> FilePatch:
    if not hunks and what.change == "edit":
        raise _refused(line, f"{what.path} has no hunk; add one, or leave the file out")
    if len(hunks) > 1 and what.change == "create":
        raise _refused(line, f"{what.path} is created in several hunks; join them into one")
    return FilePatch(what.path, what.change, tuple(hunks), line)


def _refused(line: int, what: str) -> InvalidArgument:
    return InvalidArgument(f"Patch line {line}: {what}.")
