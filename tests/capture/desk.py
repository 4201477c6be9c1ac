"""What the tests of capture share: a home, a clock, a scripted client, transcripts to write."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scriptorium.capture import ingest
from scriptorium.capture.options import IngestOptions, IngestReport, Surroundings
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.workspace import Workspace

HERE = Path(__file__).parent
TRANSCRIPTS = HERE.parent / "fixtures" / "transcripts"
NOON = datetime(2026, 8, 3, 12, 0, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that stands still until it is moved; `sleep` moves it."""

    moment: datetime = NOON
    slept: list[float] = field(default_factory=list)
    on_sleep: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += timedelta(seconds=seconds)
        self.on_sleep()

    def move(self, **delta: float) -> None:
        self.moment += timedelta(**delta)


@dataclass
class Script:
    """The scripted client, installed in a directory that is the whole PATH."""

    folder: Path

    def moods(self, *moods: str) -> None:
        (self.folder / "script.json").write_text(json.dumps(moods), encoding="utf-8")
        (self.folder / "calls.jsonl").unlink(missing_ok=True)

    @property
    def calls(self) -> list[dict[str, Any]]:
        try:
            text = (self.folder / "calls.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines()]


class Session:
    """A transcript of Claude Code that grows turn by turn."""

    def __init__(self, folder: Path, name: str = "11111111-aaaa-4aaa-8aaa-000000000001") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{name}.jsonl"
        self.name = name
        self.cwd = "/home/dev/project"
        self.time = NOON
        self._count = 0

    def row(self, **row: object) -> dict[str, object]:
        self._count += 1
        return {
            "uuid": f"{self.name[:8]}-0000-4000-8000-{self._count:012}",
            "timestamp": self.time.isoformat().replace("+00:00", "Z"),
            "cwd": self.cwd,
            "sessionId": self.name,
            "isSidechain": False,
            **row,
        }

    def write(self, *rows: dict[str, object]) -> list[str]:
        with self.path.open("a", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
        return [str(row["uuid"]) for row in rows]

    def typed(self, text: str, **more: object) -> dict[str, object]:
        return self.row(
            type="user",
            message={"role": "user", "content": text},
            origin={"kind": "human"},
            **more,
        )

    def said(self, text: str, message_id: str | None = None, **more: object) -> dict[str, object]:
        content = [{"type": "text", "text": text}]
        message_id = message_id or f"msg_{self.name[:8]}_{self._count}"
        message = {"id": message_id, "role": "assistant", "content": content}
        return self.row(type="assistant", message=message, **more)

    def turn(self, question: str, answer: str) -> list[str]:
        return self.write(self.typed(question), self.said(answer))


@dataclass
class Desk:
    """A home with a workspace, and `ingest` called in it."""

    home: Path
    clock: Clock
    script: Script

    @staticmethod
    def made(home: Path, clock: Clock, script: Script) -> Desk:
        home.mkdir(parents=True)
        return Desk(home, clock, script)

    @property
    def root(self) -> Path:
        return self.home / "memory"

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": str(self.script.folder)}

    def around(self, **environ: str) -> Surroundings:
        return Surroundings({**self.environ, **environ}, self.clock.now, self.clock.sleep)

    def options(self, session: Session | Path | None = None, **more: Any) -> IngestOptions:
        path = session.path if isinstance(session, Session) else session
        return IngestOptions(workspace=self.root, transcript=path, git_commit="off", **more)

    def ingest(self, session: Session | Path | None = None, **more: Any) -> IngestReport:
        return ingest.run(self.options(session, **more), self.around())

    def session(self, number: int = 1) -> Session:
        return Session(self.home / "projects", f"{number:08}-aaaa-4aaa-8aaa-000000000001")

    def snapshot(self) -> Snapshot:
        return Workspace.open(self.root).snapshot()

    def contents(self) -> dict[str, str]:
        """Every archived message's text by its source id."""
        snapshot = self.snapshot()
        files = [f.path for f in snapshot.files() if f.kind == "source"]
        records = [r for path in files for r in snapshot.sources_of(path)]
        assert len({r.id for r in records}) == len(records)
        return {str(r.id): r.content for r in records}

    def topics(self) -> str:
        """All topics' text."""
        snapshot = self.snapshot()
        return "\n".join(snapshot.read(f.path) for f in snapshot.files() if f.kind == "topic")


def install_script(folder: Path, names: Sequence[str]) -> Script:
    """The scripted client under those names; it makes an addition of every fact."""
    folder.mkdir(parents=True)
    code = (HERE / "scripted_child.py").read_text(encoding="utf-8")
    for name in names:
        (folder / name).write_text(f"#!{sys.executable} -I\n{code}", encoding="utf-8")
        (folder / name).chmod(0o755)
    script = Script(folder)
    script.moods("facts")
    return script


def filler(tokens: int) -> str:
    """Prose of about that many tokens."""
    return "so we went on and on " * (tokens // 6 + 1)
