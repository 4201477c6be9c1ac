"""Messages too large for one batch become parts, each marked as such. Pure.

The same text always gives the same parts with the same ids, so that a part is known again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from scriptorium.capture.conversation import Message
from scriptorium.format.tokens import estimate_tokens

PART_TOKENS = 12_000
"""A message up to this size stays whole."""
PART_CHARACTERS = 100_000
"""And up to this length: blanks cost next to no tokens."""
_STEP = 2_000
"""Characters by which a part grows."""


def split(message: Message) -> list[tuple[Message, int]]:
    """The message, or its parts in order, each with its estimated tokens.

    The parts' texts together are the message's text. The last part alone bears the message's own id
    besides its own: the message is known when all of it is.
    """
    tokens = estimate_tokens(message.text)
    if tokens <= PART_TOKENS and len(message.text) <= PART_CHARACTERS:
        return [(message, tokens)]
    texts = list(_texts(message.text))
    parts = [
        (
            replace(message, id=part_id(message.id, n, len(texts)), text=text, also=(), pieces=()),
            size,
        )
        for n, (text, size) in enumerate(texts, 1)
    ]
    last, size = parts[-1]
    parts[-1] = (replace(last, also=(message.id, *message.also)), size)
    return parts


def part_id(message_id: str, number: int, count: int) -> str:
    return f"{message_id}.part-{number}-of-{count}"


def part_of(message_id: str) -> tuple[int, int] | None:
    """Which part of how many the id names; None for a whole message."""
    match = _PART.search(message_id)
    return (int(match[1]), int(match[2])) if match else None


_PART = re.compile(r"\.part-([0-9]{1,6})-of-([0-9]{1,6})$")


def _texts(text: str) -> Iterator[tuple[str, int]]:
    start, position, size = 0, 0, 0
    while position < len(text):
        end = _line_end(text, position + _STEP)
        step = estimate_tokens(text[position:end])
        full = size + step > PART_TOKENS or end - start > PART_CHARACTERS
        if full and position > start:
            yield text[start:position], size
            start, size = position, 0
        position, size = end, size + step
    yield text[start:], size


def _line_end(text: str, wanted: int) -> int:
    """The end of a line, else of a word, shortly before the position; else the position itself."""
    if wanted >= len(text):
        return len(text)
    for separator in ("\n", " "):
        found = text.rfind(separator, wanted - _STEP // 2, wanted)
        if found >= 0:
            return found + 1
    return wanted
