"""Threads on one session and processes on one warehouse with mixed statements: no wrong answer, only clear errors."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import InternalError, SharkError

ROOT = Path(__file__).resolve().parents[2]
ROWS = 10
"""Rows of an INSERT, all with 1 in v and the same b: a batch is there whole or not at all."""


def step(context: sharkpy.SharkContext, generator: random.Random, worker: int, number: int) -> str | None:
    """Run one statement; returns a description of a wrong answer."""
    batch = worker * 1_000_000 + number
    match generator.choice(["insert", "insert", "count", "count", "batches", "own", "join"]):
        case "insert":
            rows = ", ".join(f"({batch}, 1)" for _ in range(ROWS))
            context.sql(f"INSERT INTO shared VALUES {rows}")
        case "count":
            ((count, total),) = context.sql("SELECT count(*), coalesce(sum(v), 0) FROM shared").fetchall()
            if count != total or count % ROWS:
                return f"{count} rows with a sum of {total}"
        case "batches":
            broken = context.sql(f"SELECT b FROM shared GROUP BY b HAVING count(*) <> {ROWS}").fetchall()
            if broken:
                return f"batches in part: {broken}"
        case "own":
            name = f"own_{worker}_{number}"
            context.sql(f"CREATE TABLE {name} TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT * FROM shared")
            ((count,),) = context.sql(f"SELECT count(*) FROM {name}").fetchall()
            context.sql(f"DROP TABLE {name}")
            if count % ROWS:
                return f"{count} rows copied"
        case "join":
            sql = "SELECT count(*) FROM (SELECT b FROM shared GROUP BY b) x JOIN shared y ON x.b = y.b"
            ((count,),) = context.sql(sql).fetchall()
            if count % ROWS:
                return f"{count} rows joined"
    return None


def work(context: sharkpy.SharkContext, seed: int, worker: int, rounds: int) -> tuple[list[str], int]:
    """Run statements; returns wrong answers, and the number of statements that ended with a clear error."""
    generator = random.Random(seed * 1000 + worker)
    wrong, errors = [], 0
    for number in range(rounds):
        try:
            found = step(context, generator, worker, number)
        except InternalError as error:
            found = f"internal: {error}"
        except SharkError:
            found, errors = None, errors + 1
        if found is not None:
            wrong.append(found)
    return wrong, errors


def prepare(context: sharkpy.SharkContext, cache: str) -> None:
    properties = f"TBLPROPERTIES ('shark.cache' = '{cache}')" if cache else ""
    context.sql(f"CREATE TABLE shared (b BIGINT, v INT) {properties}")


@pytest.mark.variants(2)
@pytest.mark.parametrize("cache", ["MEMORY", ""])
def test_threads(tmp_path: Path, seed: int, cache: str) -> None:
    results: list[tuple[list[str], int]] = []
    with sharkpy.connect(warehouse=tmp_path / "warehouse") as context:
        prepare(context, cache)

        def run(worker: int) -> None:
            # Half of them have sessions of their own.
            session = context if worker % 2 else context.new_session()
            results.append(work(session, seed, worker, 6))

        threads = [threading.Thread(target=run, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 8, f"seed {seed}"
        assert [wrong for wrong, _ in results if wrong] == [], f"seed {seed}"
        assert sum(errors for _, errors in results) <= 8, f"seed {seed}"


PROCESS = """
    import sys
    import sharkpy
    from tests.faults.test_side_by_side import work
    warehouse, seed, worker, rounds = sys.argv[1], *map(int, sys.argv[2:])
    with sharkpy.connect(warehouse=warehouse) as context:
        print(work(context, seed, worker, rounds))
"""


def run_processes(warehouse: Path, seed: int, rounds: int) -> list[str]:
    import textwrap

    command = [sys.executable, "-c", textwrap.dedent(PROCESS), str(warehouse), str(seed)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen([*command, str(worker), str(rounds)], stdout=subprocess.PIPE, text=True, env=environ, cwd=ROOT)
        for worker in range(2)
    ]
    return [process.communicate(timeout=100)[0].strip() for process in started]


def check_processes(tmp_path: Path, seed: int, cache: str, rounds: int) -> None:
    warehouse = tmp_path / "warehouse"
    with sharkpy.connect(warehouse=warehouse) as context:
        prepare(context, cache)
        outputs = run_processes(warehouse, seed, rounds)
        for output in outputs:
            assert output.startswith("([], "), f"seed {seed}: {output}"
        assert work(context, seed, 9, 3)[0] == [], f"seed {seed}"


@pytest.mark.slow
def test_processes(tmp_path: Path, seed: int) -> None:
    check_processes(tmp_path, seed, "", 8)


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["MEMORY", ""])
def test_processes_for_long(tmp_path: Path, seed: int, cache: str) -> None:
    check_processes(tmp_path, seed, cache, 80)
