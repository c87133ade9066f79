"""A process that writes a table in a bucket, statement after statement, and is killed again and again.

Each statement adds rows; every seventh one overwrites the table. Another process reads it all the while, and after each
kill: it has to see the rows of all statements since the last overwrite, in whole and without a gap. It has to see the
rows of every statement that was reported as ended. What is in the bucket in the end, after the sweep of a last start,
is what the log of files names.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.engines import CORES
from bench.figure import Figure
from bench.lake.bucket import BUCKET, s3_bucket
from bench.suites import CACHE, ROOT
from tests.storage.remains import objects, unfinished_uploads, unnamed, wait_for_the_sweep

KILLS, ROWS = 500, 100
_OVERWRITE = 7
"""Numbers of statements that overwrite are multiples of it."""
_MOST_SECONDS = 1.0
"""Time from the end of a writer's first statement to its own."""
_PAUSE_SECONDS = 0.02


@dataclass(slots=True)
class _Seen:
    """Reads of the table, and the greatest number of a statement that is known to count."""

    reads: int = 0
    torn: int = 0
    lost: int = 0
    newest: int = 0


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001  as of all
    kills = max(int(KILLS * scale), 2)
    with s3_bucket() as bucket:
        return killed(bucket.address, f"s3a://{BUCKET}/warehouse", bucket.settings, kills)


def killed(address: str, warehouse: str, settings: Mapping[str, str], kills: int, seed: int = 1) -> list[Figure]:
    """Figures of so many kills of writers of a table in a warehouse at a URI of the server at `address`."""
    chosen, seen = random.Random(seed), _Seen()
    # The next write deletes the files that an overwrite has replaced.
    with tempfile.TemporaryDirectory(dir=CACHE) as home:
        settings = {**settings, "shark.table.retention": "0", "shark.catalog.dir": home}
        with _session(warehouse, settings) as context:
            context.sql("CREATE TABLE t (statement BIGINT, n BIGINT) STORED AS PARQUET").close()
            context.sql(_statement(0)).close()
        for _ in range(kills):
            with _session(warehouse, settings) as context:
                with _reading(context, seen):
                    ended = _killed_writer(warehouse, settings, seen.newest + 1, chosen.uniform(0, _MOST_SECONDS))
                seen.newest = max(seen.newest, *ended, 0)
                _read(context, seen)
        with _session(warehouse, settings) as context:
            wait_for_the_sweep(context)
            _read(context, seen)
            left = [*unnamed(context, address), *unfinished_uploads(address, warehouse)]
            there = len(objects(address, warehouse))
    return [
        Figure(
            f"reads that saw a part, beside and after {kills} kills",
            f"{seen.torn} of {seen.reads:,}",
            "0",
            not seen.torn,
            is_key=True,
        ),
        Figure("reads without a statement that had ended", str(seen.lost), "0", not seen.lost),
        Figure("objects that nobody names after the sweep", f"{len(left)} of {there}", "0", not left),
        Figure("statements that were carried out", f"{seen.newest + 1:,}"),
    ]


@contextlib.contextmanager
def _reading(context: Any, seen: _Seen) -> Iterator[None]:
    """Read the table again and again meanwhile."""
    ended, failures = threading.Event(), list[BaseException]()

    def read() -> None:
        try:
            while not ended.wait(_PAUSE_SECONDS):
                _read(context, seen)
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        ended.set()
        reader.join()
    if failures:
        raise failures[0]


def _read(context: Any, seen: _Seen) -> None:
    """Read the table once. A statement whose end was not told may count all the same, and does from then on."""
    found = dict(context.sql("SELECT statement, count(*) FROM t GROUP BY statement").fetchall())
    first, last = min(found, default=0), max(found, default=-1)
    is_whole = set(found) == set(range(first, last + 1)) and first % _OVERWRITE == 0 and set(found.values()) == {ROWS}
    seen.reads += 1
    seen.torn += not is_whole
    seen.lost += last < seen.newest
    seen.newest = max(seen.newest, last)


def _killed_writer(warehouse: str, settings: Mapping[str, str], first: int, seconds: float) -> set[int]:
    """Numbers of the statements that a writer told to have ended, before it was killed."""
    pairs = [f"{name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "bench.lake.kills", warehouse, str(first), *pairs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT.parent) as process:
        assert process.stdout is not None
        try:
            ended = [process.stdout.readline()]
            time.sleep(seconds)
            if process.poll() is not None:
                raise AssertionError("the writer ended by itself")
        finally:
            process.kill()
        return {int(line) for line in (*ended, *process.stdout)}


def _session(warehouse: str, settings: Mapping[str, str]) -> Any:
    import sharkpy

    return sharkpy.connect(f"local[{CORES}]", warehouse, **settings)


def _statement(number: int) -> str:
    word = "OVERWRITE TABLE" if number % _OVERWRITE == 0 else "INTO TABLE"
    return f"INSERT {word} t SELECT {number}, n FROM (SELECT explode(sequence(1, {ROWS})) AS n) s"


def write(warehouse: str, first: int, settings: Mapping[str, str]) -> None:
    """Write the table until this process is killed."""
    with _session(warehouse, settings) as context:
        number = first
        while True:
            context.sql(_statement(number)).close()
            print(number, flush=True)
            number += 1


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), dict(one.split("=", 1) for one in sys.argv[3:]))
