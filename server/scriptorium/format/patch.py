"""A patch applied to files in memory: exactly what it says, or a conflict that shows what is there.

The one importer of patch_ng, whose own `apply` is never called (it applies part of a failing patch,
overwrites on create and deletes without looking). Hunks are placed by `placement`; the edits go to
`PatchSet.patch_stream` as a canonical diff, and its result must equal the one made here.

Promises: all files or none; lines that the patch does not change keep every byte, BOM and line end
included. Does no I/O but through `read`.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scriptorium.errors import InternalError, InvalidArgument, Json, PatchConflict
from scriptorium.format.model import RelPath
from scriptorium.format.patch_hunk import HunkLine
from scriptorium.format.patch_parse import FilePatch, Patch, parse
from scriptorium.format.placement import Edit, Misfit, Placed, Places, edits

__all__ = ["FilePatch", "Patch", "apply", "parse"]

# patch_ng logs the content of files.
logging.getLogger("patch_ng").propagate = False

_LINES_SHOWN = 40
_CONFLICTS_SHOWN = 5
_BOM = "\ufeff"


def apply(patch: Patch, read: Callable[[RelPath], bytes | None]) -> dict[RelPath, bytes | None]:
    """The new content of every file that the patch names; None for a deleted one.

    `read` gives a file's bytes, None when there is no such file. Raises PatchConflict with the
    lines that are there for everything that does not fit, in all files at once; InvalidArgument
    when the patch changes nothing; InternalError when patch_ng disagrees.
    """
    results: dict[RelPath, bytes | None] = {}
    conflicts: list[tuple[FilePatch, _Text, Misfit]] = []
    changed = False
    for file in patch.files:
        data = read(file.path)
        text, misfits = _open(file, data)
        result = None if misfits else _change(file, text)
        match result:
            case None | [*_]:
                conflicts += [(file, text, m) for m in [*misfits, *(result or [])]]
            case _Text():
                results[file.path] = None if file.kind == "delete" else result.encoded()
                changed = changed or results[file.path] != data
    if conflicts:
        raise _conflict(conflicts)
    if not changed:
        raise InvalidArgument("The patch changes nothing: every file is as it says already.")
    return results


@dataclass(frozen=True, slots=True)
class _Text:
    """A file as lines. `ends` holds each line's end: `\\n`, `\\r\\n`, or nothing for the last."""

    bom: str
    lines: tuple[str, ...]
    ends: tuple[str, ...]

    def encoded(self) -> bytes:
        body = "".join(line + end for line, end in zip(self.lines, self.ends, strict=True))
        return (self.bom + body).encode("utf-8")


_EMPTY = _Text("", (), ())


