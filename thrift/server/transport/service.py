"""Service of a port, with the client and the dispatcher of its calls.

`Client` and `Dispatcher` are all that the rest of the server sees of a connection.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sharkpy.base.records import dataclass
from sharkpy.thrift.auth.login import Login
from sharkpy.thrift.auth.login_throttle import address_of
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.transport.connection import Connection

if TYPE_CHECKING:
    from sharkpy.thrift.transport.connection_watch import DisconnectWatch

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
    disconnects: DisconnectWatch
    admit: Callable[[Connection], str]


TransportName = Literal["sasl", "nosasl", "http"]


@dataclass(frozen=True, slots=True)
class Client:
    """Caller: one binary connection, or one request over HTTP.

    `user` is the name of the login. It is "" over NOSASL, and over HTTP without a name if the server requires no login.
    """

    user: str
    peer: str
    """The client's address, host:port."""
    transport: TransportName
    connection: int
    """Number of the connection, from 1; requests of one HTTP connection share it."""

    @property
    def address(self) -> str:
        """Address that limits count."""
        return address_of(self.peer.rpartition(":")[0])


@dataclass(frozen=True, slots=True)
class PageAnswer:
    status: HTTPStatus
    content_type: str
    body: bytes


class Dispatcher(Protocol):
    """Protocol of the object that answers calls; every method may be called from many threads at once."""

    def process(self, request: Any, reply: Any, client: Client) -> None:
        """Read one message from the thrift transport `request`, write its answer to `reply`, and flush `reply` once.

        Buffers written to `reply` are sent as they are: they must not change before `flush` returns. An exception
        reaches the client as an exception of the protocol. Over NOSASL, it also ends the connection, since nothing
        marks the next message.
        """

    def vanished(self, client: Client) -> None:
        """Note that the connection of `client` has ended during its call; may be called more than once."""

    def closed(self, client: Client) -> None:
        """Note that the binary connection of `client` has ended; called once for each, never for HTTP."""

    def page(self, path: str, log_in: Callable[[], str]) -> PageAnswer:
        """Answer a GET of `path`, without its query.

        Pages that are not public call `log_in`. It returns the reader's name, and raises if the reader must log in but
        did not.
        """
