"""Service behind a port, which all connections share."""

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
"""Reasons to refuse a client: the label of a counter."""


@dataclass(frozen=True, slots=True)
class Service:
    """`admit` is called with a connection whose client has logged in, before it is answered: it says why not, or ""."""

    config: ServerConfig
    dispatcher: Dispatcher
    login: Login
    refused: Callable[[Refusal], None]
    departures: Departures
    admit: Callable[[Connection], str]
