"""The client's messages, also those that the protocol's library gives up on.

The library drops a line that is no message of the protocol, and with it a request whose sender
then waits for ever. Promises that a request with an id is answered wherever the id can be read:
by the tool, which names the argument, where a text is no valid Unicode; else by an error. Must not
judge a message that the library understands.
"""

from __future__ import annotations

import json
from contextlib import suppress
from types import TracebackType
from typing import Self

import anyio
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError


class Requests:
    """The stream of messages that a server reads, around the one of the transport."""

    def __init__(
        self, read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage]
    ) -> None:
        self._read = read
        self._write = write

    async def receive(self) -> SessionMessage | Exception:
        """The next message; an exception for a line that is none. Raises EndOfStream."""
        while True:
            item = await self._read.receive()
            message = read_again(item) if isinstance(item, ValidationError) else None
            if message is None:
                return item
            if not isinstance(message, JSONRPCError):
                return SessionMessage(message)
            await self._write.send(SessionMessage(message))

    async def aclose(self) -> None:
        await self._read.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def read_again(error: ValidationError) -> JSONRPCMessage | None:
    """The message of a line that the library refused with `error`.

    An error to send back for a request that is malformed; None for what has no id or is no JSON.
    """
    value = _value(error)
    if not isinstance(value, dict) or "method" not in value or not _is_id(value.get("id")):
        return None
    if value["method"] == "tools/call":  # of other requests, parts come back in the answer
        with suppress(ValidationError):
            return jsonrpc_message_adapter.validate_python(value, by_name=False)
    refusal = ErrorData(code=INVALID_REQUEST, message="Not a request of JSON-RPC 2.0")
    return JSONRPCError(jsonrpc="2.0", id=value["id"], error=refusal)


def _is_id(value: object) -> bool:
    return type(value) is int or (isinstance(value, str) and value.isascii())


def _value(error: ValidationError) -> object:
    """What the refused line says, as JSON; None where it is none."""
    problems = error.errors(include_url=False, include_context=False)
    if problems[0]["type"] != "json_invalid":
        # The line was JSON, and some problem is one of the message as a whole.
        whole = (problem["input"] for problem in problems)
        return next((it for it in whole if isinstance(it, dict) and "jsonrpc" in it), None)
    try:
        # Unlike the library's own parser, `json` accepts lone surrogates, as a client writes them
        # that cuts a text in the middle of an emoji.
        return json.loads(problems[0]["input"])
    except (ValueError, RecursionError):
        return None
