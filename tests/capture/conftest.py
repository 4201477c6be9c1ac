"""What the tests of capture share: a home of their own, a clock, and a scripted client."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.capture.desk import Clock, Desk, Script, install_script


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return install_script(tmp_path / "bin", ("claude", "codex"))


@pytest.fixture
def desk(tmp_path: Path, clock: Clock, script: Script) -> Desk:
    return Desk.made(tmp_path / "home", clock, script)
