"""NOSASL: messages one after another on a plain socket, without frames and without a login."""

from __future__ import annotations

import math

from sharkpy.thrift.auth import NEEDS_LOGIN
from sharkpy.thrift.transport.buffers import Reply, UnframedMessages
from sharkpy.thrift.transport.client import Client
from sharkpy.thrift.transport.connection import Connection
from sharkpy.thrift.transport.message_answer import answer
from sharkpy.thrift.transport.service import Service
from sharkpy.thrift.wire.protocol import exception_message


def refuse(connection: Connection, text: str) -> None:
    """Answer the first call, whatever it is, with an error."""
    connection.send([exception_message(text)])
    connection.linger()


def serve(connection: Connection, service: Service, deadline: float) -> None:
    """Serve calls until the client goes or the server stops; the first one arrives before `deadline`."""
    if service.config.auth in NEEDS_LOGIN:
        service.refused("login")
        refuse(connection, "this server wants a name and a password: connect with SASL PLAIN or over HTTP")
        return
    client = Client("", connection.peer, "nosasl", connection.number)
    limits = service.config.limits
    messages = UnframedMessages(connection, limits.frame_bytes, limits.login_seconds)
    try:
        with service.departures.watched(connection, client):
            while True:
                messages.begin_message(deadline)
                if too_many := service.admit(connection):
                    refuse(connection, too_many)
                    return
                if not connection.begin_call():
                    return
                understood = answer(service, client, messages, Reply(connection.send))
                if not connection.end_call():
                    return
                if not understood:
                    connection.linger()
                    return
                deadline = math.inf
    finally:
        service.dispatcher.closed(client)
