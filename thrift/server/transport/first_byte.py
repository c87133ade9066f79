"""Transports by the first byte that a client sends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sharkpy.thrift.transport import http, nosasl, sasl
from sharkpy.thrift.transport.connection import Connection
from sharkpy.thrift.transport.service import Service


@dataclass(frozen=True, slots=True)
class Speaker:
    """Transport: how it serves a connection, and how it refuses a client."""

    serve: Callable[[Connection, Service, float], None]
    refuse: Callable[[Connection, str], None]


SPEAKERS: dict[int, Speaker] = {
    0x01: Speaker(sasl.serve, sasl.refuse),  # START
    0x80: Speaker(nosasl.serve, nosasl.refuse),  # a strict message header
    0x00: Speaker(nosasl.serve, nosasl.refuse),  # an old message header: the length of the call's name
    **dict.fromkeys(range(ord("A"), ord("Z") + 1), Speaker(http.serve, http.refuse)),
}
