"""What Git's history keeps of a forgotten text, and the commands that rewrite it.

Words for a person to run: nothing here runs them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from scriptorium.format.traces import pattern

_FILE = "/tmp/forget.txt"  # noqa: S108 - a name that the person chooses
_MOST_RULES = 20
"""Texts that fit into a command; of more, the person writes the file."""


def rewriting(root: Path, texts: Sequence[str]) -> list[str]:
    """The lines that tell how the texts go from the history; none where there is no repository."""
    if not os.path.lexists(root / ".git"):
        return []
    first = (
        "Git's history still holds it, here and where it was pushed. To rewrite it (`git"
        " filter-repo` is installed by `pip install git-filter-repo`; it removes the remote, so"
        " note the URL of `git remote -v` first):"
    )
    return [
        first,
        f"  cd {shlex.quote(str(root))}",
        "  git commit --all --allow-empty -m 'Before the rewrite'",
        f"  {_rules(texts)}",
        f"  git filter-repo --force --replace-text {_FILE} --replace-message {_FILE}",
        f"  rm {_FILE}",
        "  git remote add origin URL && git push --force --all origin",
        "On every other machine: scriptorium sync --accept-rewrite",
    ]


def _rules(texts: Sequence[str]) -> str:
    """The command, or the step, that makes the file with the rules of what is replaced."""
    if not texts or len(texts) > _MOST_RULES:
        return f"(write each forgotten sentence on a line of its own into {_FILE})"
    rules = (shlex.quote(f"regex:(?i){pattern(text)}==>[forgotten]") for text in texts)
    return f"printf '%s\\n' {' '.join(rules)} > {_FILE}"
