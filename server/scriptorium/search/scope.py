"""What `path_prefix` means: which of the workspace's paths it keeps."""

from __future__ import annotations

from collections.abc import Iterable

_ROOTS = ("topics", "sources")


def within(path_prefix: str | None, paths: Iterable[str]) -> set[str] | None:
    """The paths that lie under the prefix; None where it sets no limit.

    `topics`, `topics/`, `/topics`, `./topics`, `work/` (below `topics/` or `sources/`), a file with
    or without `.md` are all prefixes. The beginning of a name counts only where no folder and no
    file has the prefix for its whole name, so `work` is not `workshop` as long as there is a
    `work`.
    """
    prefix = (path_prefix or "").strip().replace("\\", "/")
    while prefix.startswith(("./", "/")):
        prefix = prefix[2:] if prefix.startswith("./") else prefix[1:]
    if prefix in ("", "."):
        return None
    bases = [prefix]
    if prefix.rstrip("/").split("/", 1)[0] not in _ROOTS:
        bases += [f"{root}/{prefix}" for root in _ROOTS]
    listed = list(paths)
    exact = {path for path in listed for base in bases if _named(path, base.rstrip("/"))}
    if exact or prefix.endswith("/"):
        return exact
    return {path for path in listed if path.startswith(tuple(bases))}


def _named(path: str, name: str) -> bool:
    return path in (name, f"{name}.md") or path.startswith(f"{name}/")
