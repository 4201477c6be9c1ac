"""`cache/catalog.sqlite`: what is known of every file, shared by all processes of a workspace.

Derived and disposable, never the truth: the files are. Promises: opening never fails. A catalog
that is damaged, of another version, locked or on a read-only disk is replaced by a new one, or by
one in memory that this process alone uses; both start empty and are filled from the files.

Every change of a file's content has a number, the sequence, which only grows within an epoch (the
life of one catalog). A process follows the others by asking for what is later than the last it has
seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from scriptorium.format.model import RelPath, Revision
from scriptorium.workspace import catalog_file
from scriptorium.workspace.signatures import Signature

_REVISIONS = 1000
"""How many revisions can be told apart in "what changed since"."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file's content as it was last read; `digest` is None when it is gone."""

    path: RelPath
    sequence: int
    digest: str | None
    size: int
    signature: Signature
    sound: bool
    facts: bytes
    """As `facts.encode` wrote it; empty when the file is gone."""


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A view as it was last installed; `digest` is None when it was removed."""

    path: RelPath
    sequence: int
    digest: str | None
    signature: Signature


class Catalog:
    """An open catalog. Its methods raise sqlite3.Error; whoever meets one goes on with
    `private`.
    """

    def __init__(self, connection: sqlite3.Connection, place: Path | None) -> None:
        self._connection = connection
        self._place = place
        self._inode = catalog_file.inode(place)
        self._seen = -1
        self.epoch = self._meta("epoch")

    @staticmethod
    def open(place: Path) -> Catalog:
        """The catalog of the file at `place`, made or made anew where need be; else a
        private one.
        """
        for attempt in range(2):
            try:
                return Catalog(catalog_file.connect(place), place)
            except (sqlite3.Error, OSError, ValueError) as error:
                if attempt or not catalog_file.discard(place, error):
                    break
        return Catalog.private()

    @staticmethod
    def instead(place: Path, error: Exception) -> Catalog:
        """A catalog in the place of one that has failed with `error`."""
        return Catalog.open(place) if catalog_file.discard(place, error) else Catalog.private()

    @staticmethod
    def private() -> Catalog:
        """An empty catalog in the memory of this process."""
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        catalog_file.create(connection)
        return Catalog(connection, None)

    @property
    def replaced(self) -> bool:
        """Whether someone deleted or replaced the file since it was opened."""
        return self._inode != catalog_file.inode(self._place)

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes of the body are made, or none; no other process writes meanwhile."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def moved(self) -> bool:
        """Whether another process has written since this was last asked."""
        seen: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        moved, self._seen = seen != self._seen, seen
        return moved

    def sequence(self) -> int:
        """The number of the latest change."""
        return int(self._meta("sequence"))

    # --- reading

    def files(self, since: int) -> Iterator[FileRow]:
        rows = self._connection.execute(
            "SELECT path, sequence, digest, size, signature, sound, facts, checksum FROM files"
            " WHERE sequence > ?",
            (since,),
        )
        for path, sequence, digest, size, signature, sound, data, checksum in rows:
            # Facts are decoded when they are asked for, when it is too late to start over.
            if crc32(data) != checksum:
                raise ValueError(f"the row of {path} is damaged")
            yield FileRow(path, sequence, digest, size, _read(signature), bool(sound), data)

    def views(self, since: int) -> Iterator[ViewRow]:
        rows = self._connection.execute(
            "SELECT path, sequence, digest, signature FROM views WHERE sequence > ?", (since,)
        )
        for path, sequence, digest, signature in rows:
            yield ViewRow(RelPath(path), sequence, digest, _read(signature))

    def directories(self) -> dict[str, Signature]:
        rows = self._connection.execute("SELECT path, signature FROM directories")
        return {path: _read(signature) for path, signature in rows}

    def revisions(self, since: int) -> dict[Revision, int]:
        """The sequence at which each revision was seen last."""
        rows = self._connection.execute(
            "SELECT revision, sequence FROM revisions WHERE sequence > ? ORDER BY sequence",
            (since,),
        )
        return {Revision(revision): sequence for revision, sequence in rows}

    def stale(self) -> dict[str, int]:
        """The views that no longer show what the files say, with the change that made them so."""
        return dict(self._connection.execute("SELECT key, sequence FROM stale"))

    # --- writing, within a transaction

    def put_files(self, rows: Iterable[FileRow]) -> None:
        self._many(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    r.path,
                    r.sequence,
                    r.digest,
                    r.size,
                    _write(r.signature),
                    r.sound,
                    r.facts,
                    crc32(r.facts),
                )
                for r in rows
            ],
        )

    def put_views(self, rows: Iterable[ViewRow]) -> None:
        self._many(
            "INSERT OR REPLACE INTO views VALUES (?, ?, ?, ?)",
            [(r.path, r.sequence, r.digest, _write(r.signature)) for r in rows],
        )

    def put_signatures(self, signatures: Mapping[RelPath, Signature]) -> None:
        """The files are unchanged, and these are now the signatures by which that is known."""
        rows = [(_write(signature), path) for path, signature in signatures.items()]
        self._many("UPDATE files SET signature = ? WHERE path = ?", rows)

    def put_directories(self, directories: Mapping[str, Signature]) -> None:
        self._connection.execute("DELETE FROM directories")
        rows = [(path, _write(signature)) for path, signature in directories.items()]
        self._many("INSERT INTO directories VALUES (?, ?)", rows)

    def put_revision(self, revision: Revision, sequence: int) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO revisions VALUES (?, ?)", (sequence, revision)
        )
        self._connection.execute(
            "DELETE FROM revisions WHERE sequence <= ?", (sequence - _REVISIONS,)
        )
        self._connection.execute(
            "UPDATE meta SET value = ? WHERE key = 'sequence'", (str(sequence),)
        )

    def put_stale(self, keys: Iterable[str], sequence: int) -> None:
        self._many("INSERT OR REPLACE INTO stale VALUES (?, ?)", [(key, sequence) for key in keys])

    def drop_stale(self, keys: Iterable[str], sequence: int) -> None:
        """The views are as the files were at `sequence`."""
        rows = [(key, sequence) for key in keys]
        self._many("DELETE FROM stale WHERE key = ? AND sequence <= ?", rows)

    def _many(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self._connection.executemany(statement, rows)

    def _meta(self, key: str) -> str:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0])


def _write(signature: Signature) -> str:
    return " ".join(map(str, signature))


def _read(text: str) -> Signature:
    size, mtime, ctime, inode = map(int, text.split())
    return (size, mtime, ctime, inode)
