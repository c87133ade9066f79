"""Servers for clients as people install them, over one warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.thrift.auth.password_file import set_password
from sharkpy.thrift.config import ServerConfig
from tests.thrift.clients.served import SETUP, Served, serving


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("clients") / "w") as session:
        session.sql(SETUP)
        yield session


@pytest.fixture(scope="session")
def served(warehouse: sharkpy.SharkContext) -> Iterator[Served]:
    """Lets anyone in."""
    with serving(warehouse, ServerConfig(port=0)) as one:
        yield one


@pytest.fixture(scope="session")
def port(served: Served) -> int:
    return served.port


@pytest.fixture(scope="session")
def locked(warehouse: sharkpy.SharkContext, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Lets ada in, with the password "analytical"."""
    path: Path = tmp_path_factory.mktemp("auth") / "passwords"
    set_password(path, "ada", "analytical")
    with serving(warehouse, ServerConfig(port=0, auth="password", password_file=path)) as one:
        yield one
