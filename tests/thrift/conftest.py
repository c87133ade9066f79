"""An engine with a table of numbers, and servers over it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import sharkpy
from sharkpy.thrift.config import Limits, ServerConfig
from sharkpy.thrift.server import HiveServer
from tests.thrift.caller import Caller

NUMBERS = 100_000
MAKE_NUMBERS = (
    "CREATE TABLE numbers AS SELECT cast(pos AS BIGINT) AS n, concat('row ', pos) AS s "
    f"FROM (SELECT posexplode(split(space({NUMBERS - 1}), ' ')) AS (pos, x)) one"
)
LONG_QUERY = "SELECT count(*) FROM numbers a CROSS JOIN numbers b WHERE a.n * b.n % 7 = 3"
"""Minutes of work."""

Serve = Callable[..., HiveServer]


@pytest.fixture(autouse=True)
def callers_close() -> Iterator[None]:
    yield
    while Caller.made:
        with contextlib.suppress(Exception):
            Caller.made.pop().transport.close()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("core") / "w") as session:
        session.sql(MAKE_NUMBERS).close()
        yield session


@pytest.fixture
def serve(engine: sharkpy.SharkContext) -> Iterator[Serve]:
    """`serve(auth=..., sessions=...)`: a server with these settings of ServerConfig and Limits."""
    with contextlib.ExitStack() as stack:

        def start(**settings: Any) -> HiveServer:
            names = Limits.__slots__
            limits = replace(Limits(), **{name: settings.pop(name) for name in names if name in settings})
            return stack.enter_context(HiveServer(engine, ServerConfig(port=0, limits=limits, **settings)))

        yield start
