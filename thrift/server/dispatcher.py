"""Dispatcher of calls: from a message to its call, and from the result to the bytes of the answer."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from thrift.Thrift import TApplicationException, TMessageType

from sharkpy.base.errors import ExecutionError
from sharkpy.thrift.calls import CALLS, Calls, RawFetch, failed_status
from sharkpy.thrift.pages import answer_page
from sharkpy.thrift.server_parts import ServerParts
from sharkpy.thrift.status import success
from sharkpy.thrift.wire.bindings import TGetQueryIdResp, arguments_of, result_of, ttypes
from sharkpy.thrift.wire.protocol import Protocol

if TYPE_CHECKING:
    from sharkpy.thrift.transport.client import Client, PageAnswer

_STRUCT, _BOOL, _STOP = 12, 2, b"\0"

_REQUIRED: dict[str, dict[str, Any]] = {
    "OpenSession": {"serverProtocolVersion": 0},
    "GetInfo": {"infoValue": ttypes.TGetInfoValue(stringValue="")},
    "GetLog": {"log": ""},
}
"""Fields that an answer must have in addition to its status, even the answer of an error."""


def _field(kind: int, number: int) -> bytes:
    return struct.pack(">bh", kind, number)


class CallDispatcher:
    """Dispatcher of messages. An error in a call becomes a status, an unknown call an exception of the protocol."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self._calls = Calls(parts)

    def process(self, request: Any, reply: Any, client: Client) -> None:
        """Answer one message, as `transport.client.Dispatcher` requires."""
        incoming, outgoing = Protocol(request), Protocol(reply)
        name, _, number = incoming.readMessageBegin()
        call = CALLS.get(name)
        start = time.perf_counter()
        if call is None:
            self._parts.metrics.call("unknown", 0.0)
            incoming.skip(_STRUCT)
            incoming.readMessageEnd()
            outgoing.writeMessageBegin(name, TMessageType.EXCEPTION, number)
            TApplicationException(TApplicationException.UNKNOWN_METHOD, f'there is no call "{name}"').write(outgoing)
            outgoing.writeMessageEnd()
            reply.flush()
            return
        arguments = arguments_of(name)()
        arguments.read(incoming)
        incoming.readMessageEnd()
        try:
            answer = call(self._calls, _checked(arguments.req), client)
        except Exception as error:  # noqa: BLE001 - the client gets it as a status
            answer = _failed(name, error)
        self._parts.metrics.call(name, time.perf_counter() - start)
        outgoing.writeMessageBegin(name, TMessageType.REPLY, number)
        if isinstance(answer, RawFetch):
            _write_fetch(outgoing, answer)
        else:
            result_of(name)(success=answer).write(outgoing)
        outgoing.writeMessageEnd()
        reply.flush()

    def vanished(self, client: Client) -> None:
        self._parts.runner.end_for(client)

    def closed(self, client: Client) -> None:
        for session in self._parts.sessions.of_connection(client):
            self._parts.sessions.close_session(session)

    def page(self, path: str, log_in: Callable[[], str]) -> PageAnswer:
        return answer_page(path, self._parts, log_in)


def _checked(request: Any) -> Any:
    if request is None:
        raise ExecutionError("the call has no request", sqlstate="08P01")
    return request


def _failed(name: str, error: Exception) -> Any:
    status = failed_status(error)
    if name == "GetQueryId":
        return TGetQueryIdResp(queryId="")
    response = result_of(name).thrift_spec[0][3][0]
    required = _REQUIRED.get(name, {})
    return response(status=status, **required)


def _write_fetch(protocol: Any, answer: RawFetch) -> None:
    """Write the result's struct around the bytes of the row set, without decoding and encoding these again."""
    write = protocol.trans.write
    write(_field(_STRUCT, 0) + _field(_STRUCT, 1))
    success().write(protocol)
    write(_field(_BOOL, 2) + (b"\1" if answer.has_more else b"\0") + _field(_STRUCT, 3))
    write(answer.row_set)
    write(_STOP + _STOP)
