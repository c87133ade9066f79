"""The server: its sessions, its port, and how it ends."""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Self

from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.dispatcher import CallDispatcher
from sharkpy.thrift.open_sessions import OpenSessions
from sharkpy.thrift.transport import Listener

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

log = logging.getLogger(__name__)
_EVERYWHERE = ("0.0.0.0", "::", "")
_ANSWER_SECONDS = 5.0
"""For answers on their way, once nothing runs any more."""


class HiveServer:
    """Serves the tables of `context`, which stays the caller's.

    `start` returns once clients can connect; `stop` begins nothing new, gives what runs `drain_seconds`, cancels the
    rest and closes all sessions. ConfigurationError where it cannot listen.
    """

    def __init__(self, context: SharkContext, config: ServerConfig | None = None) -> None:
        self.config = config or ServerConfig()
        self.sessions = OpenSessions(context, self.config)
        self._listener = Listener(self.config, CallDispatcher(self.sessions), self.sessions.metrics.refuse)
        self._lock = threading.Lock()
        self._is_stopped = False
        self._hurry = threading.Event()

    @property
    def port(self) -> int:
        return self._listener.port

    def start(self) -> Self:
        try:
            self._listener.start()
        except BaseException:
            self.sessions.close()
            raise
        self.sessions.address = _address(self.config, self.port)
        log.info("listening on %s:%d", self.config.host, self.port)
        return self

    def hurry(self) -> None:
        """Let a `stop` that waits for what runs wait no longer."""
        self._hurry.set()

    def stop(self, *, drain: bool = True) -> None:
        """Idempotent. While what runs ends, clients may still connect: they are told that the server stops."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
        seconds = self.config.limits.drain_seconds if drain else 0.0
        left = self.sessions.drain(seconds, self._hurry.is_set)
        if left and drain:
            log.warning("%d operations were cancelled: they did not end in time", left)
        self._listener.stop(drain=drain, seconds=_ANSWER_SECONDS)
        self.sessions.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop(drain=False)


def _address(config: ServerConfig, port: int) -> str:
    host = socket.gethostname() if config.host in _EVERYWHERE else config.host
    return f"{'https' if config.tls_cert else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
