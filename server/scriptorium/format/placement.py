"""Where the hunks of a patch fit in the text that is there.

Promises: a hunk is placed where its line number says when it fits there, else at the only place
where it fits. Nothing fuzzy: every old line must be there, trailing blanks and CRLF aside. What
does not fit comes back as a `Misfit` that shows the lines which are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from scriptorium.errors import Json
from scriptorium.format.patch_hunk import Hunk, HunkLine

_FITS_SHOWN = 10
_WIDTH = 200
_VOTES = 50


@dataclass(frozen=True, slots=True)
class Placed:
    """A hunk whose old lines are the file's lines from `at` on (0-based)."""

    hunk: Hunk
    at: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines `at` (0-based) to `at + taken` of the file give way to `added`."""

    at: int
    taken: int
    added: tuple[HunkLine, ...]
    of: Placed


@dataclass(frozen=True, slots=True)
class Misfit:
    """A hunk, or a whole file, that is not as the patch expects."""

    reason: str
    """For the model: what is wrong and what to do."""
    patch_line: int
    """1-based."""
    around: int = 0
    """0-based line of the file at which to look."""
    fits: tuple[int, ...] = ()
    """0-based places where the hunk would fit."""
    expected: str | None = None
    """The hunk's line that is not there."""

    def details(self, lines: Sequence[str], shown: int) -> Mapping[str, Json]:
        """What is there, as JSON values, with at most `shown` of the file's `lines`."""
        start = max(0, min(self.around - shown // 4, len(lines) - shown))
        there = range(start, min(start + shown, len(lines)))
        answer: dict[str, Json] = {
            "patch_line": self.patch_line,
            "reason": self.reason,
            "total_lines": len(lines),
            "file_lines": [{"line": n + 1, "text": _cut(lines[n])} for n in there],
        }
        if self.fits:
            answer["fits_at_lines"] = [n + 1 for n in self.fits[:_FITS_SHOWN]]
        if self.expected is not None:
            answer["expected"] = _cut(self.expected)
            answer["expected_at_line"] = self.around + 1
        return answer


class Places:
    """The lines of one file, ready to be searched for several hunks."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = [_comparable(line) for line in lines]
        self._where: dict[str, list[int]] = {}
        for n, line in enumerate(self._lines):
            self._where.setdefault(line, []).append(n)

    def place(self, hunk: Hunk) -> Placed | Misfit:
        """The one place of `hunk`, or why there is none."""
        old = [_comparable(line.text) for line in hunk.old]
        if not old:
            return self._insertion(hunk)
        hinted = (hunk.start or 0) - 1
        if self._unclear(hunk):
            reason = (
                "a line with + stands in the file with its +, and may be context; begin each line"
                " of context with a blank, and give the right counts"
            )
            return Misfit(reason, hunk.line, max(hinted, 0))
        fits = [hinted] if self._stands(old, hinted) else self._fits(old)
        if len(fits) == 1:
            return Placed(hunk, fits[0])
        if fits:
            reason = (
                "the hunk fits at several places and its line number at none of them; add lines"
                " of context, or give the right number"
            )
            return Misfit(reason, hunk.line, fits[0], tuple(fits))
        return self._nowhere(hunk, old)

    def _fits(self, old: Sequence[str]) -> list[int]:
        """The first places where `old` stands; no more than a message can name."""
        # The rarest line decides how many places have to be compared.
        rare = min(range(len(old)), key=lambda n: len(self._where.get(old[n], ())))
        starts = (n - rare for n in self._where.get(old[rare], ()))
        return list(islice((n for n in starts if self._stands(old, n)), _FITS_SHOWN))

    def _stands(self, old: Sequence[str], at: int) -> bool:
        return self._is(at, old[0]) and self._lines[at : at + len(old)] == old

    def _insertion(self, hunk: Hunk) -> Placed | Misfit:
        if not self._lines:
            return Placed(hunk, 0)
        if hunk.anchored and hunk.start and hunk.start <= len(self._lines):
            return Placed(hunk, hunk.start)
        if hunk.anchored and hunk.start == 0:
            reason = "the file is not empty; show a line of context beside the lines to add"
            return Misfit(reason, hunk.line)
        reason = (
            "added lines without context need `@@ -N,0 +M,K @@`, where N is the line of the file"
            " after which they go; better, show a line of context beside them"
        )
        return Misfit(reason, hunk.line, min(hunk.start or 0, len(self._lines)))

    def _nowhere(self, hunk: Hunk, old: Sequence[str]) -> Misfit:
        """The misfit at the place where most of the hunk's lines are."""
        votes: Counter[int] = Counter()
        for n, line in enumerate(old):
            if line:
                votes.update(at - n for at in self._where.get(line, ())[:_VOTES])
        hinted = min(max((hunk.start or 1) - 1, 0), len(self._lines))
        best = max(votes, key=lambda at: (votes[at], -abs(at - hinted)), default=hinted)
        differs = next((n for n, line in enumerate(old) if not self._is(best + n, line)), 0)
        reason = (
            "the hunk fits nowhere: its context and removed lines must stand in the file as they"
            " are, one below the other; read the file again and rebuild the hunk"
        )
        around = min(max(best + differs, 0), len(self._lines))
        return Misfit(reason, hunk.line, around, expected=hunk.old[differs].text)

    def _is(self, at: int, line: str) -> bool:
        return 0 <= at < len(self._lines) and self._lines[at] == line

    def _unclear(self, hunk: Hunk) -> bool:
        """Whether a line marked + may be context, `+` and all, which has lost its leading blank."""
        added = (_comparable("+" + line.text) for line in hunk.body if line.mark == "+")
        return not hunk.counted and any(whole in self._where for whole in added)


def edits(placed: Sequence[Placed]) -> list[Edit] | Misfit:
    """What all hunks do, from top to bottom, or the hunk that contradicts another one.

    Hunks may come in any order and share context; a line that one changes is no other's.
    """
    keeps: dict[int, bool] = {}
    found: dict[int, Edit] = {}
    for one in placed:
        claims = {one.at + n: line.mark == " " for n, line in enumerate(one.hunk.old)}
        own = {edit.at: edit for edit in _edits(one)}
        shared = claims.keys() & keeps.keys()
        if own.keys() & found.keys() or not all(keeps[n] and claims[n] for n in shared):
            return _overlap(one)
        keeps |= claims
        found |= own
    ordered = [found[at] for at in sorted(found)]
    for above, below in pairwise(ordered):
        if above.at + above.taken > below.at:
            return _overlap(below.of)
    return ordered


def _edits(one: Placed) -> Iterator[Edit]:
    at, taken, added = one.at, 0, list[HunkLine]()
    for line in one.hunk.body:
        match line.mark:
            case "+":
                added.append(line)
            case "-":
                taken += 1
            case " ":
                if taken or added:
                    yield Edit(at, taken, tuple(added), one)
                at, taken, added = at + taken + 1, 0, []
    if taken or added:
        yield Edit(at, taken, tuple(added), one)


def _overlap(one: Placed) -> Misfit:
    reason = "two hunks change the same lines; join them into one"
    return Misfit(reason, one.hunk.line, one.at)


def _comparable(line: str) -> str:
    return line.removeprefix("\ufeff").rstrip(" \t\r")


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else line[:_WIDTH] + "…"
