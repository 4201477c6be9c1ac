"""Settings: what `~/.scriptorium/config.yaml` says, and what holds where it says nothing.

Owns the names and types of the settings. Promises that a mistake in the file is reported with its
line and costs that setting only, and that a missing file costs no import of a YAML parser. Never
writes.
"""

# ruff: noqa: PLC0415  a YAML parser only where there is a file

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scriptorium.errors import InvalidArgument

if TYPE_CHECKING:
    from scriptorium.interface.settings_file import Setting

type GitMode = Literal["auto", "on", "off"]
type Agent = Literal["claude", "codex"]

SIZE_LIMIT = 64 * 1024
"""Bytes of a settings file."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something in the settings file that was not understood, and what holds instead."""

    line: int
    """1-based; 0 where it concerns the whole file."""
    message: str


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    """The name of an environment variable; never the key itself."""


@dataclass(frozen=True, slots=True)
class IngestSettings:
    enabled: bool = True
    layer: str | None = None
    daily_usd: float = 1.0
    model: str | None = None
    token_threshold: int = 16_000
    agent: Agent | None = None
    """None: the client whose transcript it is."""
    claude_cli: str | None = None
    codex_cli: str | None = None
    """Paths of the clients' programs; None: where they are usually found."""


@dataclass(frozen=True, slots=True)
class Settings:
    workspaces: tuple[str, ...] = ()
    """As `--workspace` takes them: `PATH` or `NAME=PATH`."""
    git_commit: GitMode = "auto"
    embedding: EmbeddingSettings = EmbeddingSettings()
    ingest: IngestSettings = IngestSettings()


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    mistakes: tuple[Mistake, ...]
    path: Path


def settings_path(home: Path) -> Path:
    return home / ".scriptorium" / "config.yaml"


def load(path: Path) -> Loaded:
    """The settings in the file, defaults for what is not there. Never raises."""
    try:
        # Opening a pipe would wait for who may write into it.
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return _unusable(path, "is no regular file; defaults hold")
            raw = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        return Loaded(Settings(), (), path)
    except OSError as error:
        return _unusable(path, f"cannot be read: {error.strerror or error}; defaults hold")
    if len(raw) > SIZE_LIMIT:
        return _unusable(path, f"is over the limit of {SIZE_LIMIT} bytes; defaults hold")
    from scriptorium.interface import settings_file  # PyYAML only where there is a file

    entries, mistakes = settings_file.parse(raw)
    reader = _Reader(list(mistakes))
    return Loaded(reader.settings(entries), tuple(sorted(reader.mistakes, key=_line)), path)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _unusable(path: Path, why: str) -> Loaded:
    return Loaded(Settings(), (Mistake(0, f"the settings file {why}"),), path)


