"""The catalog's file: its tables, how it is opened, and what becomes of one that cannot be used."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from scriptorium.workspace import facts

_SCHEMA = 2
_BUSY_SECONDS = 1.0
_PATIENT_SECONDS = 5.0
EVERYTHING = "*"
"""The stale mark of a catalog that knows nothing of the views on disk."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    path TEXT PRIMARY KEY, sequence INTEGER NOT NULL, digest TEXT, size INTEGER NOT NULL,
    signature TEXT NOT NULL, sound INTEGER NOT NULL, facts BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE INDEX files_by_sequence ON files (sequence);
CREATE TABLE directories (path TEXT PRIMARY KEY, signature TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE revisions (sequence INTEGER PRIMARY KEY, revision TEXT NOT NULL);
CREATE TABLE views (
    path TEXT PRIMARY KEY, sequence INTEGER NOT NULL, digest TEXT, signature TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX views_by_sequence ON views (sequence);
CREATE TABLE stale (key TEXT PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
"""


def connect(place: Path) -> sqlite3.Connection:
    """An open connection to a catalog of this version. Raises sqlite3.Error, OSError,
    ValueError.
    """
    if place.is_symlink():
        raise OSError("the catalog is a symbolic link")
    connection = sqlite3.connect(
        place, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        # What a power cut takes of a derived file is derived again; memory itself is synced.
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            create(connection)
        connection.execute("COMMIT")
        if version not in (0, _version()):
            raise ValueError(f"catalog version {version}")
    except BaseException:
        connection.close()
        raise
    return connection


def create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    meta = [("epoch", os.urandom(8).hex()), ("sequence", "0")]
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta)
    connection.execute("INSERT INTO stale VALUES (?, 0)", (EVERYTHING,))
    connection.execute(f"PRAGMA user_version = {_version()}")


def _version() -> int:
    return _SCHEMA * 1000 + facts.VERSION


def discard(place: Path, error: Exception) -> bool:
    """Removes a catalog that cannot be used; False where that is not ours to do, or not
    possible.
    """
    # A catalog that another process keeps locked is in good health: leave it to its users.
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return False
    try:
        _remove(place)
        place.parent.mkdir(exist_ok=True)
    except OSError:
        return False
    return True


def purge(place: Path, forgotten: Callable[[str], bool]) -> None:
    """The file has its present rows and nothing else, and no path that is forgotten; where that
    cannot be had it is gone, to be made anew. Raises OSError.
    """
    try:
        _vacuum(place, forgotten)
    except sqlite3.Error:
        _remove(place)


def _vacuum(place: Path, forgotten: Callable[[str], bool]) -> None:
    if not place.is_file():
        return
    with closing(sqlite3.connect(place, timeout=_PATIENT_SECONDS, isolation_level=None)) as opened:
        opened.execute("PRAGMA secure_delete=ON")
        gone = opened.execute("SELECT path FROM files WHERE digest IS NULL").fetchall()
        rows = [row for row in gone if forgotten(str(row[0]))]
        opened.executemany("DELETE FROM files WHERE path = ?", rows)
        opened.execute("VACUUM")
        if opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise sqlite3.OperationalError("another process reads the log of the catalog")


def _remove(place: Path) -> None:
    for suffix in ("-wal", "-shm", ""):
        place.with_name(place.name + suffix).unlink(missing_ok=True)


def inode(place: Path | None) -> int:
    if place is None:
        return 0
    try:
        return place.stat().st_ino
    except OSError:
        return -1
