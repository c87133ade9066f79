"""A server over tables of every type, views, and queries that take long."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import sharkpy
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.server import HiveServer
from tests.waiting import PATIENCE

EVERY = (
    "b BOOLEAN, ti TINYINT, si SMALLINT, i INT, bi BIGINT, f FLOAT, d DOUBLE, s STRING, vc VARCHAR(10), c CHAR(4), "
    "bin BINARY, dt DATE, ts TIMESTAMP, de DECIMAL(12,3), a ARRAY<INT>, m MAP<STRING,INT>, st STRUCT<x:INT,y:STRING>"
)
NAMES = [column.split()[0] for column in EVERY.split(", ")]
FULL_ROW = (
    "true, 127Y, -32767S, 2147483647, -9223372036854775807, cast(1.5 AS FLOAT), 0.1D, 'grün 🦈', 'varchar', 'ch', "
    "binary('bytes'), DATE '2024-02-29', TIMESTAMP '2024-02-29 12:34:56.789012', 123456789.125, array(1, 2, NULL), "
    "map('k', 1), named_struct('x', 1, 'y', 'z')"
)
ROWS = 300_000
SETUP = f"""
    CREATE TABLE every ({EVERY}) COMMENT 'all types';
    INSERT INTO every SELECT {FULL_ROW};
    INSERT INTO every VALUES ({", ".join(["NULL"] * 17)});
    CREATE TABLE numbers AS SELECT cast(pos AS BIGINT) AS n, concat('row ', pos) AS s, pos / 4 AS d
        FROM (SELECT posexplode(split(space({ROWS - 1}), ' ')) AS (pos, x)) one;
    CREATE TABLE parts (k INT COMMENT 'the key', v STRING) PARTITIONED BY (ds STRING);
    INSERT INTO parts PARTITION (ds = '2024-01-01') VALUES (1, 'one');
    CREATE VIEW seen AS SELECT s, i FROM every;
    CREATE DATABASE other;
    CREATE TABLE other.elsewhere AS SELECT 7 AS x
"""
LONG_QUERY = "SELECT count(*) FROM numbers a CROSS JOIN numbers b WHERE a.n * b.n % 7 = 3"
"""Minutes of work."""
LONG_STREAM = "SELECT a.n * b.n AS x FROM numbers a CROSS JOIN numbers b WHERE a.n * b.n % 7 = 8"
"""Minutes of work, and no row."""


@dataclass(frozen=True, slots=True)
class Served:
    server: HiveServer
    session: sharkpy.SharkContext

    @property
    def port(self) -> int:
        return self.server.port

    def wait_until_idle(self, seconds: float = PATIENCE) -> None:
        """Until no operation runs, and nothing that it began goes on in this process."""
        end = time.monotonic() + seconds
        while any(one.is_running for one in self.server.parts.sessions.operations()) or _is_busy():
            assert time.monotonic() < end, "something still runs"


def _is_busy() -> bool:
    begin = time.process_time()
    time.sleep(0.1)
    return time.process_time() - begin > 0.06


@contextlib.contextmanager
def serving(session: sharkpy.SharkContext, config: ServerConfig) -> Iterator[Served]:
    with HiveServer(session, config) as server:
        yield Served(server, session)
