"""Request for a page, and the content that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sharkpy.thrift.server_parts import ServerParts


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Request for a page: the server's parts, the `{name}` in its path, and the user who asks.

    `user` is "" if the page needs no login, or if the server requires no login.
    """

    parts: ServerParts
    name: str
    user: str


@dataclass(frozen=True, slots=True)
class PageContent:
    """Body of a page, and its HTTP status."""

    body: bytes
    status: HTTPStatus = HTTPStatus.OK
