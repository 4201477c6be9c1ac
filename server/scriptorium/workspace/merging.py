"""The rules by which two states of memory become one, and their outcome in memory.

    topics, core   as text, by Git; what both sides added to the same place stays
                   (`format.additions`), other lines that both sides changed are a conflict
    sources        by records (`format.joining`); never a conflict
    views          ours, to be rebuilt from the result; never a conflict
    runtime files  never a part of a commit, and never taken from one
    other files    as text, by Git

Reads Git's objects, and writes none but the merged tree. Touches no file of the workspace.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scriptorium.format import additions, joining, paths
from scriptorium.format.model import RelPath
from scriptorium.workspace.git_run import Git, GitError
from scriptorium.workspace.layout import FIRST_CORE, FORMER_RUNTIME, RUNTIME
from scriptorium.workspace.rendering import key_of

_OPTIONS = ("merge.conflictStyle=merge", "merge.directoryRenames=false")
FILE = "100644"
_KINDS = {"120000": "a symbolic link", "160000": "a submodule"}
_MARKER = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |\r?$)", re.MULTILINE)


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


def merge(git: Git, ours: str, theirs: str | None) -> Merged:
    """The commit `theirs` merged into the commit `ours`; None: nothing is. Raises GitError."""
    if theirs is None or theirs == ours:
        return Merged(git("rev-parse", f"{ours}^{{tree}}"), {}, {}, {})
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
    for path, versions in stages.items():
        text = _together(git, versions) if paths.is_authored(RelPath(path)) else None
        if text is not None:
            texts[path] = text
            changed[path] = (changed.get(path, (versions["2"],))[0], versions["3"])
    resolved = {p for p in stages if p in texts or key_of(p) is not None or is_runtime(p)}
    resolved |= {p for p in stages if paths.kind(RelPath(p)) == "source"}
    conflicts = [_conflict(git, tree, p, stages[p]) for p in sorted(stages.keys() - resolved)]
    return Merged(tree, changed, texts, views, tuple(conflicts))


def is_runtime(path: str) -> bool:
    """Whether the path lies in a runtime directory, however a file system spells it."""
    return path.partition("/")[0].casefold() in (RUNTIME, FORMER_RUNTIME)


def marker_line(text: str) -> int | None:
    """The first line, from 1, that marks a conflict of Git's; None where there is none."""
    found = _MARKER.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None


def differing(git: Git, old: str, new: str) -> dict[str, tuple[Blob | None, Blob | None]]:
    """The files that differ between two trees, as they are in each."""
    out = git.raw("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", old, new)
    fields = [field.decode("utf-8", "surrogateescape") for field in out.split(b"\0")]
    found: dict[str, tuple[Blob | None, Blob | None]] = {}
    for meta, path in zip(fields[0:-1:2], fields[1::2], strict=False):
        old_mode, new_mode, old_id, new_id, _ = meta.removeprefix(":").split(" ")
        found[path] = (_blob(old_mode, old_id), _blob(new_mode, new_id))
    return found


def is_ancestor(git: Git, old: str, new: str) -> bool:
    """Whether the commit `old` is in the history of the commit `new`."""
    return git.asked("merge-base", "--is-ancestor", old, new) is not None


def empty_tree(git: Git) -> str:
    """The id of the tree without files."""
    return git("hash-object", "-t", "tree", "--stdin")


def blob_at(git: Git, commit: str, path: str) -> Blob | None:
    """The file in the commit; None where there is none."""
    listed = git("ls-tree", "--full-tree", commit, path)
    mode, _, name = listed.partition("\t")[0].split(" ") if listed else ("", "", "")
    return Blob(mode, name) if name else None


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
    texts[path] = joined(found[ours], found[theirs])
    changed[path] = (ours, theirs)


def joined(ours: bytes, theirs: bytes) -> bytes:
    """The source file with the records of both."""
    ours_text, theirs_text = (side.decode("utf-8", "surrogateescape") for side in (ours, theirs))
    return joining.joined(ours_text, theirs_text).encode("utf-8", "surrogateescape")


def _together(git: Git, stages: _Stages) -> bytes | None:
    """An authored file with what both sides added to it; None where they changed more."""
    if not {"2", "3"} <= stages.keys():
        return None
    found = contents(git, stages.values())
    base, ours, theirs = (found[stages[n]] if n in stages else b"" for n in "123")
    if "1" not in stages and FIRST_CORE in (ours, theirs):
        return theirs if ours == FIRST_CORE else ours
    try:
        marked = _marked(git, base, ours, theirs).decode("utf-8")
        text = additions.joined(marked, *(side.decode("utf-8") for side in (base, ours, theirs)))
    except UnicodeDecodeError:
        return None
    return None if text is None else text.encode("utf-8")


def _marked(git: Git, base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """The merge of the three as text, with markers that `additions.joined` knows."""
    with tempfile.TemporaryDirectory(prefix="scriptorium-git-") as directory:
        places = [Path(directory, name) for name in ("ours", "base", "theirs")]
        for place, content in zip(places, (ours, base, theirs), strict=True):
            place.write_bytes(content)
        size = f"--marker-size={additions.MARKER_SIZE}"
        arguments = ("merge-file", "-p", "--zdiff3", size, *map(str, places))
        # It ends with the number of conflicts, 127 at most.
        return git.raw(*arguments, accepted=tuple(range(128)))


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
