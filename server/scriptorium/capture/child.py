"""A client started once, for one answer, under a hard limit.

Promises: the child has a process group of its own, which is dead when `run` returns, whatever
happens; it works in an empty directory that is gone afterwards; its output is bounded; it bears
the mark that keeps hooks and `ingest` from starting another one. Knows nothing of any client.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Literal

MARK = "SCRIPTORIUM_CHILD"
"""The environment variable of a child, `1`: hooks and `ingest` do nothing where it is set."""
TIME_LIMIT = 300.0
"""Seconds."""
OUTPUT_LIMIT = 8 << 20
ERROR_LIMIT = 64 << 10
_CHUNK = 1 << 16
_GLANCE = 1.0

type Kind = Literal[
    "not-found",
    "not-started",
    "not-logged-in",
    "unauthorised",
    "rate-limited",
    "usage-limit",
    "overloaded",
    "budget",
    "too-long",
    "malformed",
    "empty",
    "timeout",
    "killed",
    "network",
    "refused-by-memory",
    "other",
]
"""How a run can fail."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the client says that a run took; zeros and None where it says nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's answer, as JSON; not yet checked."""

    answer: object
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Failed:
    kind: Kind
    message: str
    usage: Usage = Usage()

    @property
    def ran(self) -> bool:
        """Whether a model was, or may have been, at work."""
        return self.kind not in ("not-found", "not-started")


type Result = Answered | Failed


@dataclass(frozen=True, slots=True)
class Ended:
    """How the process ended."""

    status: int
    """The exit status; minus the signal's number if a signal ended it."""
    out: bytes
    err: bytes
    reason: Literal["exit", "timeout", "flood"] = "exit"


def outside_session(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what tells of the session that runs now.

    A client that finds that takes itself for a part of the session.
    """
    return {name: value for name, value in environ.items() if not _OF_A_SESSION.match(name)}


_OF_A_SESSION = re.compile(
    r"CLAUDECODE$|CLAUDE_(?:CODE_(?:ENTRYPOINT|SESSION_ID|SSE_PORT)|PROJECT_DIR|ENV_FILE)$"
    r"|CLAUDE_PLUGIN_|PLUGIN_|CODEX_(?:SANDBOX|THREAD|SESSION)"
)


def run(
    command: Sequence[str],
    prompt: bytes,
    *,
    cwd: Path,
    environ: Mapping[str, str],
    time_limit: float = TIME_LIMIT,
) -> Ended:
    """The command was given the prompt on stdin and has ended, or was ended.

    Raises OSError when it cannot be started.
    """
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**environ, MARK: "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_DIE_WITH_PARENT,  # noqa: PLW1509 - before any thread of ours exists
    )
    with process, _ending(process):
        try:
            reason, out, err = _talk(process, prompt, time.monotonic() + time_limit)
        finally:
            _kill_group(process)
    return Ended(process.returncode, out, err, reason)


def _talk(
    process: subprocess.Popen[bytes], prompt: bytes, deadline: float
) -> tuple[Literal["exit", "timeout", "flood"], bytes, bytes]:
    """Writes the prompt and reads both streams until they end, the time is up or too much came."""
    assert process.stdin and process.stdout and process.stderr  # noqa: S101 - for the type checker
    out, err, rest = bytearray(), bytearray(), memoryview(prompt)
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while process.stdout in (k.fileobj for k in selector.get_map().values()):
            left = deadline - time.monotonic()
            if left <= 0:
                ended = process.poll() is not None
                return "exit" if ended else "timeout", bytes(out), bytes(err)
            events = selector.select(min(left, _GLANCE))
            if process.poll() is not None:  # perhaps it left its output to another process
                deadline = min(deadline, time.monotonic() + _GLANCE)
                if not events:
                    break
            for event, _ in events:
                if event.fileobj is process.stdin:
                    rest = rest[_feed(process.stdin, rest) :]
                    if not rest:
                        selector.unregister(process.stdin)
                        _close(process.stdin)
                elif not _took(event.fd, out if event.fileobj is process.stdout else err):
                    selector.unregister(event.fileobj)
            del err[ERROR_LIMIT:]
            if len(out) > OUTPUT_LIMIT:
                return "flood", bytes(out[:OUTPUT_LIMIT]), bytes(err)
    return _wait(process, deadline), bytes(out), bytes(err)


def _feed(stdin: IO[bytes], rest: memoryview) -> int:
    """How many bytes the child took; all of them when it does not want any more."""
    try:
        return os.write(stdin.fileno(), rest[:_CHUNK]) if rest else 0
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(rest)


def _took(fd: int, into: bytearray) -> bool:
    """What there is to read is taken; False at the end."""
    chunk = os.read(fd, _CHUNK)
    into += chunk
    return bool(chunk)


def _close(stream: IO[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def _wait(process: subprocess.Popen[bytes], deadline: float) -> Literal["exit", "timeout"]:
    try:
        process.wait(max(deadline - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        return "timeout"
    return "exit"


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Nothing of the child's group runs any more."""
    # The group outlives its leader while one member lives; its number is not given anew meanwhile.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def _ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A signal that ends this process ends the child first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        _kill_group(process)
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _die_with_parent() -> Callable[[], None] | None:
    """What makes the kernel end the child when this process is killed and cannot."""
    if sys.platform != "linux":
        return None
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    parent_death_signal = 1
    return lambda: prctl(parent_death_signal, signal.SIGKILL) and None


_DIE_WITH_PARENT = _die_with_parent()
