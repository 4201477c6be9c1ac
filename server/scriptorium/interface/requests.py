"""The client's requests: each one whose id can be read is answered.

The protocol's library leaves two kinds without an answer, and their sender waiting for ever. A line
that is no message of the protocol is dropped: here a text that is no valid Unicode reaches the
tool, which names the argument, and any other such request gets an error. What is still at work at
the end of input is cancelled: here the end is passed on when the last answer is out. Must not judge
a message that the library understands.
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
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

type _Read = ReadStream[SessionMessage | Exception]
type _Write = WriteStream[SessionMessage]

_CANCELLED = "notifications/cancelled"


def streams(read: _Read, write: _Write) -> tuple[_Read, _Write]:
    """The transport's two streams, such that every request is answered."""
    unanswered = _Unanswered()
    answers = _Answers(write, unanswered)
    return _Requests(read, answers, unanswered), answers


class _Unanswered:
    """The ids of the requests that were read and have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._changed = anyio.Event()

    def read(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._ids.add(str(message.id))
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            self._settle((message.params or {}).get("requestId"))  # it never gets an answer

    def written(self, message: JSONRPCMessage) -> None:
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._settle(message.id)

    async def none(self) -> None:
        """Returns when every request is answered."""
        while self._ids:
            await self._changed.wait()

    def _settle(self, request: object) -> None:
        self._ids.discard(str(request))
        self._changed.set()
        self._changed = anyio.Event()


class _Stream[S: _Read | _Write]:
    """A stream of the transport, closed at the end of a block."""

    def __init__(self, stream: S, unanswered: _Unanswered) -> None:
        self._stream: S = stream
        self._unanswered = unanswered

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _Answers(_Stream[_Write]):
    """The messages that a server writes."""

    async def send(self, item: SessionMessage) -> None:
        try:
            await self._stream.send(item)
        finally:  # a client that is gone is not waited for
            self._unanswered.written(item.message)


class _Requests(_Stream[_Read]):
    """The messages that a server reads."""

    def __init__(self, stream: _Read, answers: _Answers, unanswered: _Unanswered) -> None:
        super().__init__(stream, unanswered)
        self._answers = answers

    async def receive(self) -> SessionMessage | Exception:
        """The next message; an exception for a line that is none.

        Raises EndOfStream, once everything is answered.
        """
        while True:
            item = await self._received()
            message = _read_again(item) if isinstance(item, ValidationError) else None
            if isinstance(message, JSONRPCError):
                await self._answers.send(SessionMessage(message))
                continue
            item = item if message is None else SessionMessage(message)
            if isinstance(item, SessionMessage):
                self._unanswered.read(item.message)
            return item

    async def _received(self) -> SessionMessage | Exception:
        try:
            return await self._stream.receive()
        except anyio.EndOfStream:
            await self._unanswered.none()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


def _read_again(error: ValidationError) -> JSONRPCMessage | None:
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
