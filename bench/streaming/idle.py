"""CPU time and memory that a server needs for continuous tables whose streams are still."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import psutil

from bench.figure import Figure
from bench.server.servers import Server, sharkpy_server
from bench.suites import CACHE

SECONDS = 60.0
_SETTLED = 5.0
"""Seconds until what making the tables has begun is over."""
_AIMS = ((1, 0.005), (100, 0.05))
"""Numbers of tables, and shares of a core."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001  a share of a minute is one figure
    seconds = max(2.0, SECONDS * scale)
    figures = []
    with tempfile.TemporaryDirectory(dir=CACHE) as folder, sharkpy_server() as server:
        without, memory = _share(server, seconds), _megabytes(server)
        figures.append(Figure("a server without continuous tables", f"{without:.2%} of a core, {memory:.0f} MB"))
        made = 0
        for tables, most in _AIMS:
            for number in range(made, tables):
                _make(server, Path(folder), number)
            made = tables
            share = _share(server, seconds) - without
            value = f"{share:.2%} of a core more, {_megabytes(server) - memory:.0f} MB more"
            aims = (f"less than {most:.1%}", share < most)
            figures.append(Figure(f"idle continuous tables: {tables}", value, *aims, is_key=True))
    return figures


def _make(server: Server, folder: Path, number: int) -> None:
    source = folder / f"in-{number}"
    source.mkdir()
    (source / "one.json").write_text('{"n": 1}\n', encoding="utf-8")
    cached = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
    server.run(
        f"CREATE STREAM incoming_{number} (n BIGINT) STORED AS JSONFILE FROM FOLDER '{source}'",
        f"CREATE CONTINUOUS TABLE arrived_{number} {cached} AS SELECT n FROM incoming_{number}",
    )


def _share(server: Server, seconds: float) -> float:
    time.sleep(min(_SETTLED, seconds))
    start, used = time.monotonic(), _cpu_seconds(server)
    time.sleep(seconds)
    return (_cpu_seconds(server) - used) / (time.monotonic() - start)


def _cpu_seconds(server: Server) -> float:
    process = psutil.Process(server.process_id)
    times = [one.cpu_times() for one in [process, *process.children(recursive=True)]]
    return float(sum(one.user + one.system for one in times))


def _megabytes(server: Server) -> float:
    process = psutil.Process(server.process_id)
    return float(sum(one.memory_info().rss for one in [process, *process.children(recursive=True)])) / 1e6
