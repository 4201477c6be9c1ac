"""A call of a tool: the memory that it is for, who calls, and when.

What is constant for the call, and no argument of the tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scriptorium.errors import InternalError
from scriptorium.interface.memory import Memory, Snapshots
from scriptorium.workspace.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: the memory it is for, who calls, and when."""

    memory: Memory
    provider: str
    """The client's name as sources record it."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Reading(Call):
    """The call of a tool that reads, and what there is while it does."""

    snapshots: Snapshots

    def reach(self, prefix: str) -> tuple[Sequence[tuple[str, Snapshot]], str]:
        """As `Memory.reach`; raises InternalError with every reason when no layer can be read."""
        if not self.snapshots.layers:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.snapshots.failures.items())
            raise InternalError(f"No memory can be read. {reasons}")
        return self.memory.reach(self.snapshots, prefix)
