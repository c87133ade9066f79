"""A process that adds rows to a table in a bucket, statement after statement, and is killed again and again.

After each kill another process opens the warehouse: of every statement that was told to have ended all rows are there,
of every other one all or none.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from bench.engines import CORES
from bench.lake.bucket import BUCKET, s3_bucket
from bench.pde import Figure
from bench.suites import CACHE, ROOT

KILLS, ROWS = 500, 100
_INSERT = f"INSERT INTO t SELECT {{}}, n FROM (SELECT explode(sequence(1, {ROWS})) AS n) s"
_MOST_SECONDS = 1.5
"""Time from the first statement of a writer to its end."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001  as of all
    kills = max(int(KILLS * scale), 2)
    with s3_bucket() as bucket:
        figures = killed(f"s3a://{BUCKET}/t", bucket.settings, kills)
        objects = bucket.num_objects("t/")
    return [*figures, Figure("objects of the table in the end", f"{objects:,}")]


def killed(location: str, settings: Mapping[str, str], kills: int, seed: int = 1) -> list[Figure]:
    """Figures of so many kills of writers of a table at a location."""
    chosen, told, torn, lost = random.Random(seed), {0}, 0, 0
    with tempfile.TemporaryDirectory(dir=CACHE) as warehouse:
        with _session(warehouse, settings) as context:
            columns = "(statement BIGINT, n BIGINT) STORED AS PARQUET"
            context.sql(f"CREATE EXTERNAL TABLE t {columns} LOCATION '{location}'").close()
            context.sql(_INSERT.format(0)).close()
        for _ in range(kills):
            told |= _killed_writer(warehouse, settings, max(told) + 1, chosen.uniform(0, _MOST_SECONDS))
            with _session(warehouse, settings) as context:
                found = dict(context.sql("SELECT statement, count(*) FROM t GROUP BY statement").fetchall())
            torn += sum(count != ROWS for count in found.values())
            lost += len(told - found.keys())
            # A statement whose end was not told may have been carried out.
            told |= found.keys()
    return [
        Figure(f"statements of which a part is there, after each of {kills} kills", str(torn), "0", not torn),
        Figure("statements that had ended, and are lost", str(lost), "0", not lost),
        Figure("statements that are there in the end", f"{len(told):,}"),
    ]


def _killed_writer(warehouse: str, settings: Mapping[str, str], first: int, seconds: float) -> set[int]:
    """Numbers of the statements that a writer told to have ended, before it was killed."""
    pairs = [f"{name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "bench.lake.kills", warehouse, str(first), *pairs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT.parent) as process:
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != "ready":
                raise AssertionError("the writer ended by itself")
            time.sleep(seconds)
        finally:
            process.kill()
        return {int(line) for line in process.stdout.read().split()}


def _session(warehouse: str, settings: Mapping[str, str]) -> Any:
    import sharkpy

    return sharkpy.connect(f"local[{CORES}]", warehouse, **settings)


def write(warehouse: str, first: int, settings: Mapping[str, str]) -> None:
    """Add rows until this process is killed."""
    with _session(warehouse, settings) as context:
        print("ready", flush=True)
        number = first
        while True:
            context.sql(_INSERT.format(number)).close()
            print(number, flush=True)
            number += 1


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), dict(one.split("=", 1) for one in sys.argv[3:]))