def _line(mistake: Mistake) -> int:
    return mistake.line


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns entries into settings; collects what it cannot use."""

    mistakes: list[Mistake]

    def settings(self, entries: Sequence[Setting]) -> Settings:
        settings = Settings()
        for entry in entries:
            match entry.name:
                case "workspaces":
                    settings = replace(settings, workspaces=self._workspaces(entry))
                case "git_commit":
                    settings = replace(settings, git_commit=self._git(entry))
                case "embedding":
                    settings = replace(settings, embedding=self._embedding(entry))
                case "ingest":
                    settings = replace(settings, ingest=self._ingest(entry))
                case _:
                    self._unknown(entry, "workspaces, git_commit, embedding, ingest")
        return settings

    def _workspaces(self, entry: Setting) -> tuple[str, ...]:
        if entry.text is not None and entry.text.strip():
            return self._servable(entry, (entry.text,))
        found = []
        for item in entry.items or ():
            if item.text is None or not item.text.strip():
                self._wrong(item, "a path", "this workspace is left out")
            else:
                found.append(item.text)
        for item in entry.fields or ():
            if item.text is None or not item.text.strip():
                self._wrong(item, "a path", "this workspace is left out")
            else:
                found.append(f"{item.name}={item.text}")
        if entry.text is not None or not (entry.items or entry.fields):
            self._wrong(entry, "a mapping of NAME: PATH", "the default workspace is used")
        return self._servable(entry, tuple(found))

    def _servable(self, entry: Setting, found: tuple[str, ...]) -> tuple[str, ...]:
        """The workspaces; none where they cannot be served together."""
        from scriptorium.workspace import layers

        try:
            layers.parse_specs(found or (".",))
        except InvalidArgument as error:
            message = f"workspaces: {error.message} The default workspace is used"
            self.mistakes.append(Mistake(entry.line, message))
            return ()
        return found

    def _git(self, entry: Setting) -> GitMode:
        """YAML reads a bare `off` or `no` as false, `on` or `yes` as true: both are meant here."""
        word = (entry.text or "").lower()
        modes: dict[str, GitMode] = {"auto": "auto"}
        modes |= dict.fromkeys(("on", "yes", "true"), "on")
        modes |= dict.fromkeys(("off", "no", "false"), "off")
        if word not in modes:
            self._wrong(entry, "auto, on or off", "auto holds")
        return modes.get(word, "auto")

    def _embedding(self, entry: Setting) -> EmbeddingSettings:
        settings = EmbeddingSettings()
        for item in self._fields(entry):
            match item.name:
                case "url":
                    settings = replace(settings, url=self._url(item))
                case "model":
                    settings = replace(settings, model=self._text(item))
                case "api_key_env":
                    settings = replace(settings, api_key_env=self._text(item))
                case "api_key":
                    message = "embedding.api_key is not read: name an environment variable in "
                    self.mistakes.append(Mistake(item.line, message + "embedding.api_key_env"))
                case _:
                    self._unknown(item, "url, model, api_key_env")
        return settings

    def _ingest(self, entry: Setting) -> IngestSettings:
        settings = IngestSettings()
        for item in self._fields(entry):
            match item.name:
                case "enabled":
                    settings = replace(settings, enabled=self._flag(item))
                case "layer":
                    settings = replace(settings, layer=self._text(item))
                case "daily_usd":
                    settings = replace(settings, daily_usd=self._amount(item, settings.daily_usd))
                case "model":
                    settings = replace(settings, model=self._text(item))
                case "token_threshold":
                    count = self._amount(item, settings.token_threshold)
                    settings = replace(settings, token_threshold=int(count))
                case "agent":
                    settings = replace(settings, agent=self._agent(item))
                case "claude_cli":
                    settings = replace(settings, claude_cli=self._text(item))
                case "codex_cli":
                    settings = replace(settings, codex_cli=self._text(item))
                case _:
                    self._unknown(item, ", ".join(f.name for f in fields(settings)))
        return settings

    def _fields(self, entry: Setting) -> Sequence[Setting]:
        if entry.fields is None and not (entry.text is None and entry.items is None):
            self._wrong(entry, "a mapping", "defaults hold")
        return entry.fields or ()

    def _text(self, entry: Setting) -> str | None:
        if entry.text is None or not entry.text.strip():
            self._wrong(entry, "a text", "it is ignored")
            return None
        return entry.text

    def _url(self, entry: Setting) -> str | None:
        text = self._text(entry)
        if text is not None and not text.startswith(("http://", "https://")):
            self._wrong(entry, "an http:// or https:// address", "it is ignored")
            return None
        return text

    def _flag(self, entry: Setting) -> bool:
        """False for anything that is not clearly yes: capture stays off when in doubt."""
        word = (entry.text or "").lower()
        if word not in ("true", "yes", "on", "false", "no", "off"):
            self._wrong(entry, "true or false", "false holds")
        return word in ("true", "yes", "on")

    def _amount(self, entry: Setting, default: float) -> float:
        try:
            amount = float(entry.text or "")
        except ValueError:
            amount = -1.0
        if not 0 <= amount < 1e9:
            self._wrong(entry, "a number of 0 or more", f"{default:g} holds")
            return default
        return amount

    def _agent(self, entry: Setting) -> Agent | None:
        if entry.text == "claude":
            return "claude"
        if entry.text == "codex":
            return "codex"
        self._wrong(entry, "claude or codex", "the client whose transcript it is writes")
        return None

    def _unknown(self, entry: Setting, known: str) -> None:
        self.mistakes.append(
            Mistake(entry.line, f"unknown setting {entry.name[:80]!r}; known are {known}")
        )

    def _wrong(self, entry: Setting, expected: str, instead: str) -> None:
        empty = entry.items is None and entry.fields is None
        found = "nothing" if empty else "a nested value"
        found = found if entry.text is None else repr(entry.text[:80])
        name = entry.name[:80] or "the entry"
        self.mistakes.append(
            Mistake(entry.line, f"{name}: expected {expected}, found {found}; {instead}")
        )
