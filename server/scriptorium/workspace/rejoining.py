"""Messages that a merge made by hand has dropped, brought back into the outcome of a sync.

Git does not join two versions of a source file: whoever merges without `scriptorium sync` (by
`git pull`, with an editor's plugin) gets the file of one side. The other side's messages are still
in that merge's parents, and are joined in again here, by records; what was erased stays erased.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scriptorium.format import paths
from scriptorium.format.model import RelPath
from scriptorium.workspace import merging
from scriptorium.workspace.git_run import Git
from scriptorium.workspace.merging import Blob, Merged


def rejoined(git: Git, merged: Merged, ours: str, theirs: str | None, since: str | None) -> Merged:
    """`merged`, with what the merges since the commit `since` dropped from source files.

    Without `since`, those merges are looked at which `theirs` lacks. Raises GitError.
    """
    changed, texts = dict(merged.changed), dict(merged.texts)
    for path, one, other in _merged_by_git(git, ours, theirs, since):
        mine = merging.blob_at(git, ours, path)
        now = changed.get(path, (mine, mine))[1]
        if now is None:  # a person deleted the file
            continue
        found = merging.contents(git, [now, one, other])
        content = texts.get(path, found[now])
        whole = merging.joined(content, merging.joined(found[one], found[other]))
        if whole != content:
            texts[path] = whole
            changed[path] = (mine, now)
    return replace(merged, changed=changed, texts=texts)


def _merged_by_git(
    git: Git, ours: str, theirs: str | None, since: str | None
) -> Iterator[tuple[str, Blob, Blob]]:
    """The source files that both parents of a merge had changed, as each of them had it."""
    known = since or theirs
    tips = [ours, *([theirs] if theirs else []), *([f"^{known}"] if known else [])]
    for line in git("rev-list", "--merges", "--parents", *tips).splitlines():
        _, first, *others = line.split()
        for second in others:
            base = git.asked("merge-base", first, second) or merging.empty_tree(git)
            here, there = (merging.differing(git, base, tip) for tip in (first, second))
            for path, (one, other) in merging.differing(git, first, second).items():
                both = path in here and path in there and paths.kind(RelPath(path)) == "source"
                if both and one and other:
                    yield path, one, other
