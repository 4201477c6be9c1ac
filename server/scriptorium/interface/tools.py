"""The six tools as a model sees them: names, arguments, descriptions.

Owns the signatures, from which the schemas are made. What a tool does is in the module that it
names, which is loaded with the first call: a client waits for the definitions when it starts.
"""

# ruff: noqa: PLC0415  see above

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from scriptorium.errors import Json
from scriptorium.interface import arguments, descriptions
from scriptorium.interface.arguments import Arg, Source
from scriptorium.interface.envelope import Answer

if TYPE_CHECKING:
    from scriptorium.interface.call import Call, Reading

_PATH = 4096
"""Characters of a path that are looked at."""
_DATE = "YYYY, YYYY-MM or YYYY-MM-DD"
_UNDER = Arg("only paths under it, e.g. `topics/work/`", most=_PATH)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as it is offered and run."""

    name: str
    title: str
    description: str
    run: Callable[..., Answer]
    parameters: tuple[arguments.Parameter, ...]
    writes: bool = False

    @property
    def schema(self) -> dict[str, Json]:
        return arguments.schema(self.parameters)


def memory_status(call: Reading) -> Answer:
    from scriptorium.interface import status

    return status.status(call)


def memory_list(
    call: Reading,
    *,
    prefix: Annotated[str, _UNDER] = "",
    include_derived: Annotated[bool, Arg("also list generated views")] = True,
    limit: Annotated[int, Arg(least=1, most=1000)] = 200,
    offset: Annotated[int, Arg("files to skip", least=0, most=10**9)] = 0,
) -> Answer:
    from scriptorium.interface import reading

    return reading.list_files(
        call, prefix=prefix, include_derived=include_derived, limit=limit, offset=offset
    )


def memory_read(
    call: Reading,
    *,
    path: Annotated[str, Arg("as listed", least=1, most=_PATH)],
    heading: Annotated[str | None, Arg("only the section under it", least=1, most=_PATH)] = None,
    block_id: Annotated[str | None, Arg("only this block", least=1, most=_PATH)] = None,
    offset: Annotated[int | None, Arg("first line, from 1", least=1, most=10**9)] = None,
    limit: Annotated[int | None, Arg("number of lines", least=1, most=10**9)] = None,
) -> Answer:
    from scriptorium.interface import reading

    return reading.read(
        call, path=path, heading=heading, block_id=block_id, offset=offset, limit=limit
    )


def memory_grep(
    call: Reading,
    *,
    query: Annotated[str, Arg(least=1, most=2000)],
    prefix: Annotated[str, _UNDER] = "",
    case_sensitive: Annotated[bool, Arg()] = False,
    literal: Annotated[bool, Arg("false: query is a Python regular expression")] = True,
    limit: Annotated[int, Arg(least=1, most=1000)] = 50,
) -> Answer:
    from scriptorium.interface import grep

    return grep.grep(
        call,
        query=query,
        prefix=prefix,
        case_sensitive=case_sensitive,
        literal=literal,
        limit=limit,
    )


def memory_search(
    call: Reading,
    *,
    query: Annotated[str, Arg("words to look for", most=200_000)],
    method: Annotated[
        Literal["bm25", "embedding", "hybrid"],
        Arg("the latter two need an embedding endpoint (memory_status)"),
    ] = "bm25",
    top_k: Annotated[int, Arg(least=1, most=50)] = 8,
    path_prefix: Annotated[str | None, _UNDER] = None,
    date_from: Annotated[str | None, Arg(f"when it held: {_DATE}", most=40)] = None,
    date_to: Annotated[str | None, Arg("inclusive", most=40)] = None,
) -> Answer:
    from scriptorium.interface import searching

    return searching.search(
        call,
        query=query,
        method=method,
        top_k=top_k,
        path_prefix=path_prefix,
        date_from=date_from,
        date_to=date_to,
    )


def memory_update(
    call: Call,
    *,
    base_revision: Annotated[str, Arg("`revision` of the answer you read", most=_PATH)],
    patch: Annotated[str, Arg("unified diff of topics/**/*.md and core.md")],
    sources: Annotated[tuple[Source, ...], Arg("the messages that the patch cites")] = (),
    commit_message: Annotated[str | None, Arg("one line", most=2000)] = None,
    layer: Annotated[str | None, Arg("layer to write; default: the first", most=200)] = None,
) -> Answer:
    from scriptorium.interface import updating

    return updating.update(
        call,
        base_revision=base_revision,
        patch=patch,
        sources=sources,
        commit_message=commit_message,
        layer=layer,
    )


def _tool(
    run: Callable[..., Answer], title: str, description: str, *, writes: bool = False
) -> Tool:
    return Tool(run.__name__, title, description, run, arguments.parameters(run), writes)


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool(memory_status, "Memory status", descriptions.STATUS),
        _tool(memory_list, "List memory files", descriptions.LIST),
        _tool(memory_read, "Read memory", descriptions.READ),
        _tool(memory_grep, "Find text in memory", descriptions.GREP),
        _tool(memory_search, "Search memory", descriptions.SEARCH),
        _tool(memory_update, "Write memory", descriptions.UPDATE, writes=True),
    )
}
