"""Which run of the machine this is. What was written in this run can be read, synced or not."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path


@cache
def boot_id() -> str:
    """The identity of this run of the machine; empty where the system does not tell."""
    if sys.platform == "darwin":
        return _darwin_boot_id()
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _darwin_boot_id() -> str:
    import ctypes  # noqa: PLC0415 - needed on this one system, and slow to load

    value = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(value))
    try:
        failed = ctypes.CDLL(None).sysctlbyname(
            b"kern.bootsessionuuid", value, ctypes.byref(size), None, ctypes.c_size_t(0)
        )
    except (OSError, AttributeError):
        return ""
    return "" if failed else value.value.decode("ascii", "replace")
