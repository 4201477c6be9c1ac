"""The digest by which a file's content is known: SHA-256, as 64 hex digits."""

from __future__ import annotations

import hashlib


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digest_of(content: bytes | None) -> str | None:
    """The digest of a file; None where there is none."""
    return None if content is None else digest(content)
