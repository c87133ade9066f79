"""`sharkpy server` with users and tables, for browsers. As a program, it serves until it is interrupted."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pyarrow.parquet as pq

import sharkpy
from bench.suites import SUITES
from sharkpy.thrift.auth.password_file import set_password
from sharkpy.values.types import from_arrow
from tests.thrift.server_process import Process

USERS = {"ada": "secret ada", "bob": "secret bob", "root": "secret root"}
"""Passwords by users; root is an administrator."""
TPCDS_SCALE = 0.01
MARKUP = '<img src=x onerror="window.hacked=1">'

_TABLES = (
    """CREATE TABLE flights AS
    SELECT n AS id, date_add('2025-01-01', n % 365) AS day,
      element_at(array('AA', 'DL', 'UA', 'WN', 'B6'), n % 5 + 1) AS carrier,
      element_at(array('JFK', 'SFO', 'ORD'), n % 3 + 1) AS origin,
      CAST((n * 7919) % 240 - 20 AS DOUBLE) AS delay
    FROM (SELECT posexplode(split(space(99999), ' ')) AS (n, x)) numbers""",
    # Eight files are eight tasks of a stage.
    "CREATE TABLE eight (n INT)",
    *(f"INSERT INTO eight SELECT id FROM flights LIMIT {990 + n}" for n in range(8)),
    f"""CREATE TABLE markup (`{MARKUP}` STRING COMMENT '{MARKUP}') COMMENT '{MARKUP}'""",
    f"INSERT INTO markup VALUES ('{MARKUP}')",
)


@dataclass(frozen=True, slots=True)
class FilledServer:
    address: str
    process: Process

    def run(self, user: str, *statements: str) -> None:
        """Run statements of a user, and forget their rows."""
        address = self.address.replace("//", f"//{quote(user)}:{quote(USERS[user])}@")
        with sharkpy.connect(address) as session:
            for statement in statements:
                session.sql(statement).fetchall()


@contextmanager
def filled_server(folder: Path) -> Iterator[FilledServer]:
    """Serve a warehouse in `folder`, with the tables of TPC-DS and a few of its own."""
    passwords, data = folder / "passwords", folder / "tpcds"
    for user, password in USERS.items():
        set_password(passwords, user, password)
    SUITES["tpcds"].make_data(data, TPCDS_SCALE)
    options = ("--web-port", "0", "--auth", "password", "--password-file", str(passwords), "--admin", "root")
    settings = {"shark.store.memory.limit": "512m"}
    process = Process(folder, *options, "--location-folder", str(data), settings=settings)
    try:
        found = re.search(r"console (http://127\.0\.0\.1:\d+)/", process.first_line)
        assert found is not None, process.first_line
        server = FilledServer(found[1], process)
        server.run("root", *_TABLES, *(_external(data / name) for name in SUITES["tpcds"].tables))
        yield server
    finally:
        process.stop()
        process.process.communicate(timeout=60)


def _external(folder: Path) -> str:
    schema = pq.read_schema(next(folder.glob("*.parquet")))
    columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
    return f"CREATE EXTERNAL TABLE {folder.name} ({columns}) STORED AS PARQUET LOCATION '{folder}'"


if __name__ == "__main__":
    # The server ends with this process, however it is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with TemporaryDirectory() as folder, filled_server(Path(folder)) as served:
        print(served.address, *(f"{user}: {password}" for user, password in USERS.items()), sep="\n")
        sys.stdout.flush()
        while True:
            time.sleep(60)
