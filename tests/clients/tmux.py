"""A terminal that a test types into: a tmux server of its own, which ends with the test.

Promises that no other tmux server is seen or ended. What stands on the screen is for waiting only:
tests assert on the requests that reached the model, and on files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest
from tests.clients.patience import wait_for

WIDTH, HEIGHT = 160, 50
PRESSES = 20


@dataclass
class Terminal:
    """One program in one window. Leaving the `with` block ends it and its server."""

    command: Sequence[str | Path]
    environment: Mapping[str, str]
    cwd: Path

    def __post_init__(self) -> None:
        binary = shutil.which("tmux")
        if binary is None:
            pytest.skip("NOT TESTED INTERACTIVELY: tmux is not on PATH")
        self._tmux_binary = binary
        self._folder = tempfile.TemporaryDirectory(prefix="scriptorium-tmux-")

    def __enter__(self) -> Self:
        size = ("-x", str(WIDTH), "-y", str(HEIGHT))
        place = ("-c", str(self.cwd))
        self._tmux("-f", os.devnull, "new-session", "-d", *size, *place, *map(str, self.command))
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server", check=False)
        self._folder.cleanup()

    def type(self, text: str) -> None:
        """The text is in the input line, and sent."""
        self._tmux("send-keys", "-l", text)
        self.wait_for(text)  # a return that comes with the text is taken as part of a paste
        self._tmux("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: `Enter`, `Escape`, `C-c`."""
        self._tmux("send-keys", *keys)

    def press_until(self, key: str, condition: Callable[[], object]) -> None:
        """Presses, again each second, until it holds: a dialog just drawn may not listen yet."""
        for _ in range(PRESSES):
            self.press(key)
            with contextlib.suppress(AssertionError):
                return wait_for(condition, 1)
        raise AssertionError(f"{key} did nothing:\n{self.screen()}")

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait_for(self, text: str, seconds: float = 30) -> None:
        """The text is on the screen. Fails with the screen where it does not come."""
        self._wait(lambda: text in self.screen(), f"{text!r} is not on the screen", seconds)

    def wait_for_end_of(self, text: str, seconds: float = 30) -> None:
        """The text is on the screen no more."""
        self._wait(lambda: text not in self.screen(), f"{text!r} is still on the screen", seconds)

    def is_over(self) -> bool:
        """Whether the program has ended, and the server with its only window."""
        told = self._tmux("list-sessions", check=False)
        return "no server running" in told or "error connecting" in told

    def _wait(self, condition: Callable[[], object], otherwise: str, seconds: float) -> None:
        try:
            wait_for(condition, seconds)
        except AssertionError as error:
            raise AssertionError(f"{otherwise}:\n{self.screen()}") from error

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            [self._tmux_binary, "-S", f"{self._folder.name}/socket", *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout
        return done.stdout
