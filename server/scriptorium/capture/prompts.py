"""The one place that finds the prompts of `protocol/`, in a wheel and in a checkout alike."""

from __future__ import annotations

from pathlib import Path

from scriptorium.errors import InternalError

_PACKAGE = Path(__file__).resolve().parent.parent


def protocol(name: str) -> str:
    """The text of `protocol/<name>.md`. Raises InternalError when the installation lacks it."""
    for directory in (_PACKAGE / "protocol", _PACKAGE.parent.parent / "protocol"):
        try:
            return (directory / f"{name}.md").read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
    raise InternalError(f"the prompt {name}.md is missing: install Scriptorium again.")
