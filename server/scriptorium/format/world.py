"""What the check of one file asks of the workspace around it.

A Protocol: an update asks the workspace as it will be, `validate` the workspace as it is.
"""

from __future__ import annotations

from typing import Protocol

from scriptorium.format.model import RelPath, SourceId


class World(Protocol):
    """The workspace as it will be after the change."""

    def block_path(self, block: str, /) -> RelPath | None:
        """The topic in which a block has this id; None when none has."""

    def source_exists(self, source: str, /) -> bool:
        """Whether a source has this full id."""

    def file_exists(self, path: RelPath, /) -> bool:
        """Whether there is a file, authored or not."""

    def anchor_source(self, path: RelPath, anchor: str, /) -> SourceId | None:
        """The source whose record in the file `path` stands under the heading `anchor`."""
