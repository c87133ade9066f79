"""Parts of a server for its calls and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.limit_guard import LimitGuard
from sharkpy.thrift.metrics import Metrics
from sharkpy.thrift.open_sessions import OpenSessions
from sharkpy.thrift.operation_runner import OperationRunner
from sharkpy.thrift.session_opener import SessionOpener

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext


@dataclass(frozen=True, slots=True)
class ServerParts:
    """Parts of a server, one of each. The server was made for `engine_session`, and does not end it."""

    engine_session: SharkContext
    config: ServerConfig
    metrics: Metrics
    guard: LimitGuard
    sessions: OpenSessions
    opener: SessionOpener
    runner: OperationRunner
