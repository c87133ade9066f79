"""Binary transports: calls on a plain socket, with a login by SASL PLAIN or without SASL (NOSASL).

SASL PLAIN (RFC 4616) is in thrift's negotiation messages. Frames follow: four bytes of length and a message. NOSASL
sends messages one after another, without frames and without a login.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from enum import IntEnum

from thrift.Thrift import TApplicationException

from sharkpy.thrift.auth import NEEDS_LOGIN
from sharkpy.thrift.auth.authenticators import AuthenticationError
from sharkpy.thrift.binary_protocol import exception_message
from sharkpy.thrift.transport.connection import Buffer, Connection, MessageTooLargeError, after
from sharkpy.thrift.transport.messages import Frame, Reply, UnframedMessages, answer_message
from sharkpy.thrift.transport.service import Client, Service

NEGOTIATION_BYTES = 16 << 10
"""Most bytes of one message before a client has logged in."""

_status_and_length = struct.Struct("!BI")
_length = struct.Struct("!I")


class NegotiationStatus(IntEnum):
    START = 1
    OK = 2
    BAD = 3
    ERROR = 4
    COMPLETE = 5


class _NegotiationError(Exception):
    """Message of a client that is not part of a negotiation of PLAIN."""


def refuse_sasl(connection: Connection, text: str, status: NegotiationStatus = NegotiationStatus.ERROR) -> None:
    """End the negotiation; clients show `text`."""
    _send(connection, status, text.encode())
    connection.linger()


def serve_sasl(connection: Connection, service: Service, deadline: float) -> None:
    """Log a client in before `deadline`, then serve its calls until it goes or the server stops."""
    try:
        user = _log_in(connection, service, deadline)
    except _NegotiationError as error:
        service.refused("protocol")
        refuse_sasl(connection, str(error), NegotiationStatus.BAD)
        return
    except AuthenticationError as error:
        service.refused("login")
        refuse_sasl(connection, error.message)
        return
    if too_many := service.admit(connection):
        refuse_sasl(connection, too_many)
        return
    _send(connection, NegotiationStatus.COMPLETE, b"")
    client = Client(user, connection.peer, "sasl", connection.number)
    try:
        with service.disconnects.watched(connection, client):
            _serve_frames(connection, service, client)
    finally:
        service.dispatcher.closed(client)


def _log_in(connection: Connection, service: Service, deadline: float) -> str:
    status, mechanism = _receive(connection, deadline)
    if status != NegotiationStatus.START:
        raise _NegotiationError("the negotiation does not begin with START")
    if mechanism != b"PLAIN":
        name = mechanism[:32].decode("ascii", "replace")
        raise _NegotiationError(f'no login with mechanism "{name}": the server knows only PLAIN')
    status, response = _receive(connection, deadline)
    if status == NegotiationStatus.OK and not response:
        _send(connection, NegotiationStatus.OK, b"")
        status, response = _receive(connection, deadline)
    if status not in (NegotiationStatus.OK, NegotiationStatus.COMPLETE):
        raise _NegotiationError("the client ended the negotiation")
    if response.count(0) != 2:
        raise _NegotiationError("the client's name and password are not in the form of PLAIN")
    acts_for, user, password = response.split(b"\0")
    if acts_for not in (b"", user):
        raise AuthenticationError("a user may not act for another one")
    return service.login.check(user, password, connection.host)


def _receive(connection: Connection, deadline: float) -> tuple[int, bytes]:
    status, size = _status_and_length.unpack(connection.read(_status_and_length.size, deadline))
    if size > NEGOTIATION_BYTES:
        raise _NegotiationError(f"a login of more than {NEGOTIATION_BYTES} bytes")
    return status, connection.read(size, deadline)


def _send(connection: Connection, status: NegotiationStatus, text: bytes) -> None:
    connection.send([_status_and_length.pack(status, len(text)) + text])


def _serve_frames(connection: Connection, service: Service, client: Client) -> None:
    def send(buffers: Sequence[Buffer]) -> None:
        connection.send([_length.pack(sum(len(buffer) for buffer in buffers)), *buffers])

    limits = service.config.limits
    deadline = after(limits.login_seconds)
    while True:
        connection.peek(deadline)
        deadline = after(limits.login_seconds)
        (size,) = _length.unpack(connection.read(_length.size, deadline))
        if size > limits.frame_bytes:
            service.refused("frame")
            text = str(MessageTooLargeError(limits.frame_bytes))
            send([exception_message(text, kind=TApplicationException.PROTOCOL_ERROR)])
            connection.linger()
            return
        frame = connection.read(size, deadline)
        deadline = math.inf
        if not size:
            continue
        if not connection.begin_call():
            return
        answer_message(service, client, Frame(frame), Reply(send))
        if not connection.end_call():
            return


def refuse_nosasl(connection: Connection, text: str) -> None:
    """Answer the first call, whatever it is, with an error."""
    connection.send([exception_message(text)])
    connection.linger()


def serve_nosasl(connection: Connection, service: Service, deadline: float) -> None:
    """Serve calls until the client goes or the server stops; the first one arrives before `deadline`."""
    if service.config.auth in NEEDS_LOGIN:
        service.refused("login")
        refuse_nosasl(connection, "this server wants a name and a password: connect with SASL PLAIN or over HTTP")
        return
    client = Client("", connection.peer, "nosasl", connection.number)
    limits = service.config.limits
    messages = UnframedMessages(connection, limits.frame_bytes, limits.login_seconds)
    try:
        with service.disconnects.watched(connection, client):
            while True:
                messages.begin_message(deadline)
                if too_many := service.admit(connection):
                    refuse_nosasl(connection, too_many)
                    return
                if not connection.begin_call():
                    return
                understood = answer_message(service, client, messages, Reply(connection.send))
                if not connection.end_call():
                    return
                if not understood:
                    connection.linger()
                    return
                deadline = math.inf
    finally:
        service.dispatcher.closed(client)
