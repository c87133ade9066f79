"""The web server: a port, a thread with an event loop, and its end."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Self

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.pages import OPERATIONS
from sharkpy.thrift.server import url_of
from sharkpy.thrift.transport.listener import bind, server_context
from sharkpy.web.log_tail import LogTail

if TYPE_CHECKING:
    import socket
    import ssl

    from sharkpy.thrift.auth import Login
    from sharkpy.thrift.server import HiveServer, ServerParts
    from sharkpy.web.event_loop import EventLoop
    from sharkpy.web.requests import Web

log = logging.getLogger(__name__)
_START_SECONDS = 30.0
_STOP_SECONDS = 3.0


class WebServer:
    """Web server over the parts and the login of a HiveServer2, which the caller still owns.

    1. `start` returns when the port is bound. The thread imports the rest, and answers the browsers that wait. Raise
       ConfigurationError if the port or the certificate cannot be used.
    2. `stop` ends requests, also streams of events, within seconds. Call it after `HiveServer.stop`, which drains:
       browsers see meanwhile that the server is stopping.
    """

    def __init__(self, parts: ServerParts, login: Login) -> None:
        self._parts = parts
        self._login = login
        self._log = LogTail()
        self._port: int | None = None
        self._thread: threading.Thread | None = None
        self._loop: EventLoop | None = None
        self._is_made = threading.Event()
        """Set if there is a loop, or an error instead."""
        self._is_stopping = False

    @property
    def port(self) -> int:
        if self._port is None:
            raise ConfigurationError("the web server has not been started")
        return self._port

    @property
    def url(self) -> str:
        """Address of the console."""
        return f"{url_of(self._parts.config, self.port)}/"

    @property
    def state(self) -> Web:
        """State of a started web server. Raise ConfigurationError if its thread has failed."""
        self._is_made.wait(_START_SECONDS)
        if self._loop is None:
            raise ConfigurationError("the web server did not start: the log has the reason")
        return self._loop.web

    def new_link(self, user: str) -> str:
        """Return a link that logs one browser in as `user`, once. The authentication must be by links."""
        return f"{self.url}open?token={self.state.links.add(user)}"

    def start(self) -> Self:
        config = self._parts.config
        tls = server_context(config)
        listening = bind(config.host, config.web_port)
        self._port = int(listening.getsockname()[1])
        logging.getLogger().addHandler(self._log)
        work = partial(self._run, listening, tls)
        self._thread = threading.Thread(target=work, name="sharkpy-web", daemon=True)
        self._thread.start()
        log.info("the console is at %s", self.url)
        return self

    def _run(self, listening: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Serve in this thread until `stop` is called."""
        try:
            # The imports take longer than all else: no start of a server waits for them.
            from sharkpy.web.event_loop import EventLoop
            from sharkpy.web.requests import Web

            with listening:
                self._loop = EventLoop(Web(self._parts, self._login, self._log), tls)
                self._is_made.set()
                if not self._is_stopping:
                    self._loop.run(listening)
        except Exception:
            log.exception("the web server ended by an error")
        finally:
            self._is_made.set()

    def stop(self) -> None:
        """Idempotent."""
        self._is_stopping = True
        logging.getLogger().removeHandler(self._log)
        if self._loop is not None:
            self._loop.end()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
            if self._thread.is_alive():
                log.warning("the web server's thread did not end in time")
            self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextlib.contextmanager
def serving(server: HiveServer) -> Iterator[WebServer]:
    """Start a server and the web server over it, and stop both at the end of the context."""
    web = WebServer(server.parts, server.login)
    server.start()
    try:
        web.start()
        server.parts.runner.pages_url = f"{web.url.removesuffix('/')}{OPERATIONS}"
        yield web
    finally:
        server.stop(drain=False)
        web.stop()
