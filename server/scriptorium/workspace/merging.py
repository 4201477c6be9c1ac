"""The rules by which two states of memory become one, and their outcome in memory.

    topics, core   as text, by Git; lines that both sides changed are a conflict
    sources        by records (`format.joining`); never a conflict
    views          ours, to be rebuilt from the result; never a conflict
    runtime files  never a part of a commit, and never taken from one
    other files    as text, by Git

Reads Git's objects, and writes none but the merged tree. Touches no file of the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scriptorium.format import joining, paths
from scriptorium.format.model import RelPath
from scriptorium.workspace.git_run import Git, GitError
from scriptorium.workspace.layout import CORE, FIRST_CORE, FORMER_RUNTIME, RUNTIME
from scriptorium.workspace.rendering import key_of

_OPTIONS = ("merge.conflictStyle=merge", "merge.directoryRenames=false")
FILE = "100644"
_KINDS = {"120000": "a symbolic link", "160000": "a submodule"}
_MARKERS = re.compile(r"^<{7} .*?^={7}\r?$.*?^>{7} ", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a tree."""

    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that both sides changed in the same place."""

    path: str
    told: str
    """Where, for a person: `lines 5-7 here, 5-8 there`."""
    lines: tuple[tuple[int, int], ...] = ()
    """(first, last) of each conflict, 1-based, in the file as it is here; last < first: none."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What the merge makes of ours; nothing of it is on disk."""

    tree: str
    """Git's tree, in which views, `texts` and runtime files are still to be set right."""
    changed: Mapping[str, tuple[Blob | None, Blob | None]]
    """The files that are not as ours (before, after), without views and runtime files."""
    texts: Mapping[str, bytes]
    """The content of those of them that Git did not make."""
    views: Mapping[str, Blob | None]
    """The views that Git would change, as they are in ours."""
    conflicts: tuple[Conflict, ...] = ()


def merge(git: Git, ours: str, theirs: str) -> Merged:
    """The commit `theirs` merged into the commit `ours`. Raises GitError."""
    tree, stages = _merge_tree(git, ours, theirs)
    changed: dict[str, tuple[Blob | None, Blob | None]] = {}
    views: dict[str, Blob | None] = {}
    for path, pair in differing(git, ours, tree).items():
        if key_of(path) is not None:
            views[path] = pair[0]
        elif not is_runtime(path):
            changed[path] = pair
    texts: dict[str, bytes] = {}
    sides = differing(git, ours, theirs)
    for path in sorted(p for p in sides if paths.kind(RelPath(p)) == "source"):
        _join(git, path, sides[path], changed, texts, in_conflict=path in stages)
    pristine = _core(git, stages.get(CORE, {}))
    if pristine is not None:
        texts[CORE] = pristine
        changed[CORE] = (stages[CORE]["2"], stages[CORE]["3"])
    resolved = {p for p in stages if p in texts or key_of(p) is not None or is_runtime(p)}
    resolved |= {p for p in stages if paths.kind(RelPath(p)) == "source"}
    conflicts = [_conflict(git, tree, p, stages[p]) for p in sorted(stages.keys() - resolved)]
    return Merged(tree, changed, texts, views, tuple(conflicts))


def unmerged(git: Git, ours: str) -> Merged:
    """The outcome where there is nothing to merge."""
    return Merged(git("rev-parse", f"{ours}^{{tree}}"), {}, {}, {})


def is_runtime(path: str) -> bool:
    """Whether the path lies in a runtime directory, however a file system spells it."""
    return path.partition("/")[0].casefold() in (RUNTIME, FORMER_RUNTIME)


def has_markers(text: str) -> bool:
    """Whether a conflict of Git's stands in the text, unresolved."""
    return _MARKERS.search(text) is not None


def differing(git: Git, old: str, new: str) -> dict[str, tuple[Blob | None, Blob | None]]:
    """The files that differ between two trees, as they are in each."""
    out = git.raw("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", old, new)
    fields = [field.decode("utf-8", "surrogateescape") for field in out.split(b"\0")]
    found: dict[str, tuple[Blob | None, Blob | None]] = {}
    for meta, path in zip(fields[0:-1:2], fields[1::2], strict=False):
        old_mode, new_mode, old_id, new_id, _ = meta.removeprefix(":").split(" ")
        found[path] = (_blob(old_mode, old_id), _blob(new_mode, new_id))
    return found


