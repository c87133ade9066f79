"""A connection to a small warehouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sharkpy import dbapi


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[dbapi.Connection]:
    with dbapi.connect(tmp_path / "w", "local[2]") as opened:
        yield opened


@pytest.fixture
def cursor(connection: dbapi.Connection) -> dbapi.Cursor:
    return connection.cursor()
