"""The two embedding APIs: their addresses, and what counts as their answer. Pure.

Ollama's `/api/embed` answers `{"embeddings": [[…], …]}`, OpenAI's `/v1/embeddings` answers
`{"data": [{"index": 0, "embedding": […]}, …]}`; both take `{"model": …, "input": […]}`.
"""

from __future__ import annotations

import json
import math
from typing import Literal
from urllib.parse import urlsplit

type Vector = list[float]
type Dialect = Literal["ollama", "openai"]

UNREADABLE = 0
"""The status of an answer that is not of the dialect."""
UNUSABLE = -1
"""The status of an answer whose vectors cannot be used."""


class Refused(Exception):
    """The endpoint answered, but not with vectors."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        """The HTTP status, UNREADABLE or UNUSABLE."""
        self.text = text


def of_url(url: str) -> Dialect | None:
    """The dialect that a URL names; None for a bare server address."""
    path = urlsplit(url).path.rstrip("/")
    if path.endswith(("/api/embed", "/api")):
        return "ollama"
    if path.endswith(("/embeddings", "/v1")):
        return "openai"
    return None


def address(url: str, dialect: Dialect) -> str:
    """Where to post to: `url` itself, or completed with what is missing of the API's path."""
    base = url.rstrip("/")
    folder, name = ("/api", "/embed") if dialect == "ollama" else ("/v1", "/embeddings")
    if base.endswith(name):
        return base
    return base + name if base.endswith(folder) else base + folder + name


def vectors(content: bytes, dialect: Dialect, count: int) -> list[Vector]:
    """The vectors of an answer: `count` of one length, all numbers finite. Raises Refused."""
    found = _read(content, dialect)
    if len(found) != count:
        raise Refused(UNUSABLE, f"{len(found)} vectors came back for {count} texts")
    if len({len(vector) for vector in found}) != 1 or not found[0]:
        raise Refused(UNUSABLE, "the vectors have different lengths or none")
    for vector in found:
        if not all(map(math.isfinite, vector)) or not any(vector):
            raise Refused(UNUSABLE, "a vector holds NaN, an infinite number, or zeros only")
    return found


def _read(content: bytes, dialect: Dialect) -> list[Vector]:
    try:
        answer = json.loads(content)
        if dialect == "ollama":
            rows = answer["embeddings"]
        else:
            ordered = sorted(answer["data"], key=lambda row: int(row["index"]))
            rows = [row["embedding"] for row in ordered]
        return [[float(number) for number in row] for row in rows]
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise Refused(UNREADABLE, "the answer is no list of vectors") from error
