"""Two compared servers, each in a process of its own, over the same Parquet files."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pyarrow.parquet as pq
from pyhive import hive

from bench.engines import CORES
from bench.suites import CACHE
from sharkpy.values.types import from_arrow
from tests.thrift import spark_server

Auth = Literal["NONE", "NOSASL"]
_LISTENS = re.compile(r"listens on 127\.0\.0\.1:(\d+)(?:.*, console http://127\.0\.0\.1:(\d+)/)?")
_STOP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    port: int
    process_id: int
    auth: Auth
    web_port: int = 0
    """Port of HTTP; 0 if there is none."""

    def connect(self) -> Any:
        return hive.connect("127.0.0.1", self.port, username="bench", auth=self.auth)

    def run(self, *statements: str) -> None:
        connection = self.connect()
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        connection.close()

    def cache(self, tables: Sequence[Path]) -> None:
        """Load each folder of Parquet files as a table of its name into memory."""
        for folder in tables:
            self.run(_made(folder, is_hive=self.name == "sharkpy"), f"CACHE TABLE {folder.name}")


def _made(folder: Path, *, is_hive: bool) -> str:
    schema = pq.read_schema(next(folder.glob("*.parquet")))
    columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
    kind = f"EXTERNAL TABLE {folder.name} ({columns}) STORED AS PARQUET"
    return f"CREATE {kind if is_hive else f'TABLE {folder.name} USING parquet'} LOCATION '{folder}'"


@contextmanager
def sharkpy_server(auth: Auth = "NONE") -> Iterator[Server]:
    """Start sharkpy's server as a user does; NONE and NOSASL are served by one port."""
    with tempfile.TemporaryDirectory(prefix="server-", dir=CACHE) as folder, serve(folder, auth) as server:
        yield server


@contextmanager
def serve(
    folder: str, auth: Auth = "NONE", *arguments: str, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Server]:
    """Start sharkpy's server over the warehouse in `folder`, which stays. It may be killed meanwhile. `arguments` are
    further ones of `sharkpy server`.
    """
    with Path(folder, "log").open("ab") as log:
        sets = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        engine = ["--master", f"local[{CORES}]", "--warehouse", f"{folder}/warehouse", *sets]
        options = ["--port", "0", "--location-folder", "/", "--log-level", "error", *arguments]
        command = [sys.executable, "-m", "sharkpy.cli.main", *engine, "server", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = _LISTENS.search(line)
            if found is None:
                raise RuntimeError(f"the server did not start: {line}{Path(folder, 'log').read_text()}")
            yield Server("sharkpy", int(found[1]), process.pid, auth, int(found[2] or 0))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(_STOP_SECONDS)
            if process.stdout:
                process.stdout.close()


@contextmanager
def spark_thrift_server(auth: Auth = "NONE") -> Iterator[Server]:
    with spark_server.start(f"local[{CORES}]", auth=auth, heap_bytes=4 << 30) as server:
        yield Server("spark", server.port, server.process_id, auth)


SPARK_SERVER = "Spark's Thrift server"
SERVERS: dict[str, Callable[[Auth], AbstractContextManager[Server]]] = {
    "sharkpy": sharkpy_server,
    "spark": spark_thrift_server,
}
