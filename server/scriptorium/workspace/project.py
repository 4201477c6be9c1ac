"""The directory that is the project: there the relative path of a layer starts. Runs no Git."""

from __future__ import annotations

from pathlib import Path

from scriptorium.errors import InvalidArgument


def project_root(cwd: Path) -> Path | None:
    """The nearest directory at or above `cwd` that holds `.git`; None where there is none.

    For a linked worktree it is the main working tree, so that all worktrees share one memory. A
    submodule is a project of its own, and so is a worktree of a bare repository.
    """
    place = cwd.absolute()
    for directory in (place, *place.parents):
        git = directory / ".git"
        if git.is_dir():
            return directory
        if git.is_file():
            return _main_tree(git) or directory
    return None


def resolve_root(path: str, cwd: Path, plugin_root: Path | None, project: Path | None) -> Path:
    """Where a workspace given as `path` lies: absolute, or relative to the project's root.

    The project is that of `project`, the directory which the client names in a call, if it names
    one, else that of `cwd`. Some clients start a plugin's server in the plugin's own folder
    `plugin_root`, which is no project: then a relative path raises InvalidArgument.
    """
    given = _expanded(path)
    if given.is_absolute():
        return given
    start = project or cwd
    if plugin_root is not None and _inside(start, plugin_root):
        raise InvalidArgument(
            f"{path} is relative to the project, and the client does not say which project this is."
            " Give an absolute path."
        )
    return (project_root(start) or start.absolute()) / given


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InvalidArgument(f"{path}: there is no home directory of that name.") from None


def _inside(place: Path, folder: Path) -> bool:
    return place.resolve().is_relative_to(folder.resolve())


def _main_tree(git: Path) -> Path | None:
    """The main working tree of the linked worktree whose `.git` file this is; None if there is
    none.

    The file names the worktree's own Git directory, whose `commondir` leads to the repository's:
    in a main working tree that is called `.git`.
    """
    own = _first_line(git)
    if own is None or not own.startswith("gitdir:"):
        return None
    directory = git.parent / own.removeprefix("gitdir:").strip()
    common = _first_line(directory / "commondir")
    if common is None:
        return None
    repository = (directory / common).resolve()
    return repository.parent if repository.name == ".git" and repository.is_dir() else None


def _first_line(file: Path) -> str | None:
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return text.splitlines()[0].strip() if text.strip() else None
