"""The web server: a port, a thread with an event loop, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Self

import uvicorn

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.pages import OPERATIONS
from sharkpy.thrift.server import url_of
from sharkpy.thrift.transport.http_transport import HEAD_BYTES
from sharkpy.thrift.transport.listener import bind, server_context
from sharkpy.web.app import make_app
from sharkpy.web.connections import KEEP_ALIVE_SECONDS, WebConnection, watch
from sharkpy.web.requests import Web

if TYPE_CHECKING:
    import socket

    from sharkpy.thrift.auth import Login
    from sharkpy.thrift.server import HiveServer, ServerParts
    from sharkpy.web.events import Events

log = logging.getLogger(__name__)
_START_SECONDS = 30.0
_END_SECONDS = 1
"""Seconds that requests have to end once the server stops."""
_CUT_OFF_SECONDS = 2.0


class WebServer:
    """Web server over the parts and the login of a HiveServer2, which the caller still owns.

    1. `start` returns when browsers can connect. Raise ConfigurationError if the port cannot be used.
    2. `stop` ends requests, also streams of events, within seconds. Call it after `HiveServer.stop`, which drains:
       browsers see meanwhile that the server is stopping.
    """

    def __init__(self, parts: ServerParts, login: Login) -> None:
        self._web = Web(parts, login)
        self._port: int | None = None
        self._thread: threading.Thread | None = None
        self._uvicorn: uvicorn.Server | None = None

    @property
    def port(self) -> int:
        if self._port is None:
            raise ConfigurationError("the web server has not been started")
        return self._port

    @property
    def events(self) -> Events:
        return self._web.events

    @property
    def url(self) -> str:
        """Address of the console."""
        return f"{url_of(self._web.config, self.port)}/"

    def new_link(self, user: str) -> str:
        """Return a link that logs one browser in as `user`, once. The authentication must be by links."""
        return f"{self.url}open?token={self._web.links.add(user)}"

    def start(self) -> Self:
        config = self._web.config
        listening = bind(config.host, config.web_port)
        self._port = int(listening.getsockname()[1])
        self._uvicorn = _uvicorn(self._web)
        logging.getLogger().addHandler(self._web.log)
        started: list[BaseException | None] = []
        is_known = threading.Event()

        def tell(error: BaseException | None) -> None:
            started.append(error)
            is_known.set()

        run = partial(_run, self._uvicorn, self._web, listening, tell)
        self._thread = threading.Thread(target=run, name="sharkpy-web", daemon=True)
        self._thread.start()
        if not is_known.wait(_START_SECONDS) or started[0] is not None:
            self.stop()
            raise ConfigurationError("the web server did not start") from (started[0] if started else None)
        log.info("the console is at %s", self.url)
        return self

    def stop(self) -> None:
        """Idempotent."""
        self._web.stopping.set()
        logging.getLogger().removeHandler(self._web.log)
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(_END_SECONDS + _CUT_OFF_SECONDS)
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


def _uvicorn(web: Web) -> uvicorn.Server:
    # Clients cause warnings as they like: only errors of the server itself are logged.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    tls = server_context(web.config)
    protocol = partial(WebConnection, limits=web.config.limits, refused=web.parts.metrics.refuse)
    return uvicorn.Server(
        uvicorn.Config(
            make_app(web),
            loop="asyncio",
            http=protocol,  # type: ignore[arg-type]  # called like the class
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_END_SECONDS,
            h11_max_incomplete_event_size=HEAD_BYTES,
            ssl_context_factory=None if tls is None else lambda *_: tls,
        )
    )


def _run(
    server: uvicorn.Server, web: Web, listening: socket.socket, tell: Callable[[BaseException | None], None]
) -> None:
    """Serve in this thread until the server should exit. `tell` is called once, with an error of the start or None."""

    async def serve() -> None:
        with listening:
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started and not serving.done():
                await asyncio.sleep(0.005)
            tell(serving.exception() if serving.done() else None)
            looks = watch(server.server_state.connections), web.samples.run(web.in_thread)
            tasks = [asyncio.create_task(one) for one in looks]
            try:
                await serving
            finally:
                for task in tasks:
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await task

    try:
        asyncio.run(serve())
    except Exception:
        log.exception("the web server ended by an error")
