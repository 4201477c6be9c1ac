"""The calls that reach the disk, in one replaceable place.

Every step of a write goes through `current`, so that a test can count the steps, stop the process
before or after each of them, or make each of them fail. Nothing here decides anything.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path

_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


class Disk:
    """The operating system's calls, each one step; all raise OSError as the system does."""

    def create(self, path: Path, mode: int = 0o666) -> int:
        """A new file open for writing, its mode cut by the umask; an existing one is an error."""
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode)

    def append(self, path: Path) -> int:
        """The file open for appending, made where it is missing."""
        return os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR | os.O_NOFOLLOW, 0o666)

    def write(self, fd: int, data: bytes) -> None:
        """All of `data` is written, however many calls the kernel takes for it."""
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    def chmod(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def fsync(self, fd: int) -> None:
        """The open file is on the medium, not only in the drive's cache (as on macOS)."""
        if _FULL_SYNC is None:
            os.fsync(fd)
        else:
            fcntl.fcntl(fd, _FULL_SYNC)

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def touch(self, path: Path) -> None:
        """The file's time of change is now, by the file system's clock."""
        os.utime(path)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def mkdir(self, path: Path, mode: int = 0o777) -> None:
        path.mkdir(mode)

    def rmdir(self, path: Path) -> None:
        path.rmdir()

    def sync_file(self, path: Path) -> None:
        """The content that the file has now is on the medium; a missing file has none."""
        self._sync(path, os.O_NOFOLLOW | os.O_NONBLOCK)

    def sync_all(self) -> None:
        """Everything is on its medium: slow, for what cannot be opened to be synced alone."""
        os.sync()

    def sync_dir(self, path: Path) -> None:
        """The names in the directory are on the medium; a missing directory has none."""
        self._sync(path, os.O_DIRECTORY)

    def _sync(self, path: Path, flags: int) -> None:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            self.fsync(fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # nothing there that can be synced
                raise
        finally:
            os.close(fd)

    def read(self, path: Path) -> bytes | None:
        """The bytes of a regular file; None when there is no such file. Symlinks are an error."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise IsADirectoryError(errno.EISDIR, "not a regular file", str(path))
            with os.fdopen(fd, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(fd)

    def stat(self, path: Path) -> os.stat_result | None:
        """What `lstat` says; None when there is nothing at the path."""
        try:
            return path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def listing(self, path: Path) -> list[str]:
        """The names in the directory, sorted; none when it is missing."""
        try:
            return sorted(os.listdir(path))  # noqa: PTH208 - half the cost of iterdir
        except (FileNotFoundError, NotADirectoryError):
            return []


current = Disk()
