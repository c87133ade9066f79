"""Event loop of the web server, which runs in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from sharkpy.thrift.transport.http_transport import HEAD_BYTES
from sharkpy.web.app import make_app
from sharkpy.web.connections import KEEP_ALIVE_SECONDS, WebConnection, watch

if TYPE_CHECKING:
    import socket
    import ssl

    from sharkpy.web.requests import Web

END_SECONDS = 1
"""Seconds that requests have to end once the server stops."""


class EventLoop:
    """Server of HTTP over the state of a web server. `end` may be called by any thread, also before `run`."""

    def __init__(self, web: Web, tls: ssl.SSLContext | None) -> None:
        self.web = web
        self._server = _server(web, tls)

    def run(self, listening: socket.socket) -> None:
        """Serve the clients of a port until `end` is called."""
        asyncio.run(self._serve(listening))

    def end(self) -> None:
        """End requests, also streams of events."""
        self.web.stopping.set()
        self._server.should_exit = True

    async def _serve(self, listening: socket.socket) -> None:
        serving = asyncio.create_task(self._server.serve(sockets=[listening]))
        # The connections are known once it has started.
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.005)
        looks = watch(self._server.server_state.connections), self.web.samples.run(self.web.in_thread)
        tasks = [asyncio.create_task(one) for one in looks]
        try:
            await serving
        finally:
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task


def _server(web: Web, tls: ssl.SSLContext | None) -> uvicorn.Server:
    # Clients cause warnings as they like: only errors of the server itself are logged.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
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
            timeout_graceful_shutdown=END_SECONDS,
            h11_max_incomplete_event_size=HEAD_BYTES,
            ssl_context_factory=None if tls is None else lambda *_: tls,
        )
    )
