"""The two lines of a unified diff that name a file, and Git's lines above them.

Owns which file a diff speaks of and whether it is created, edited or deleted. A path is judged by
`paths`, never cleaned; what a memory file cannot have (renames, modes, links, binary data) is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scriptorium.errors import InvalidArgument
from scriptorium.format.model import RelPath
from scriptorium.format.paths import rel_path, show, writable

type Change = Literal["create", "edit", "delete"]

_PREFIX = re.compile(r"[abciow]/")
_STAMP = re.compile(r"(?<=\.md)[\"]?\s+\d{4}-\d\d-\d\d \d\d:.*$")
# A file dated at the epoch does not exist: so `diff -N` marks the missing side, in any time zone.
_EPOCH = re.compile(r"\s(?:1970-01-01|1969-12-31) \d\d:")
_GIT_LINE = re.compile(
    r"(?:index |new file mode |deleted file mode |old mode |new mode |similarity index "
    r"|dissimilarity index |rename |copy |GIT binary patch$|Binary files .* differ$)"
)
_REFUSED = {
    "old mode": "a mode change",
    "new mode": "a mode change",
    "similarity": "a rename or copy",
    "rename ": "a rename",
    "copy ": "a copy",
    "GIT binary": "a binary patch",
    "Binary files": "a binary patch",
}
_MODE = re.compile(r"(?:new|deleted) file mode (\d+)|index \S+ (\d+)")
_OCTAL = re.compile(rb"\\([0-7]{1,3}|.)")
_LETTERS = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Target:
    """The file that a part of the patch changes, and how."""

    path: RelPath
    change: Change


def names_file(lines: Sequence[str], at: int) -> bool:
    """Whether `---` and `+++` lines that name a file of memory, or none, stand at `at`."""
    pair = lines[at : at + 2]
    if len(pair) < 2 or not (pair[0].startswith("--- ") and pair[1].startswith("+++ ")):
        return False
    return all(_looks_like_name(line[4:]) for line in pair)


def target(old: str, new: str, change: Change | None, line: int, layer: str = "") -> Target:
    """What the `---` line `old` and the `+++` line `new` name; `change` is what Git's header said.

    `line` is the 1-based line in the patch; with a `layer`, its name may stand before a path, as
    in answers. Raises InvalidArgument, PathOutsideWorkspace and ReadOnlyPath.
    """
    before, after = _name(old[4:], layer), _name(new[4:], layer)
    if before is None and after is None:
        raise InvalidArgument(f"Patch line {line}: both sides are /dev/null. Name the file on one.")
    if before and after and before != after:
        raise unsupported(line, f"a rename, from {show(before)} to {show(after)}")
    path = writable(rel_path(after or before or ""))
    if before is None or change == "create":
        return Target(path, "create")
    return Target(path, "delete" if after is None or change == "delete" else "edit")


def git_target(line: str, change: Change, number: int, layer: str = "") -> Target:
    """What `diff --git` names when no hunk follows: an empty file, made or removed."""
    rest = line.removeprefix("diff --git ")
    quoted = _QUOTED.match(rest)
    half = quoted[0] if quoted else rest[: (len(rest) - 1) // 2]
    name = _name(half, layer)
    if name is None or _name(rest[len(half) + 1 :], layer) != name:
        raise InvalidArgument(f"Patch line {number}: the two names in {show(line)!r} differ.")
    return Target(writable(rel_path(name)), change)


def git_change(line: str, number: int) -> Change | None:
    """What a line of Git's header says happens to the file; None when it says nothing about that.

    Raises InvalidArgument for what memory does not have.
    """
    for start, what in _REFUSED.items():
        if line.startswith(start):
            raise unsupported(number, what)
    mode = _MODE.match(line)
    if mode and (mode[1] or mode[2]) != "100644":
        raise unsupported(number, "a symlink, a submodule or a file mode")
    if line.startswith("new file"):
        return "create"
    return "delete" if line.startswith("deleted file") else None


def is_git_line(line: str) -> bool:
    """Whether `line` is one of those that Git writes between `diff --git` and `---`."""
    return _GIT_LINE.match(line) is not None


def unsupported(line: int, what: str) -> InvalidArgument:
    """The refusal of a feature that patches of memory do not have."""
    return InvalidArgument(
        f"Patch line {line} asks for {what}, which memory does not have. A patch creates, edits or "
        "deletes text; to move a file, delete the old path and create the new one."
    )


def _looks_like_name(text: str) -> bool:
    bare = _bare(text)
    return bare == "/dev/null" or bare.strip('"').endswith(".md") or bool(_PREFIX.match(bare))


def _name(text: str, layer: str) -> str | None:
    bare = _bare(text)
    if bare == "/dev/null" or _EPOCH.search(text):
        return None
    quoted = _QUOTED.fullmatch(bare)
    if quoted:
        bare = _unquote(quoted[1])
    name = _PREFIX.sub("", bare, count=1) if _PREFIX.match(bare) else bare
    return name.removeprefix(f"{layer}:") if layer else name


def _bare(text: str) -> str:
    return _STAMP.sub(
        lambda m: '"' if m[0].startswith('"') else "", text.partition("\t")[0].rstrip()
    )


def _unquote(text: str) -> str:
    """Git's quoted form of a name: C escapes, and octal for the bytes of UTF-8."""
    plain = _OCTAL.sub(_byte, text.encode("utf-8"))
    return plain.decode("utf-8", "surrogateescape")


def _byte(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code.isdigit():
        return bytes([int(code, 8) & 0xFF])
    return _LETTERS.get(code, code)
