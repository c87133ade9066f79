"""Web servers over an engine, and browsers of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

import sharkpy
from sharkpy.thrift.auth.password_file import set_password
from sharkpy.thrift.config import Limits, ServerConfig
from sharkpy.thrift.server import HiveServer
from sharkpy.web.server import WebServer

USERS = ("ada", "bob", "root")

Serve = Callable[..., "Served"]


class Served:
    """A HiveServer2 and the web server over it."""

    def __init__(self, server: HiveServer, web: WebServer) -> None:
        self.server = server
        self.web = web
        self.address = f"http://127.0.0.1:{web.port}"

    @contextlib.contextmanager
    def browser(self, user: str = "", **options: Any) -> Iterator[httpx.Client]:
        """A client; with a user, it has logged in and sends the login's token."""
        with httpx.Client(base_url=self.address, timeout=30, **options) as client:
            if user:
                answer = client.post("/api/v1/login", json={"user": user, "password": f"secret {user}"})
                assert answer.status_code == 200, answer.text
                client.headers["X-CSRF-Token"] = answer.json()["csrf_token"]
            yield client


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    settings = {"shark.history.saved": "true"}
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("web") / "w", **settings) as session:
        yield session


@pytest.fixture(scope="module")
def passwords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passwords") / "passwords"
    for user in USERS:
        set_password(path, user, f"secret {user}")
    return path


@pytest.fixture
def serve(engine: sharkpy.SharkContext, passwords: Path) -> Iterator[Serve]:
    """`serve(knows_users=True, web_logins=…)`: a server with these settings of ServerConfig and Limits."""
    with contextlib.ExitStack() as stack:

        def start(*, knows_users: bool = False, **settings: Any) -> Served:
            if knows_users:
                settings |= {"auth": "password", "password_file": passwords, "admins": ("root",)}
            names = Limits.__slots__
            limits = replace(Limits(), **{name: settings.pop(name) for name in names if name in settings})
            config = ServerConfig(**{"port": 0, "web_port": 0, "limits": limits, **settings})
            server = stack.enter_context(HiveServer(engine, config))
            return Served(server, stack.enter_context(WebServer(server.parts, server.login)))

        yield start
