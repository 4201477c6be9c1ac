"""What a caller of `ingest` says and gets back. Plain values; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

type Agent = Literal["claude", "codex"]
type Outcome = Literal[
    "child",  # started inside the writer's own child: nothing was done
    "disabled",  # `ingest.enabled: false`
    "ignored",  # a .scriptorium-ignore file covers the session's directory
    "waiting",  # too little is pending; no model was called
    "busy",  # another ingest of this workspace is writing; it or the next one takes the messages
    "backoff",  # the last run failed; it is too early to try again
    "capped",  # the day's spend is used up
    "written",  # at least one batch is in memory
    "failed",  # the run failed; the messages stay pending
    "dry-run",
    "retried",  # what was set aside is pending again, and still too little to write
]

TOKEN_THRESHOLD = 16_000
DAILY_USD = 1.00


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """One call of `scriptorium ingest`."""

    workspace: Path
    """The workspace's root; made on first use."""
    transcript: Path | None = None
    """The session's file; None looks only at what is pending already."""
    last_message: str | None = None
    """The turn's last assistant message, as the Stop hook has it; awaited in the transcript."""
    cwd: str | None = None
    """The session's directory, as the hook has it; checked for `.scriptorium-ignore`."""
    token_threshold: int = TOKEN_THRESHOLD
    model: str | None = None
    """Passed on to the client; None is the user's default model."""
    agent: Agent | None = None
    """Which client writes; None is the one whose transcript it is."""
    claude_cli: str | None = None
    codex_cli: str | None = None
    """Paths of the clients; None looks for them on PATH and where installers put them."""
    daily_usd: float = DAILY_USD
    enabled: bool = True
    force: bool = False
    """Write whatever is pending, also during backoff. The day's cap still holds."""
    dry_run: bool = False
    """Show what would be sent; write nothing, not even the pending messages."""
    retry: bool = False
    """What was set aside becomes pending again, and the backoff ends."""
    git_commit: Literal["auto", "on", "off"] = "auto"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What `interface/` reads from the machine and passes down."""

    environ: Mapping[str, str]
    now: Callable[[], datetime]
    """The local time, with its offset: the day of the cap is the local day."""
    sleep: Callable[[float], None]
    """Waits that many seconds."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a dry run would send, and about what it would cost."""

    messages: int
    batches: int
    tokens: int
    """Of the pending messages, estimated."""
    prompt: str
    """The first batch's whole prompt."""
    usd: float


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one call did."""

    outcome: Outcome
    detail: str = ""
    """One line for a person."""
    added: int = 0
    """Messages that became pending in this call."""
    pending_tokens: int = 0
    batches: int = 0
    """Batches that this call wrote into memory."""
    messages: int = 0
    """Messages in those batches."""
    changed_files: tuple[str, ...] = ()
    cost_usd: float = 0.0
    preview: Preview | None = None


@dataclass(frozen=True, slots=True)
class IngestStatus:
    """How capture stands in a workspace, as `memory_status`, `doctor` and SessionStart show it."""

    pending_tokens: int = 0
    last_run: str | None = None
    """ISO 8601 with an offset."""
    last_error: str | None = None
    """Why the newest run failed; None once one succeeded."""
    spent_usd_today: float = 0.0
    set_aside: int = 0
    """Messages that failed five times; `scriptorium ingest --retry` brings them back."""


@dataclass(frozen=True, slots=True)
class HookInput:
    """The part of a hook's stdin that ingest uses."""

    session: str | None = None
    transcript: Path | None = None
    cwd: str | None = None
    last_message: str | None = None


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """What a backfill did, over all transcripts of a directory."""

    files: int = 0
    done: int = 0
    """Transcripts that are read to their end."""
    report: IngestReport = field(default_factory=lambda: IngestReport("waiting"))
    """The last call's report; its sums are over all of them."""
