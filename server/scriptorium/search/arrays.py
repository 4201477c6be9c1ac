"""Named numpy arrays in one file: what the search caches are kept in, without pickle.

A file is whole or refused: a magic line with the version, the lengths and a checksum guard it, so a
reader that meets a torn, foreign or older file gets None and builds anew. The arrays of a file that
is read are views into a memory map; they stay valid when the file is replaced. Writes nothing.

Layout: magic · header length (u32) · CRC-32 of all that follows it (u32) · JSON header · arrays,
each at a multiple of 8 bytes. Little endian.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

type Array = np.ndarray[Any, np.dtype[Any]]

_MAGIC = b"scriptorium arrays 1\n\0\0\0"
_LENGTHS = struct.Struct("<II")
_START = len(_MAGIC) + _LENGTHS.size
_DTYPES = frozenset(("<i4", "<i8", "<f4", "<u8", "|u1", "|b1"))


@dataclass(frozen=True, slots=True)
class Stored:
    """What a file holds: its arrays, and a few words about them."""

    labels: Mapping[str, str]
    lists: Mapping[str, tuple[str, ...]]
    arrays: Mapping[str, Array]


def pack(stored: Stored) -> bytes:
    """The bytes of a file with these arrays."""
    table: dict[str, tuple[str, tuple[int, ...], int]] = {}
    parts: list[bytes] = []
    size = 0
    for name, array in stored.arrays.items():
        plain = np.ascontiguousarray(array)
        data = plain.tobytes()
        table[name] = (plain.dtype.str, plain.shape, size)
        padding = -len(data) % 8
        parts += [data, b"\0" * padding]
        size += len(data) + padding
    header = json.dumps(
        {"labels": dict(stored.labels), "lists": dict(stored.lists), "arrays": table}
    )
    head = header.encode("ascii")
    head += b" " * (-(_START + len(head)) % 8)
    checksum = zlib.crc32(head)
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_MAGIC, _LENGTHS.pack(len(head), checksum), head, *parts])


def load(path: Path) -> Stored | None:
    """The arrays of a file; None when it is missing, unreadable, torn or of another version."""
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    if len(data) < _START or data[: len(_MAGIC)] != _MAGIC:
        return None
    length, checksum = _LENGTHS.unpack(data[len(_MAGIC) : _START])
    with memoryview(data) as view, view[_START:] as body:
        if len(body) < length or zlib.crc32(body) != checksum:
            return None
    try:
        header = json.loads(data[_START : _START + length])
        return Stored(
            labels={str(k): str(v) for k, v in header["labels"].items()},
            lists={str(k): tuple(map(str, v)) for k, v in header["lists"].items()},
            arrays={
                name: _view(data, _START + length + offset, dtype, tuple(shape))
                for name, (dtype, shape, offset) in header["arrays"].items()
            },
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _view(data: mmap.mmap, offset: int, dtype: str, shape: tuple[int, ...]) -> Array:
    if dtype not in _DTYPES:
        raise ValueError(dtype)
    count = int(np.prod(shape))
    return np.frombuffer(data, dtype, count, offset).reshape(shape)