def _open(file: FilePatch, data: bytes | None) -> tuple[_Text, list[Misfit]]:
    """The text to change, and why it cannot be changed in this way at all."""
    if data is None:
        if file.kind == "create" or _is_creation(file):
            return _EMPTY, []
        return _EMPTY, [
            Misfit("there is no such file; to create it, use `--- /dev/null`", file.line)
        ]
    try:
        text = _split(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _EMPTY, [Misfit("the file is not valid UTF-8; a person has to mend it", file.line)]
    if file.kind == "create":
        reason = (
            "the file exists already; edit it, with its lines as context, or choose another path"
        )
        return text, [Misfit(reason, file.line)]
    return text, []


def _is_creation(file: FilePatch) -> bool:
    """Whether the patch names the file on both sides, yet can only mean a new one."""
    if file.kind != "edit" or len(file.hunks) != 1:
        return False
    hunk = file.hunks[0]
    return hunk.anchored and hunk.start == 0 and not hunk.old


def _change(file: FilePatch, text: _Text) -> _Text | list[Misfit]:
    """`text` after the hunks of `file`, or every hunk that does not fit."""
    places = Places(text.lines)
    outcomes = [places.place(hunk) for hunk in file.hunks]
    misfits = [o for o in outcomes if isinstance(o, Misfit)]
    if misfits:
        return misfits
    steps = edits([o for o in outcomes if isinstance(o, Placed)])
    if isinstance(steps, Misfit):
        return [steps]
    if text.bom:
        steps = [_without_bom(step) if step.at == 0 else step for step in steps]
    result = _edited(text, steps, _LineEnds(file, text))
    _check_with_patch_ng(file.path, text.lines, steps, result.lines)
    if file.kind == "delete" and result.lines:
        kept = next((n for n, line in enumerate(text.lines) if line == result.lines[0]), 0)
        reason = "a deletion removes every line, and the file holds others; read it again"
        return [Misfit(reason, file.line, kept)]
    return result


def _without_bom(step: Edit) -> Edit:
    """The edit of a first line whose BOM, which the file keeps anyway, the patch shows too."""
    added = (replace(line, text=line.text.removeprefix(_BOM)) for line in step.added)
    return replace(step, added=tuple(added))


class _LineEnds:
    """How an added line ends: as the patch shows it, else as the file does."""

    def __init__(self, file: FilePatch, text: _Text) -> None:
        crlf = sum(end == "\r\n" for end in text.ends)
        self.default = "\r\n" if crlf > sum(end == "\n" for end in text.ends) else "\n"
        self._shown = any(line.cr for hunk in file.hunks for line in hunk.body)

    def of(self, line: HunkLine) -> str:
        if not self._shown:
            return self.default
        return "\r\n" if line.cr else "\n"


def _edited(text: _Text, steps: Sequence[Edit], line_ends: _LineEnds) -> _Text:
    lines: list[str] = []
    ends: list[str] = []
    at = 0
    unended = False
    for step in steps:
        lines += [*text.lines[at : step.at], *(line.text for line in step.added)]
        ends += [*text.ends[at : step.at], *(line_ends.of(line) for line in step.added)]
        at = step.at + step.taken
        unended = bool(step.added) and step.added[-1].unended
    lines += text.lines[at:]
    ends += text.ends[at:]
    ends = [end or line_ends.default for end in ends[:-1]] + ends[-1:]
    if unended and at == len(text.lines):
        ends[-1] = ""
    return _Text(text.bom, tuple(lines), tuple(ends))


def _split(text: str) -> _Text:
    bom = _BOM if text.startswith(_BOM) else ""
    pieces = text.removeprefix(bom).split("\n")
    last = pieces.pop()
    lines = [piece.removesuffix("\r") for piece in pieces]
    ends = ["\r\n" if piece.endswith("\r") else "\n" for piece in pieces]
    if last:
        return _Text(bom, (*lines, last), (*ends, ""))
    return _Text(bom, tuple(lines), tuple(ends))


def _check_with_patch_ng(
    path: RelPath, old: Sequence[str], steps: Sequence[Edit], new: Sequence[str]
) -> None:
    """patch_ng, told the same edits, makes the same text. Raises InternalError when not."""
    if not steps:
        return
    import patch_ng  # noqa: PLC0415 - costs the start-up 40 ms, and most sessions begin by reading

    canonical = ["--- a/memory", "+++ b/memory"]
    delta = 0
    for step in steps:
        taken, added = old[step.at : step.at + step.taken], [line.text for line in step.added]
        start = step.at + 1
        canonical.append(f"@@ -{start},{len(taken)} +{start + delta},{len(added)} @@")
        canonical += [f"-{line}" for line in taken] + [f"+{line}" for line in added]
        delta += len(added) - len(taken)
    patches = patch_ng.PatchSet(io.BytesIO(_coded(canonical)))
    hunks = [hunk for item in patches.items for hunk in item.hunks]
    made = b"".join(patch_ng.PatchSet().patch_stream(io.BytesIO(_coded(old)), hunks))
    if patches.errors or made != _coded(new):
        raise InternalError("Two ways to apply the patch gave different texts.", path=path)


def _coded(lines: Sequence[str]) -> bytes:
    # patch_ng takes a carriage return for part of a line end; so it is shown none.
    plain = "".join(line.replace("\\", "\\\\").replace("\r", "\\r") + "\n" for line in lines)
    return plain.encode("utf-8")


def _conflict(conflicts: Sequence[tuple[FilePatch, _Text, Misfit]]) -> PatchConflict:
    file, _, first = conflicts[0]
    shown = conflicts[:_CONFLICTS_SHOWN]
    each = _LINES_SHOWN // len(shown)
    listed: list[Json] = [{"path": f.path, **m.details(t.lines, each)} for f, t, m in shown]
    more = f" (and {len(conflicts) - 1} more, see details)" if len(conflicts) > 1 else ""
    return PatchConflict(
        f"{file.path}, patch line {first.patch_line}: {first.reason}{more}. Nothing was changed.",
        path=file.path,
        details={"conflicts": listed, "total": len(conflicts)},
    )
