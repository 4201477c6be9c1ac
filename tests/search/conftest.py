"""One new workspace a test, and the search of it; nothing runs on after the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scriptorium.search.index import Index
from scriptorium.workspace.workspace import Workspace

from .workspaces import opened


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return opened(tmp_path)


@pytest.fixture
def index(workspace: Workspace) -> Iterator[Index]:
    made = Index(workspace)
    yield made
    made.settle()
