"""Servers of this package for the client to talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.thrift.config import ServerConfig
from sharkpy.web.server import WebServer
from tests.thrift.clients.served import EVERY, FULL_ROW, NAMES, Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    setup = f"""
        CREATE TABLE every ({EVERY});
        INSERT INTO every SELECT {FULL_ROW};
        INSERT INTO every VALUES ({", ".join(["NULL"] * len(NAMES))});
        CREATE TABLE numbers AS SELECT cast(pos AS BIGINT) AS n, concat('row ', pos) AS s
            FROM (SELECT posexplode(split(space(29999), ' ')) AS (pos, x)) one;
        CREATE DATABASE other; CREATE TABLE other.elsewhere AS SELECT 7 AS x
    """
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("client") / "w") as session:
        session.sql(setup)
        with serving(session, ServerConfig(port=0, web_port=0)) as one:
            yield one


@pytest.fixture(scope="session")
def locked(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Lets ada in, with the password "analytical"."""
    from sharkpy.thrift.auth.password_file import set_password

    path: Path = tmp_path_factory.mktemp("auth") / "passwords"
    set_password(path, "ada", "analytical")
    with serving(served.session, ServerConfig(port=0, web_port=0, auth="password", password_file=path)) as one:
        yield one


@pytest.fixture(scope="session")
def web(served: Served) -> Iterator[WebServer]:
    with WebServer(served.server.parts, served.server.login) as one:
        yield one


@pytest.fixture(scope="session")
def locked_web(locked: Served) -> Iterator[WebServer]:
    with WebServer(locked.server.parts, locked.server.login) as one:
        yield one
