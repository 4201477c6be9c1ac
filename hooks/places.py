"""Which workspaces a session has, for a hook that must do without PyYAML.

Reads the one key it needs, `workspaces`, of `~/.scriptorium/config.yaml`, in the three forms that
a person writes: a path, a list of paths or NAME=PATH, a mapping of names to paths. What it does not
understand it leaves out; with nothing left, the default workspace is served, as by the server.
Never writes, never raises for what a file holds. Python 3.8, standard library only.
"""

from __future__ import annotations

import os
import re

import reading

NAMED = re.compile(r"([\w-]+)=(.+)")
COMMENT = re.compile(r"(^|\s)#.*$")


def workspaces(home: str, cwd: str, plugin_root: str) -> list[tuple[str, str]]:
    """(name, folder) in the order of the settings; a single workspace has an empty name."""
    found = []
    for text in configured(os.path.join(home, ".scriptorium", "config.yaml")):
        named = NAMED.fullmatch(text)
        name, path = named.groups() if named else (folder_name(text), text)
        folder = absolute(path, home, cwd, plugin_root)
        if folder:
            found.append((name, folder))
    if not found:
        return [("", os.path.join(home, ".scriptorium", "memory"))]
    return found if len(found) > 1 else [("", found[0][1])]


def folder_name(path: str) -> str:
    """What the server calls one of several layers that has no name."""
    return "-".join(re.findall(r"[\w-]+", os.path.basename(path.rstrip("/"))))


def absolute(path: str, home: str, cwd: str, plugin_root: str) -> str:
    """A relative path starts at the project's root; the plugin's own folder is no project."""
    if path == "~" or path.startswith("~/"):
        return home + path[1:]
    if os.path.isabs(path):
        return path
    return "" if within(cwd, plugin_root) else os.path.join(project_root(cwd), path)


def configured(path: str) -> list[str]:
    """The values of `workspaces`, each as `--workspace` takes it."""
    try:
        with open(path, encoding="utf-8-sig", opener=without_waiting) as file:
            lines = file.read(65536).splitlines()
    except (OSError, ValueError):
        return []
    found = []
    inside = False
    for line in (COMMENT.sub("", raw).rstrip() for raw in lines):
        if not line:
            continue
        if line.startswith((" ", "\t", "-")):
            found += item(line.strip()) if inside else []
            continue
        key, _, rest = line.partition(":")
        inside = key.strip() == "workspaces"
        found += flow(rest.strip()) if inside and rest.strip() else []
    return [value for value in found if value]


def without_waiting(path: str, flags: int) -> int:
    """Opening a pipe would wait for who may write into it, and the session with it."""
    return os.open(path, flags | os.O_NONBLOCK)


def item(text: str) -> list[str]:
    if text.startswith("- "):
        return [plain(text[2:])]
    name, colon, path = text.partition(": ")
    return [f"{plain(name)}={plain(path)}"] if colon else []


def flow(text: str) -> list[str]:
    if text[0] == "[":
        return [plain(part) for part in text.strip("[]").split(",")]
    if text[0] == "{":
        return [value for part in text.strip("{}").split(",") for value in item(part.strip())]
    return [plain(text)]


def plain(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def project_root(cwd: str) -> str:
    """The nearest folder at or above that holds `.git` (of a linked worktree: the main one's)."""
    folder = os.path.abspath(cwd)
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return os.path.abspath(cwd)
        folder = parent
    own = os.path.join(
        folder, reading.text(os.path.join(folder, ".git")).partition("gitdir:")[2].strip()
    )
    link = reading.text(os.path.join(own, "commondir")).strip()
    common = os.path.normpath(os.path.join(own, link)) if link else ""
    return os.path.dirname(common) if os.path.basename(common) == ".git" else folder


def within(path: str, folder: str) -> bool:
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return path == folder or path.startswith(folder + os.sep)
