"""Claude Code as the writer: its command line, and what its result says.

The user's own login and default model; no tools, hooks, plugins, servers, instructions or saved
session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from scriptorium.capture import child
from scriptorium.capture.child import Answered, Ended, Failed, Kind, Result, Usage
from scriptorium.capture.conversation import Row, object_at, parse_row, text_at

_SETTINGS = {"disableAllHooks": True, "enabledPlugins": {"scriptorium@scriptorium": False}}
_ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "ENABLE_TOOL_SEARCH": "false",
}


def command(
    program: Path, system: str, schema: Mapping[str, object], model: str | None, budget: float
) -> list[str]:
    """The call; the prompt goes on stdin. `budget` is in US dollars."""
    chosen = ["--model", model] if model else []
    return [
        str(program),
        "-p",
        *("--output-format", "json"),
        *("--tools", ""),
        "--strict-mcp-config",
        *("--setting-sources", "user"),
        *("--settings", json.dumps(_SETTINGS)),
        "--no-session-persistence",
        *("--system-prompt", system),
        *chosen,
        *("--max-budget-usd", f"{max(budget, 0.01):.2f}"),
        *("--json-schema", json.dumps(schema)),
    ]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The child's environment."""
    return {**child.outside_session(environ), **_ENVIRONMENT}


def result(ended: Ended) -> Result:
    """The answer, or how the call failed."""
    if ended.reason == "timeout":
        return Failed("timeout", "no answer within the time limit")
    row = _result_row(ended.out)
    if row is None:
        return _without_result(ended)
    usage = _usage(row)
    if row.get("is_error") is True or ended.status != 0:
        return _failure(row, ended, usage)
    structured = row.get("structured_output")
    if structured is None:
        structured = parse_row(_unfenced(text_at(row, "result") or "").encode())
    if structured is None:
        kind: Kind = "malformed" if text_at(row, "result") else "empty"
        return Failed(kind, "the result holds no structured answer", usage)
    return Answered(structured, usage)


def _result_row(out: bytes) -> Row | None:
    """The result object: the whole output, its last line, or the last of a list of messages."""
    for text in (out, out.strip().rpartition(b"\n")[2]):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        rows = value if isinstance(value, list) else [value]
        found = [r for r in rows if isinstance(r, dict) and r.get("type", "result") == "result"]
        if found:
            return found[-1]
    return None


def _without_result(ended: Ended) -> Failed:
    said = _tail(ended)
    if ended.reason == "flood":
        return Failed("malformed", "the output is far too long for an answer")
    if ended.status < 0:
        return Failed("killed", f"ended by signal {-ended.status}")
    if ended.status != 0:
        return Failed(_kind_of(said, None), said or f"exit status {ended.status}")
    return Failed("malformed" if ended.out.strip() else "empty", said or "no output")


def _failure(row: Row, ended: Ended, usage: Usage) -> Failed:
    said = text_at(row, "result") or _errors(row) or _tail(ended) or f"exit status {ended.status}"
    subtype = text_at(row, "subtype") or ""
    if "budget" in subtype:
        return Failed("budget", said, usage)
    if "structured_output" in subtype:
        return Failed("malformed", said, usage)
    status = row.get("api_error_status")
    return Failed(_kind_of(said, status if isinstance(status, int) else None), said[:500], usage)


def _errors(row: Row) -> str:
    errors = row.get("errors")
    return "; ".join(str(e) for e in errors)[:500] if isinstance(errors, list) else ""


_BY_STATUS: dict[int, Kind] = {
    400: "other",
    401: "unauthorised",
    402: "usage-limit",
    403: "unauthorised",
    413: "too-long",
    429: "rate-limited",
    500: "overloaded",
    502: "overloaded",
    503: "overloaded",
    504: "overloaded",
    529: "overloaded",
}
_BY_WORDS: tuple[tuple[str, Kind], ...] = (
    (r"not logged in|please run /login|invalid api key", "not-logged-in"),
    (r"\b401\b|authentication_error|oauth token|unauthorized", "unauthorised"),
    (r"prompt is too long|context window|too many tokens", "too-long"),
    (r"credit balance|usage limit|limit reached|out of extra usage", "usage-limit"),
    (r"\b429\b|rate.?limit", "rate-limited"),
    (r"\b(?:500|502|503|529)\b|overloaded|high demand", "overloaded"),
    (r"budget", "budget"),
    (r"connection|network|ENOTFOUND|ECONNREFUSED|timed out|socket|stream disconnected", "network"),
)


def _kind_of(said: str, status: int | None) -> Kind:
    by_words = kind_by_words(said)
    if status is not None and by_words in ("other", "network"):
        return _BY_STATUS.get(status, "overloaded" if status >= 500 else "other")
    return by_words


def kind_by_words(said: str) -> Kind:
    """What a client's message tells of the failure; `other` when it tells nothing known."""
    kinds = (kind for pattern, kind in _BY_WORDS if re.search(pattern, said, re.IGNORECASE))
    return next(kinds, "other")


def _usage(row: Row) -> Usage:
    told = object_at(row, "usage")
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    cost = row.get("total_cost_usd")
    models = [name for name in object_at(row, "modelUsage") if isinstance(name, str)]
    return Usage(
        input_tokens=sum(_count(told, name) for name in read),
        output_tokens=_count(told, "output_tokens"),
        cost_usd=float(cost) if isinstance(cost, (int, float)) and cost >= 0 else None,
        model=", ".join(models) or None,
    )


def _count(row: Row, name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _unfenced(text: str) -> str:
    """JSON without the Markdown fence that a model may put around it."""
    match = re.fullmatch(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", text, re.DOTALL)
    return match[1] if match else text


def _tail(ended: Ended) -> str:
    """The end of what the client said, for a message of one line."""
    said = ended.err.strip() or ended.out.strip()
    return " ".join(said[-500:].decode("utf-8", "replace").split())
