"""The messages that wait to be written, all sessions of a workspace together: when are they
enough, and which make the next batch. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from scriptorium.capture import archived
from scriptorium.capture.conversation import Message, key
from scriptorium.format import times

BATCH_TOKENS = 16_000
"""A batch is full with this many tokens; its last message is whole and at most half over it."""
BATCH_MESSAGES = 100
BATCH_CHARACTERS = 200_000
"""Also for the limits of one update: 100 sources, 1 MiB of content."""
IDLE = timedelta(hours=1)
IDLE_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message in the pool."""

    message: Message
    tokens: int
    """Estimated."""
    added: datetime

    @property
    def key(self) -> str:
        """The message's own key, which is not a part of `also`."""
        return key(self.message.provider, self.message.id)


@dataclass(frozen=True, slots=True)
class Pool:
    """What is pending, oldest first."""

    waiting: tuple[Waiting, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(w.tokens for w in self.waiting)

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(k for w in self.waiting for k in w.message.keys)

    def without(self, marks: Container[bytes]) -> Pool:
        """The pool without what is archived."""
        return Pool(tuple(w for w in self.waiting if archived.mark(w.key) not in marks))

    def is_enough(self, threshold: int, now: datetime) -> bool:
        """Whether it is time to write: much is pending, or something and a session is over."""
        tokens = self.tokens
        return tokens >= max(threshold, 1) or (tokens >= IDLE_TOKENS and self._any_idle(now))

    def batch(self) -> tuple[Waiting, ...]:
        """The oldest whole messages that make one batch; at least one where any is pending."""
        chosen: list[Waiting] = []
        tokens = characters = 0
        for waiting in self.waiting[:BATCH_MESSAGES]:
            tokens += waiting.tokens
            characters += len(waiting.message.text)
            over = tokens > BATCH_TOKENS * 3 // 2 or characters > BATCH_CHARACTERS
            if chosen and over:
                break
            chosen.append(waiting)
            if tokens >= BATCH_TOKENS:
                break
        return tuple(chosen)

    def batches(self) -> Iterator[tuple[Waiting, ...]]:
        """All of it, batch by batch."""
        start = 0
        while batch := Pool(self.waiting[start : start + BATCH_MESSAGES]).batch():
            yield batch
            start += len(batch)

    def _any_idle(self, now: datetime) -> bool:
        newest: dict[tuple[str, str], datetime] = {}
        for waiting in self.waiting:
            session = (waiting.message.provider, waiting.message.thread)
            newest[session] = max(said_at(waiting), newest.get(session, _LONG_AGO))
        # A time that lies ahead is of a clock that was wrong: nobody knows how long ago that is.
        return any(abs(now - moment) >= IDLE for moment in newest.values())


_LONG_AGO = datetime.fromisoformat("0001-01-02T00:00:00+00:00")


def said_at(waiting: Waiting) -> datetime:
    """When the message was said, as far as that is known; never later than it became pending."""
    return min(times.moment(waiting.message.time) or waiting.added, waiting.added)
