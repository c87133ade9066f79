"""Service of a port, which all connections share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sharkpy.thrift.auth.login import Login
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.transport.client import Dispatcher
from sharkpy.thrift.transport.connection import Connection
from sharkpy.thrift.transport.departures import Departures

Refusal = Literal[
    "connections", "connections_per_address", "login", "tls", "protocol", "frame", "timeout", "call", "http"
]
"""Reasons to refuse a client; each is the label of a counter."""


@dataclass(frozen=True, slots=True)
class Service:
    """Service of a port.

    `admit` is called with a connection after its client's login, if one is needed, and before a call is answered. It
    returns the reason of a refusal, or "".
    """

    config: ServerConfig
    dispatcher: Dispatcher
    login: Login
    refused: Callable[[Refusal], None]
    departures: Departures
    admit: Callable[[Connection], str]