def contents(git: Git, blobs: Iterable[Blob]) -> dict[Blob, bytes]:
    """The bytes of each blob. Raises GitError, also for what is no plain file."""
    wanted = list(dict.fromkeys(blobs))
    for blob in wanted:
        if blob.mode in _KINDS:
            raise GitError(f"the merge brings {_KINDS[blob.mode]}, which memory never follows.")
    if not wanted:
        return {}
    stdin = "".join(f"{blob.id}\n" for blob in wanted).encode("ascii")
    out = git.raw("cat-file", "--batch", stdin=stdin)
    found: dict[Blob, bytes] = {}
    start = 0
    for blob in wanted:
        end = out.index(b"\n", start)
        size = int(out[start:end].split()[2])
        found[blob] = out[end + 1 : end + 1 + size]
        start = end + 2 + size
    return found


def _blob(mode: str, name: str) -> Blob | None:
    return None if mode == "000000" else Blob(mode, name)


type _Stages = dict[str, Blob]
"""The base (1), ours (2) and theirs (3) of a file in conflict; what a side lacks is left out."""


def _merge_tree(git: Git, ours: str, theirs: str) -> tuple[str, dict[str, _Stages]]:
    arguments = ("merge-tree", "--write-tree", "-z", "--allow-unrelated-histories", ours, theirs)
    try:
        out = git.raw(*arguments, accepted=(0, 1), options=_OPTIONS)
    except GitError as error:
        if "usage:" in str(error) or "unknown rev" in str(error):
            raise GitError("Git is too old to merge beside the files: 2.38 is needed.") from error
        raise
    tree, *records = [field.decode("utf-8", "surrogateescape") for field in out.split(b"\0")]
    stages: dict[str, _Stages] = {}
    for record in records:
        if not record:  # messages follow, for people
            break
        meta, _, path = record.partition("\t")
        mode, name, stage = meta.split(" ")
        stages.setdefault(path, {})[stage] = Blob(mode, name)
    return tree, stages


def _join(
    git: Git,
    path: str,
    sides: tuple[Blob | None, Blob | None],
    changed: dict[str, tuple[Blob | None, Blob | None]],
    texts: dict[str, bytes],
    *,
    in_conflict: bool,
) -> None:
    """The source file has the records of both sides, if both have changed it."""
    ours, theirs = sides
    taken = changed.get(path, (ours, ours))[1]
    if not in_conflict and taken in (ours, theirs):
        return
    if ours is None or theirs is None:  # deleted on one side, and more said on the other
        kept = ours or theirs
        if kept is not None and kept != ours:
            changed[path] = (ours, kept)
        else:
            changed.pop(path, None)
        return
    found = contents(git, (ours, theirs))
    texts[path] = _joined(found[ours], found[theirs])
    changed[path] = (ours, theirs)


def _joined(ours: bytes, theirs: bytes) -> bytes:
    ours_text, theirs_text = (side.decode("utf-8", "surrogateescape") for side in (ours, theirs))
    return joining.joined(ours_text, theirs_text).encode("utf-8", "surrogateescape")


def _core(git: Git, stages: _Stages) -> bytes | None:
    """Of two cores without a common past, the one that is not as `init` made it."""
    if "1" in stages or not {"2", "3"} <= stages.keys():
        return None
    found = contents(git, stages.values())
    ours, theirs = found[stages["2"]], found[stages["3"]]
    if FIRST_CORE not in (ours, theirs):
        return None
    return theirs if ours == FIRST_CORE else ours


def _conflict(git: Git, tree: str, path: str, stages: _Stages) -> Conflict:
    if "2" not in stages:
        return Conflict(path, "deleted or moved here, edited there")
    if "3" not in stages:
        return Conflict(path, "edited here, deleted or moved there")
    blob = git.asked("rev-parse", "--quiet", "--verify", f"{tree}:{path}")
    text = contents(git, [Blob(FILE, blob)])[Blob(FILE, blob)] if blob else b""
    places = conflict_lines(text.decode("utf-8", "replace").splitlines())
    if not places:
        return Conflict(path, "changed on both sides, and no text that can be merged")
    here = ", ".join(_span(*ours) for ours, _ in places)
    there = ", ".join(_span(*theirs) for _, theirs in places)
    return Conflict(path, f"lines {here} here, {there} there", tuple(o for o, _ in places))


def conflict_lines(lines: Sequence[str]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """For each conflict in a text with markers, its first and last line in each side's text."""
    found = []
    side = "both"
    ours = theirs = 0
    start = (0, 0)
    for line in lines:
        if side == "both" and line.startswith("<<<<<<< "):
            side, start = "ours", (ours + 1, theirs + 1)
        elif side == "ours" and line == "=======":
            side = "theirs"
        elif side == "theirs" and line.startswith(">>>>>>> "):
            found.append(((start[0], ours), (start[1], theirs)))
            side = "both"
        else:
            ours += side != "theirs"
            theirs += side != "ours"
    return found


def _span(first: int, last: int) -> str:
    if last < first:
        return f"before {first}"
    return str(first) if first == last else f"{first}-{last}"
