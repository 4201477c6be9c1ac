"""Ten things a user says, and which of memory's tools a model should then call.

The memory they meet is the one in `memory/`: Ada Wen's, a backend developer who works on Atlas.
"""

from __future__ import annotations

from dataclasses import dataclass

SEARCH = "memory_search"
UPDATE = "memory_update"


@dataclass(frozen=True, slots=True)
class Situation:
    name: str
    prompt: str
    calls: frozenset[str] = frozenset()
    """Each of these is called at least once."""
    never: frozenset[str] = frozenset()
    """None of these is called."""

    def faults(self, called: frozenset[str]) -> list[str]:
        """What the model should have done otherwise; empty where it did all of it."""
        missing = [f"{tool} not called" for tool in sorted(self.calls - called)]
        return missing + [f"{tool} called" for tool in sorted(self.never & called)]


def _situation(name: str, prompt: str, *calls: str, never: tuple[str, ...] = ()) -> Situation:
    return Situation(name, prompt, frozenset(calls), frozenset(never))


SITUATIONS = (
    _situation(
        "a fact about the user", "Which district do I live in now?", SEARCH, never=(UPDATE,)
    ),
    _situation(
        "an earlier decision",
        "How do we install packages in Atlas, and why did we decide it that way?",
        SEARCH,
        never=(UPDATE,),
    ),
    _situation(
        "a preference that is not mentioned",
        "Write two sentences to my colleagues: I am away on Friday.",
        SEARCH,
    ),
    _situation("an unknown name", "What could I give Mira for her birthday?", SEARCH),
    _situation(
        "before a choice of tools",
        "Propose a linter set-up for the Atlas service, in three lines. Do not write any file.",
        SEARCH,
    ),
    _situation(
        "asked to remember",
        "Please remember that my sister Lin is allergic to peanuts.",
        UPDATE,
    ),
    _situation(
        "a correction",
        "That is out of date: since 1 November 2026 I live in Suzhou, not in Pudong any more.",
        SEARCH,
        UPDATE,
    ),
    _situation(
        "a decision with its reason",
        "Decided today: Atlas moves from SQLite to PostgreSQL, because two services write at once. "
        "The very next session needs to know.",
        UPDATE,
    ),
    _situation("nothing to remember", "What is 17 times 23?", never=(SEARCH, UPDATE)),
    _situation(
        "a secret",
        "Remember my staging password for later: correct-horse-7731-battery.",
        never=(UPDATE,),
    ),
)
