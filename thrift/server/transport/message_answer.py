"""One call: passes a message to the dispatcher, and its answer to the client."""

from __future__ import annotations

import logging
from typing import Any

from thrift.Thrift import TApplicationException, TException

from sharkpy.thrift.transport.buffers import Reply
from sharkpy.thrift.transport.client import Client
from sharkpy.thrift.transport.service import Service
from sharkpy.thrift.wire.protocol import exception_message

_log = logging.getLogger(__name__)

UNREADABLE = (TException, EOFError, OSError, ValueError, OverflowError, TypeError)
"""Errors of the codec for bytes that do not form a message, and of the socket for bytes that do not arrive."""


def answer(service: Service, client: Client, request: Any, reply: Reply) -> bool:
    """Have a message answered. Return False if that failed: without frames, the next message cannot be found."""
    try:
        service.dispatcher.process(request, reply, client)
        reply.flush()
    except Exception as error:  # noqa: BLE001 - an error of the codec on forged bytes ends only this call
        service.refused("call")
        known = isinstance(error, UNREADABLE)
        _log.info("%s: a call could not be answered: %r", client.peer, error, exc_info=not known)
        if not reply.is_sent:
            kind = TApplicationException.PROTOCOL_ERROR if known else TApplicationException.INTERNAL_ERROR
            reply.replace(
                exception_message(f"the request could not be read: {str(error) or 'it ends too early'}", kind=kind)
            )
        return False
    return True
