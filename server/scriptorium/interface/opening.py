"""From flags and settings to an open memory: which workspaces, where, with which endpoint.

Promises flags before the settings file before defaults. A server creates a missing workspace, so
that there is no init step; a command that reads does not. A layer that cannot be had is left out
with its reason.
"""

# ruff: noqa: PLC0415  loaded when a memory is opened, which a server does with its first call

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scriptorium.errors import InvalidArgument
from scriptorium.interface.config import GitMode, Loaded, Settings
from scriptorium.interface.parser import Arguments
from scriptorium.interface.surroundings import Surroundings

if TYPE_CHECKING:
    from scriptorium.interface.memory import Memory
    from scriptorium.search.embedding import Endpoint
    from scriptorium.workspace.layers import LayerSpec
    from scriptorium.workspace.workspace import Workspace

DEFAULT_WORKSPACE = "~/.scriptorium/memory"
MISSING = "there is no workspace in"
"""So begins the reason of a layer that a server would create."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command line asks for; empty where it says nothing."""

    workspaces: tuple[str, ...] = ()
    git_commit: GitMode | None = None
    embedding_url: str | None = None
    embedding_model: str | None = None


def asked(arguments: Arguments) -> Wanted:
    """The flags that choose a memory."""
    return Wanted(
        workspaces=tuple(arguments.workspace),
        git_commit=arguments.git_commit,
        embedding_url=arguments.embedding_url,
        embedding_model=arguments.embedding_model,
    )


def report(loaded: Loaded, around: Surroundings) -> None:
    """Tells of mistakes in the settings file, one line each, on stderr."""
    for mistake in loaded.mistakes:
        place = f"{loaded.path}:{mistake.line}" if mistake.line else str(loaded.path)
        around.err.line(f"scriptorium: {place}: {mistake.message}")
    around.err.stream.flush()


def memory(arguments: Arguments, around: Surroundings) -> Memory:
    """The memory that a command works on; mistakes in the settings are told.

    Raises InvalidArgument as `open_memory`.
    """
    loaded = around.settings()
    report(loaded, around)
    return open_memory(asked(arguments), loaded, around)


def open_memory(
    wanted: Wanted,
    loaded: Loaded,
    around: Surroundings,
    *,
    project: Path | None = None,
    create: bool = False,
) -> Memory:
    """The memory that these flags and settings ask for.

    `project` is the folder that the client names in a call. Raises InvalidArgument for a malformed
    `--workspace`, and where nothing is to be created, for a single workspace that does not exist.
    """
    from scriptorium.interface.memory import Memory
    from scriptorium.workspace import layers

    opened = layers.open_layers(
        specs(wanted, loaded.settings),
        _opener(create=create),
        cwd=around.cwd,
        plugin_root=around.plugin_root,
        project=project,
    )
    if opened.single and opened.failures and not create:
        raise InvalidArgument(next(iter(opened.failures.values())))
    git = wanted.git_commit or loaded.settings.git_commit
    return Memory(opened, git, endpoint(wanted, loaded.settings, around))


def specs(wanted: Wanted, settings: Settings) -> Sequence[LayerSpec]:
    """The workspaces to serve. Raises InvalidArgument for malformed flags."""
    from scriptorium.workspace import layers

    if wanted.workspaces:
        named = [layers.parse_spec(text) for text in wanted.workspaces]
        layers.check_specs(named)
        return named
    return layers.parse_specs(settings.workspaces or (DEFAULT_WORKSPACE,))


def endpoint(wanted: Wanted, settings: Settings, around: Surroundings) -> Endpoint | None:
    """The configured embedding endpoint; none is ever guessed."""
    configured = settings.embedding
    url = wanted.embedding_url or configured.url
    model = wanted.embedding_model or configured.model
    if url is None or model is None:
        return None
    from scriptorium.search.embedding import Endpoint

    key = around.environ.get(configured.api_key_env) if configured.api_key_env else None
    return Endpoint(url, model, key)


def _opener(*, create: bool) -> Callable[[Path], Workspace]:
    from scriptorium.workspace import layout
    from scriptorium.workspace.workspace import Workspace

    def opener(root: Path) -> Workspace:
        if not create and not layout.is_workspace(root):
            raise InvalidArgument(_instead(root))
        return Workspace.open(root, create=create, ignore=True)

    return opener


def _instead(root: Path) -> str:
    """What is where a workspace should be, and what to do."""
    place = shlex.quote(str(root))
    if not os.path.lexists(root) or (root.is_dir() and not any(root.iterdir())):
        return f"{MISSING} {root}: `scriptorium init {place}`"
    if not root.exists():
        return f"{root} is a link to nothing. Mount or make what it leads to: `ls -l {place}`"
    if not root.is_dir():
        return f"{root} is no folder, so memory cannot be in it. Move it: `mv {place} ELSEWHERE`"
    return f"{root} holds files and no memory. Make one among them: `scriptorium init {place}`"
