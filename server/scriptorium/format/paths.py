"""Workspace paths as pure text: which are allowed, what each one is, how one links to another.

Promises: a `RelPath` is relative, has `/` as its separator and cannot leave the workspace. A path
is rejected with its reason and the next step, never cleaned into another. Must not look at the
disk: symlinks and case-only twins are judged by those who know the tree (`twin_key` helps).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal
from urllib.parse import quote

from scriptorium.errors import InvalidArgument, PathOutsideWorkspace, ReadOnlyPath, ScriptoriumError
from scriptorium.format.model import RelPath

CORE = RelPath("core.md")

type Kind = Literal["core", "topic", "source", "timeline", "recent_events", "relations", "other"]

COMPONENT_BYTES = 200
COMPONENTS = 32
_SHOWN = 120

_DRIVE = re.compile(r"[A-Za-z]:")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# Control characters, line and paragraph separators, lone surrogates, and the marks that are
# invisible or reorder what a person sees. The joiners U+200C and U+200D stay: Persian and emoji
# need them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\..*)?", re.IGNORECASE
)
# What a link's destination may hold as it is. The rest of ASCII would end or change the link.
_LINK_SAFE = "/-._~+,;=@!"


def rel_path(text: str) -> RelPath:
    """`text` as a path that may be written, proven clean.

    Raises PathOutsideWorkspace for absolute paths, drive letters and `..`; InvalidArgument for
    whatever else cannot be a name on every system: not NFC, control characters, backslash, colon,
    a component that is hidden, empty, a device name, over 200 bytes or ends in a dot or blank, and
    more than 32 components.
    """
    path = _inside(text, text.replace("\\", "/").split("/"))
    if _DRIVE.match(text):
        raise PathOutsideWorkspace(f"{show(text)} names a drive. {_NEXT}", path=show(text))
    if composed(text) != text:
        raise InvalidArgument(
            f"{show(text)} is not in Unicode normal form NFC. Write it as {show(composed(text))}.",
            path=show(text),
        )
    components = text.split("/")
    if len(components) > COMPONENTS:
        raise _invalid(text, f"has {len(components)} components, more than {COMPONENTS}")
    for component in components:
        fault = _component_fault(component)
        if fault:
            raise _invalid(text, fault)
    return path


def existing_path(text: str) -> RelPath:
    """`text` as a path to read what is on disk, where a person's odd names are welcome.

    Raises PathOutsideWorkspace for absolute paths and `..`; InvalidArgument for empty or hidden
    components and control characters.
    """
    return _inside(text, text.split("/"))


def writable(path: RelPath) -> RelPath:
    """`path` itself, when it is authored memory. Raises ReadOnlyPath for anything else."""
    if is_authored(path):
        return path
    raise ReadOnlyPath(
        f"{show(path)} cannot be written: only core.md and topics/**/*.md are authored, "
        "the runtime keeps the rest. Put the change into a topic.",
        path=path,
    )


def is_authored(path: RelPath) -> bool:
    """Whether the file is written by agents and people: the core or a topic."""
    return kind(path) in ("core", "topic")


def is_memory(path: RelPath) -> bool:
    """Whether the file holds what memory knows, and is not made from other files."""
    return kind(path) in ("core", "topic", "source")


def kind(path: RelPath) -> Kind:
    """What the file at `path` is, by its place."""
    whole: dict[str, Kind] = {
        "core.md": "core",
        "recent_events.jsonl": "recent_events",
        "relations.json": "relations",
    }
    below: dict[str, Kind] = {"topics": "topic", "sources": "source", "timeline": "timeline"}
    first, slash, rest = path.partition("/")
    if not slash:
        return whole.get(path, "other")
    name = rest.rpartition("/")[2]
    return below.get(first, "other") if name.endswith(".md") and name != ".md" else "other"


def resolve(origin: RelPath, target_path: str) -> RelPath | None:
    """The workspace path that a link in `origin` points at; None for a URL or a way out.

    `target_path` is the decoded part of the destination before `#`; empty means `origin` itself.
    """
    if not target_path:
        return origin
    if target_path.startswith(("/", "\\")) or _SCHEME.match(target_path):
        return None
    at = origin.split("/")[:-1]
    for step in target_path.split("/"):
        if step == "..":
            if not at:
                return None
            at.pop()
        elif step not in ("", "."):
            at.append(step)
    try:
        return existing_path("/".join(at))
    except ScriptoriumError:
        return None


def relative(origin: RelPath, target: RelPath) -> str:
    """The destination, ready to write into Markdown, of a link in `origin` to `target`.

    Blanks, parentheses and other characters with a meaning in links are percent-encoded; letters of
    every script stay as they are.
    """
    start, end = origin.split("/")[:-1], target.split("/")
    shared = 0
    while shared < min(len(start), len(end) - 1) and start[shared] == end[shared]:
        shared += 1
    steps = [".."] * (len(start) - shared) + end[shared:]
    return "".join(
        c if c.isalnum() or (ord(c) > 127 and c.isprintable()) else quote(c, safe=_LINK_SAFE)
        for c in "/".join(steps)
    )


def composed(path: str) -> str:
    """`path` in Unicode normal form NFC, the only one that may be written."""
    return unicodedata.normalize("NFC", path)


def twin_key(path: str) -> str:
    """Equal for two paths which a case-insensitive or normalising file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def unseen(text: str) -> bool:
    """Whether `text` holds a control character, an invisible mark or a lone surrogate."""
    return _UNSEEN.search(text) is not None


def show(text: str) -> str:
    """`text` for a message: one line of visible characters, cut after 120."""
    visible = _UNSEEN.sub(lambda m: f"\\u{ord(m[0]):04x}", text[:_SHOWN])
    return visible + ("…" if len(text) > _SHOWN else "")


_NEXT = "Give a path relative to the workspace, such as topics/work/office.md."


def _inside(text: str, components: list[str]) -> RelPath:
    """The checks that hold for every path, whether read or written."""
    if components[0] == "" and text:
        raise PathOutsideWorkspace(f"{show(text)} is an absolute path. {_NEXT}", path=show(text))
    if ".." in components:
        raise PathOutsideWorkspace(f"{show(text)} climbs with `..`. {_NEXT}", path=show(text))
    if unseen(text):
        raise _invalid(text, "holds a control or invisible character")
    if "" in components:
        raise _invalid(text, "has an empty component")
    hidden = [c for c in components if c.startswith(".")]
    if hidden:
        what = "`.`" if hidden[0] == "." else f"a hidden component, {show(hidden[0])}"
        raise _invalid(text, f"has {what}")
    return RelPath(text)


def _component_fault(component: str) -> str | None:
    size = len(component.encode("utf-8"))
    if size > COMPONENT_BYTES:
        return f"has a component of {size} bytes, more than {COMPONENT_BYTES}"
    if "\\" in component or ":" in component:
        return "holds a backslash or a colon"
    if component[-1] == "." or component[-1].isspace():
        return f"has a component that ends in a dot or a blank, {component!r}"
    if _DEVICE.fullmatch(component):
        return f"has a component that is a device name on Windows, {component}"
    return None


def _invalid(text: str, fault: str) -> InvalidArgument:
    return InvalidArgument(
        f"The path {show(text) or '(empty)'} {fault}. Choose another name.", path=show(text)
    )
