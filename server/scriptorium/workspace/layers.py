"""Several workspaces served as the layers of one memory: their names, paths and revisions.

Knows no workspace from inside: `open_layers` is given the function that opens one. A layer that
cannot be opened is a reason in `failures`, never the end of the session; it keeps its place, so
that a write without a layer never lands in another layer than the first one given, and `again`
opens it once that is possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from scriptorium.errors import InternalError, InvalidArgument, ScriptoriumError
from scriptorium.workspace.layout import real
from scriptorium.workspace.project import project_root, resolve_root
from scriptorium.workspace.storage import advice

if TYPE_CHECKING:  # a hook's ingest, which only needs a path, does without the model
    from scriptorium.format.model import Revision

__all__ = [
    "LayerSpec",
    "Layers",
    "check_specs",
    "combined_revision",
    "interleave",
    "open_layers",
    "own_revision",
    "parse_spec",
    "parse_specs",
    "project_root",
    "resolve_root",
]

_NAME = re.compile(r"[\w-]+")
_REVISION = re.compile(r"[0-9a-f]{32}")
_ALONE = "memory"
"""The name of the one workspace that is given without a name."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """A layer as it was asked for."""

    name: str | None
    path: str


def parse_spec(text: str) -> LayerSpec:
    """`NAME=PATH` or `PATH`. Raises InvalidArgument for a bad name and an empty path.

    What stands before the first `=` is a name unless it has a `/` (or `~`), as a path may hold
    `=` too.
    """
    name, equals, path = text.partition("=")
    if not equals or "/" in name or name.startswith("~"):
        name, path = "", text
    elif not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"{name!r} is not the name of a layer: use letters, digits, `_` and `-`, as in"
            " `global=~/memory`; write `./` before a path that holds `=`."
        )
    if not path.strip() or "\0" in path:
        raise InvalidArgument(f"{text!r} names no directory: write NAME=PATH or PATH.")
    return LayerSpec(name or None, path)


def parse_specs(texts: Sequence[str]) -> Sequence[LayerSpec]:
    """The specs of a list, as `parse_spec` reads each; of several, one without a name is called as
    its folder is (`.memory`: `memory`, `my notes`: `my-notes`).

    Raises InvalidArgument as `parse_spec` and `check_specs` do.
    """
    specs = [parse_spec(text) for text in texts]
    if len(specs) > 1:
        specs = [replace(spec, name=spec.name or _folder_name(spec.path)) for spec in specs]
    check_specs(specs)
    return specs


def check_specs(specs: Sequence[LayerSpec]) -> None:
    """The specs can be served together; else InvalidArgument (none, unnamed, a name twice)."""
    names = [spec.name for spec in specs]
    if not specs:
        raise InvalidArgument("No workspace is given.")
    if len(specs) > 1 and None in names:
        unnamed = [spec.path for spec in specs if spec.name is None]
        raise InvalidArgument(
            f"Of several workspaces each needs a name, as NAME=PATH: {', '.join(unnamed)} has none."
        )
    twice = sorted({name for name in names if name is not None and names.count(name) > 1})
    if twice:
        raise InvalidArgument(f"Two workspaces are called {', '.join(twice)}: names are unique.")


@dataclass(frozen=True, slots=True)
class Layers[W]:
    """The layers in the order given. With a single one, no path or revision is qualified."""

    order: tuple[str, ...]
    """The names of all layers that were asked for."""
    opened: Mapping[str, W]
    failures: Mapping[str, str]
    """Why a layer is not there, by its name."""
    attempt: Callable[[Mapping[str, W]], Layers[W]] | None = None
    """Opens the layers anew, but for those that it is given."""

    def again(self) -> Layers[W]:
        """These layers; those that failed are tried once more.

        What was wrong may be mended by now: a disk has room again, a folder is mounted.
        """
        return self.attempt(self.opened) if self.failures and self.attempt else self

    @property
    def names(self) -> tuple[str, ...]:
        """The layers that can be used."""
        return tuple(self.opened)

    @property
    def default(self) -> str:
        """The layer that a write lands in when it names none: the first, even while it fails."""
        return self.order[0]

    @property
    def single(self) -> bool:
        return len(self.order) == 1

    def get(self, name: str | None = None) -> W:
        """The layer of that name, or the default one.

        Raises InvalidArgument for an unknown name, InternalError for a layer that failed.
        """
        wanted = self.default if name is None else name
        if wanted in self.opened:
            return self.opened[wanted]
        if wanted in self.failures:
            raise InternalError(f"Layer {wanted} is not available: {self.failures[wanted]}")
        raise InvalidArgument(
            f"There is no layer {wanted!r}. The layers are {_listed(self.order)}."
        )

    def qualify(self, name: str, path: str) -> str:
        """The path as an answer shows it: `global:topics/person.md`."""
        return path if self.single else f"{name}:{path}"

    def split(self, qualified: str) -> tuple[str | None, str]:
        """The layer and the path in it; no layer where none is named, which means all of them.

        Raises InvalidArgument for a layer that does not exist, InternalError for one that failed.
        """
        if self.single:
            return self.default, qualified
        name, colon, path = qualified.partition(":")
        if not colon:
            return None, qualified
        self.get(name)
        return name, path


def open_layers[W](
    specs: Sequence[LayerSpec],
    open_workspace: Callable[[Path], W],
    *,
    cwd: Path,
    plugin_root: Path | None = None,
    project: Path | None = None,
) -> Layers[W]:
    """The layers, each opened or with the reason why it is not.

    Paths resolve as `resolve_root` says. Two layers in one directory are a mistake that costs the
    later one. Raises InvalidArgument for specs that cannot be served together.
    """
    check_specs(specs)

    def attempt(kept: Mapping[str, W]) -> Layers[W]:
        opened: dict[str, W] = {}
        failures: dict[str, str] = {}
        taken: dict[Path, str] = {}
        for spec in specs:
            name = spec.name or _ALONE
            try:
                root = resolve_root(spec.path, cwd, plugin_root, project)
                other = taken.setdefault(real(root), name)
                if other != name:
                    raise InvalidArgument(f"{spec.path} is the directory of layer {other} already.")
                opened[name] = kept[name] if name in kept else open_workspace(root)
            except ScriptoriumError as error:
                failures[name] = error.message
            except OSError as error:
                failures[name] = f"{spec.path} cannot be opened: {advice(error)}"
        return Layers(tuple(spec.name or _ALONE for spec in specs), opened, failures, attempt)

    return attempt({})


def combined_revision(revisions: Mapping[str, Revision]) -> str:
    """The revision of several layers: `project:<32 hex digits>+global:<32 hex digits>`."""
    return "+".join(f"{name}:{revision}" for name, revision in revisions.items())


def own_revision(text: str, layer: str) -> Revision:
    """The revision of one layer in a combined one; a revision alone is that layer's.

    Raises InvalidArgument for what is neither, and where the layer is not named.
    """
    from scriptorium.format.model import Revision  # noqa: PLC0415

    if _REVISION.fullmatch(text):
        return Revision(text)
    parts: dict[str, Revision] = {}
    for part in text.split("+"):
        name, _, revision = part.rpartition(":")
        if not _NAME.fullmatch(name) or not _REVISION.fullmatch(revision):
            raise InvalidArgument(
                f"{text[:100]!r} is not a revision. Copy `revision` from the answer you read from."
            )
        parts[name] = Revision(revision)
    if layer not in parts:
        raise InvalidArgument(
            f"The base revision names the layers {_listed(parts)}, not {layer}, which the update is"
            " for. Read that layer first."
        )
    return parts[layer]


def interleave[T](rankings: Iterable[Sequence[T]]) -> list[T]:
    """All first places, then all second ones, and so on; within a place in the layers' order."""
    places = zip_longest(*([(hit,) for hit in ranking] for ranking in rankings), fillvalue=())
    return [hit for place in places for filled in place for hit in filled]


def _folder_name(path: str) -> str | None:
    return "-".join(_NAME.findall(Path(path).name)) or None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
