"""What every test stands on: a home of its own, and the same patience everywhere.

The real home is never read or written. Tests that need the user's package caches or client
configuration to *install* something take it from `real_home`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A parallel worker inherits the changed HOME: the first process leaves word.
REAL_HOME = Path(os.environ.setdefault("SCRIPTORIUM_TEST_REAL_HOME", os.environ.get("HOME", "/")))

settings.register_profile(
    "scriptorium",
    deadline=None,  # two cores, shared
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("scriptorium")


def pytest_configure(config: pytest.Config) -> None:
    """Before anything of the project is imported: HOME is an empty folder, Git knows no user."""
    home = tempfile.mkdtemp(prefix="scriptorium-home-")
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    os.environ["HOME"] = home
    os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
    os.environ["GIT_CONFIG_SYSTEM"] = os.devnull
    for name in (
        "SCRIPTORIUM_ENV_DIR",
        "SCRIPTORIUM_CHILD",
        "XDG_CONFIG_HOME",
        "CLAUDE_PROJECT_DIR",
    ):
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def root() -> Path:
    """The plugin's own folder: this checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def real_home() -> Path:
    return REAL_HOME


@pytest.fixture(scope="session")
def cache() -> Iterator[Path]:
    """Where downloads are kept between runs: the test command's folder, else a throw-away one."""
    named = os.environ.get("SCRIPTORIUM_TEST_CACHE")
    if named:
        yield Path(named)
        return
    folder = Path(tempfile.mkdtemp(prefix="scriptorium-cache-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
