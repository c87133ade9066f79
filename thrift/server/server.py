"""HiveServer2: its parts, its port and its shutdown."""

from __future__ import annotations

import logging
import socket
import threading
import time
from typing import TYPE_CHECKING, Self

from sharkpy.base.errors import CancelledError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import PROCESS_MEMORY
from sharkpy.execution.memory_watch import MemoryWatch
from sharkpy.thrift.admission import STOPPING, AdmissionControl
from sharkpy.thrift.auth import NEEDS_LOGIN, Login
from sharkpy.thrift.calls import CallDispatcher
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.guard import Heartbeat
from sharkpy.thrift.metrics import Metrics, StateCollector, StreamCollector
from sharkpy.thrift.operation_runner import OperationRunner
from sharkpy.thrift.pages import OPERATIONS
from sharkpy.thrift.sessions import IdleCloser, OpenSessions, SessionOpener
from sharkpy.thrift.transport import Listener

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.thrift.guard import StatementBoard

log = logging.getLogger(__name__)
_EVERYWHERE = ("0.0.0.0", "::", "")
_LOOK_SECONDS = 0.05
_ANSWER_SECONDS = 2.0
"""Time for sending the last answers, once nothing runs any more."""


class HiveServer:
    """Server of the tables of `session`, which the caller still owns. With port -1, only a web server serves them.

    `start` returns when clients can connect. `stop` accepts no new work, gives running operations `drain_seconds`,
    cancels the rest and closes all sessions. Raise ConfigurationError if the server cannot listen.
    """

    def __init__(
        self, session: SharkContext, config: ServerConfig | None = None, board: StatementBoard | None = None
    ) -> None:
        """`board`: board on which threads note their statements for the guard."""
        self.config = config or ServerConfig()
        self.heartbeat = Heartbeat(session.all_statements)
        self._memory = MemoryWatch(session.conf.value(PROCESS_MEMORY), session.all_statements)
        self.parts = _parts(session, self.config, self._memory, self.heartbeat, board)
        self._forget_kill = session.kill_first(self.parts.sessions.kill)
        self._idle_closer = IdleCloser(self.config.limits, self.parts.metrics, self.parts.sessions)
        self._listener = Listener(self.config, CallDispatcher(self.parts), self.parts.metrics.refuse)
        self._lock = threading.Lock()
        self._is_stopped = False
        self._hurry = threading.Event()

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def login(self) -> Login:
        return self._listener.login

    def start(self) -> Self:
        try:
            self._memory.start()
            self.heartbeat.start()
            if self.config.port >= 0:
                self._listener.start()
                self.parts.runner.pages_url = f"{url_of(self.config, self.port)}{OPERATIONS}"
                log.info("listening on %s:%d", self.config.host, self.port)
        except BaseException:
            self._close()
            raise
        return self

    def hurry(self) -> None:
        """End the wait of `stop` for running operations."""
        self._hurry.set()

    def stop(self, *, drain: bool = True) -> None:
        """End the server.

        Idempotent. While running operations end, clients may still connect. They get the error that the server is
        stopping.
        """
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
        seconds = self.config.limits.drain_seconds if drain else 0.0
        left = self._drain(seconds)
        if left and drain:
            log.warning("%d operations were cancelled: they did not end in time", left)
        self._listener.stop(drain=drain, seconds=_ANSWER_SECONDS)
        self._close()

    def _drain(self, seconds: float) -> int:
        """Refuse new work, wait for running operations, and return how many of them had to be cancelled."""
        self.parts.admission.is_draining = True
        end = time.monotonic() + seconds
        while left := [one for one in self.parts.sessions.operations() if one.is_awaited]:
            if self._hurry.is_set() or time.monotonic() >= end:
                break
            time.sleep(_LOOK_SECONDS)
        for operation in left:
            operation.cancel(CancelledError(STOPPING, hint="connect again later", sqlstate="57P01"))
        return len(left)

    def _close(self) -> None:
        """Cancel what runs and close all sessions."""
        self.parts.admission.is_draining = True
        self._idle_closer.close()
        self.parts.sessions.close()
        self._forget_kill()
        self.parts.runner.close()
        self._memory.close()
        self.heartbeat.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(drain=False)


def _parts(
    session: SharkContext, config: ServerConfig, memory: MemoryWatch, heartbeat: Heartbeat, board: StatementBoard | None
) -> ServerParts:
    metrics = Metrics()
    admission = AdmissionControl(config.limits, metrics)
    sessions = OpenSessions(admission, knows_users=config.auth in NEEDS_LOGIN)
    opener = SessionOpener(session, config, metrics, admission, sessions)
    runner = OperationRunner(config.limits, metrics, admission, sessions, board)
    metrics.register(StateCollector(session, sessions, memory, heartbeat))
    metrics.register(StreamCollector(session))
    return ServerParts(session, config, metrics, admission, sessions, opener, runner, memory)


def url_of(config: ServerConfig, port: int) -> str:
    """Return the URL of a port of the server, as browsers reach it."""
    host = socket.gethostname() if config.host in _EVERYWHERE else config.host
    return f"{'https' if config.tls_cert else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


@dataclass(frozen=True, slots=True)
class ServerParts:
    """Parts of a server, one of each. The server was made for `engine_session`, and does not end it."""

    engine_session: SharkContext
    config: ServerConfig
    metrics: Metrics
    admission: AdmissionControl
    sessions: OpenSessions
    opener: SessionOpener
    runner: OperationRunner
    memory: MemoryWatch
