"""The command line's grammar: every command, flag and help text.

Owns words only. Promises that what was parsed has the types that `Arguments` declares.
"""

from __future__ import annotations

import argparse
import math

from scriptorium import __version__
from scriptorium.interface.config import Agent, GitMode

_WORKSPACE = "a memory's folder; default: the settings' workspaces, else ~/.scriptorium/memory"
_LAYERS = "PATH, or NAME=PATH (several times) to serve layers of one memory"


class Arguments(argparse.Namespace):
    """What was parsed; a command reads the fields that its own parser sets, and those that choose
    a memory, which are None where it has no flag for them.
    """

    command: str
    path: str
    query: str
    block_id: str
    workspace: list[str]
    json: bool
    git_commit: GitMode | None = None
    embedding_url: str | None = None
    embedding_model: str | None = None
    method: str
    top_k: int
    path_prefix: str | None
    date_from: str | None
    date_to: str | None
    transcript: str | None
    token_threshold: int | None
    model: str | None
    agent: Agent | None
    claude_cli: str | None
    codex_cli: str | None
    force: bool
    dry_run: bool
    hook: bool
    retry: bool
    backfill: str | None
    keep: bool
    remote: str | None
    accept_rewrite: bool
    match: str | None
    layer: str | None
    yes: bool


def build() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scriptorium",
        description="A memory of Markdown files for coding agents.",
        epilog="`scriptorium COMMAND --help` tells more of each. Start with `scriptorium demo`.",
    )
    parser.add_argument("--version", action="version", version=f"scriptorium {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _init(commands)
    _validate(commands)
    _mcp(commands)
    _ingest(commands)
    _status(commands)
    _search(commands)
    _show(commands)
    _sync(commands)
    _forget(commands)
    _doctor(commands)
    _demo(commands)
    return parser


def of_hook() -> Arguments:
    """What `build` makes of `ingest --hook`, without building it."""
    flags = dict.fromkeys(("force", "dry_run", "retry", "json"), False)
    values = dict.fromkeys(
        ("transcript", "backfill", "token_threshold", "model", "agent", "claude_cli", "codex_cli")
    )
    return Arguments(command="ingest", hook=True, workspace=[], **flags, **values)


type _Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  it has no other name


def _command(commands: _Commands, name: str, does: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=does, description=does[0].upper() + does[1:] + ".")


def _init(commands: _Commands) -> None:
    parser = _command(commands, "init", "create a workspace, or report on one that exists")
    parser.add_argument("path", metavar="PATH", help="the folder of the workspace")
    _json(parser)


def _validate(commands: _Commands) -> None:
    does = "check every topic, link, source and generated view; changes nothing"
    parser = _command(commands, "validate", does)
    _workspace(parser)
    _json(parser)


def _mcp(commands: _Commands) -> None:
    parser = _command(commands, "mcp", "serve the memory's six tools on stdin and stdout")
    _workspace(parser, _LAYERS)
    modes = ("auto", "on", "off")
    does = "commit each update to Git: auto (a workspace that is a repository), on, off"
    parser.add_argument("--git-commit", choices=modes, help=does)
    _embedding(parser)


def _ingest(commands: _Commands) -> None:
    parser = _command(
        commands, "ingest", "take a session's new turns into memory, once enough wait"
    )
    _workspace(parser, _LAYERS)
    add = parser.add_argument
    add("--transcript", metavar="FILE", help="a transcript of Claude Code or Codex")
    add("--hook", action="store_true", help="read the Stop hook's JSON on stdin")
    add(
        "--backfill",
        metavar="DIR",
        nargs="?",
        const="",
        help="take old transcripts in, oldest first",
    )
    add("--retry", action="store_true", help="try what was set aside again")
    add("--token-threshold", metavar="N", type=_count, help="write from this many pending tokens")
    add("--model", help="the writer's model; default: your client's own")
    add("--agent", choices=("claude", "codex"), help="which client writes")
    add("--claude-cli", metavar="PATH", help="Claude Code's program, where it is not found")
    add("--codex-cli", metavar="PATH", help="Codex's program, where it is not found")
    add("--force", action="store_true", help="write now, whatever is pending")
    add("--dry-run", action="store_true", help="show what would be sent, its size and cost")
    _json(parser)


def _status(commands: _Commands) -> None:
    parser = _command(commands, "status", "show what is in memory, and what is wrong with it")
    _workspace(parser, _LAYERS)
    _embedding(parser)
    _json(parser)


def _search(commands: _Commands) -> None:
    parser = _command(commands, "search", "search the memory")
    parser.add_argument("query", metavar="QUERY", help="words to look for")
    _workspace(parser, _LAYERS)
    add = parser.add_argument
    add("--method", choices=("bm25", "embedding", "hybrid"), default="bm25", help="default: bm25")
    add("--top-k", metavar="N", type=_count, default=8, help="results, 1 to 50; default: 8")
    add("--path-prefix", metavar="P", help="only below it, for example topics/work/")
    add("--date-from", metavar="DATE", help="YYYY, YYYY-MM or YYYY-MM-DD")
    add("--date-to", metavar="DATE", help="the same, inclusive")
    _embedding(parser)
    _json(parser)


def _show(commands: _Commands) -> None:
    does = "print a block, its evidence and the words it came from"
    parser = _command(commands, "show", does)
    parser.add_argument("block_id", metavar="BLOCK_ID", help="as in ^76fd3b6c")
    _workspace(parser, _LAYERS)
    _json(parser)


def _sync(commands: _Commands) -> None:
    does = "merge what another machine pushed, check it, and push: one memory in several places"
    parser = _command(commands, "sync", does)
    _workspace(parser, _LAYERS)
    add = parser.add_argument
    add("--remote", metavar="R", help="a remote of the workspace's repository; default: its own")
    add(
        "--accept-rewrite",
        action="store_true",
        help="take over a remote history that was rewritten, with what is new here on top",
    )
    _json(parser)


def _forget(commands: _Commands) -> None:
    does = "remove a block, or what holds a text, and erase the words that it came from"
    parser = _command(commands, "forget", does)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("block_id", metavar="BLOCK_ID", nargs="?", help="as in ^76fd3b6c")
    what.add_argument("--match", metavar="TEXT", help="every block and message that holds the text")
    _workspace(parser, _LAYERS)
    add = parser.add_argument
    add("--layer", metavar="NAME", help="only this layer; default: the one that holds it")
    add("--dry-run", action="store_true", help="show what would be forgotten; change nothing")
    add("--yes", action="store_true", help="do not ask")
    _json(parser)


def _doctor(commands: _Commands) -> None:
    does = "say what is installed, what runs, what failed last, and how to mend it"
    parser = _command(commands, "doctor", does)
    _workspace(parser, _LAYERS)
    _json(parser)


def _demo(commands: _Commands) -> None:
    does = "run the whole loop in a throw-away workspace over a real server"
    parser = _command(commands, "demo", does)
    parser.add_argument(
        "--keep", action="store_true", help="keep the workspace and say where it is"
    )


def _workspace(parser: argparse.ArgumentParser, does: str = _WORKSPACE) -> None:
    parser.add_argument("--workspace", metavar="P", action="append", default=[], help=does)


def _embedding(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--embedding-url", metavar="URL", help="an Ollama or OpenAI-compatible endpoint")
    add("--embedding-model", metavar="MODEL", help="its model's name")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _count(text: str) -> int:
    """A whole number of 1 or more; `16k` is 16,000."""
    try:
        value = float(text[:-1]) * 1000 if text[-1:] in "kK" else float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value < 1e9 or value != int(value):
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, not {text!r}")
    return int(value)
