"""Codex as the writer: its command line, and what its events and its last message say.

The user's own login, model and provider; no tools, hooks, plugins, servers, rules or saved
session. The client does not check the answer against the schema, and leaves nothing behind after a
failure.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from scriptorium.capture.child import Answered, Ended, Failed, Result, Usage
from scriptorium.capture.claude_child import kind_by_words
from scriptorium.capture.conversation import Row, object_at, parse_row, text_at

_FEATURES_OFF = (
    *("hooks", "plugins", "apps", "shell_tool", "unified_exec", "multi_agent", "goals"),
    *("image_generation", "view_image", "sleep_tool", "tool_suggest", "skill_search"),
    *("shell_snapshot", "unbounded_connection_retries"),
)
_SETTINGS = (
    "agents.enabled=false",
    "web_search=disabled",
    "project_doc_max_bytes=0",
    "skills.include_instructions=false",
    "skills.bundled.enabled=false",
    "include_permissions_instructions=false",
    "include_environment_context=false",
    "include_collaboration_mode_instructions=false",
    "analytics.enabled=false",
    "tools.experimental_request_user_input={enabled=false}",
)


def command(
    program: Path,
    system: str,
    schema: Mapping[str, object],
    model: str | None,
    *,
    files: Path,
    empty: Path,
    config: Mapping[str, object],
) -> list[str]:
    """The call; the prompt goes on stdin. `files` is a directory for what the client reads and
    writes.

    `config` is the user's own, of which model and provider are passed on. Writes into `files`.
    """
    (files / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    (files / "instructions.md").write_text(system, encoding="utf-8")
    settings = [
        *(f"features.{name}=false" for name in _FEATURES_OFF),
        *_SETTINGS,
        *_of_the_user(config, model),
        f"model_instructions_file={_toml(str(files / 'instructions.md'))}",
    ]
    return [
        *(str(program), "exec", "--ephemeral", "--ignore-user-config", "--ignore-rules"),
        *("--skip-git-repo-check", "-s", "read-only", "-C", str(empty)),
        *(part for setting in settings for part in ("-c", setting)),
        *(("-m", model) if model else ()),
        *("--json", "-o", str(files / "last.json")),
        *("--output-schema", str(files / "schema.json"), "-"),
    ]


def user_config(environ: Mapping[str, str]) -> dict[str, object]:
    """The user's settings of Codex; empty where there are none or they cannot be read."""
    home = environ.get("CODEX_HOME") or f"{environ.get('HOME', '')}/.codex"
    try:
        return tomllib.loads((Path(home) / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def result(ended: Ended, files: Path) -> Result:
    """The answer, or how the call failed."""
    events = [row for line in ended.out.splitlines() if (row := parse_row(line))]
    usage = _usage(events)
    if ended.reason == "timeout":
        return Failed("timeout", "no answer within the time limit", usage)
    if ended.reason == "flood":
        return Failed("malformed", "the output is far too long for an answer", usage)
    said = _error(events) or _tail(ended.err)
    if ended.status < 0 or ended.status == 143:
        return Failed("killed", f"ended with status {ended.status}", usage)
    if ended.status != 0:
        return Failed(kind_by_words(said), said or f"exit status {ended.status}", usage)
    text = _last(files) or _message(events)
    if not text:
        return Failed("empty", said or "no answer", usage)
    answer = parse_row(text.encode())
    return Answered(answer, usage) if answer is not None else Failed("malformed", text[:200], usage)


def _of_the_user(config: Mapping[str, object], model: str | None) -> Iterator[str]:
    own = text_at(config, "model")
    if own and not model:
        yield f"model={_toml(own)}"
    if effort := text_at(config, "model_reasoning_effort"):
        yield f"model_reasoning_effort={_toml(effort)}"
    provider = text_at(config, "model_provider")
    if provider:
        yield f"model_provider={_toml(provider)}"
        described = object_at(object_at(config, "model_providers"), provider)
        if described:
            yield f"model_providers.{_toml_key(provider)}={_toml(described)}"


def _toml(value: object) -> str:
    """A value as TOML writes it in one line."""
    match value:
        case Mapping():
            return (
                "{" + ", ".join(f"{_toml_key(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
            )
        case list():
            return "[" + ", ".join(_toml(item) for item in value) + "]"
        case bool() | int() | float():
            return json.dumps(value)
        case _:
            return json.dumps(str(value))


def _toml_key(key: str) -> str:
    return (
        key
        if key.replace("-", "").replace("_", "").isalnum() and key.isascii()
        else json.dumps(key)
    )


def _usage(events: list[Row]) -> Usage:
    told = [object_at(e, "usage") for e in events if e.get("type") == "turn.completed"]
    return Usage(
        input_tokens=sum(_count(u, "input_tokens") for u in told),
        output_tokens=sum(_count(u, "output_tokens") for u in told),
    )


def _error(events: list[Row]) -> str:
    """What the client says went wrong; an `error` item may be a mere warning."""
    failed = [
        text_at(object_at(e, "error"), "message") for e in events if e.get("type") == "turn.failed"
    ]
    errors = [text_at(e, "message") for e in events if e.get("type") == "error"]
    return next((said[:500] for said in (*failed, *errors[::-1]) if said), "")


def _message(events: list[Row]) -> str:
    items = [object_at(e, "item") for e in events if e.get("type") == "item.completed"]
    said = [text_at(i, "text") for i in items if i.get("type") == "agent_message"]
    return (said[-1] or "") if said else ""


def _last(files: Path) -> str:
    try:
        return (files / "last.json").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _count(row: Row, name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _tail(err: bytes) -> str:
    return " ".join(err[-500:].decode("utf-8", "replace").split())
