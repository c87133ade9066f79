"""Python workers and their daemon killed at random times: every answer is right all the same."""

from __future__ import annotations

import contextlib
import gc
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import sharkpy
from sharkpy.errors import ExecutionError
from sharkpy.execution.spark.start import TASK_ATTEMPTS
from tests.faults.workload import QUERIES

pytestmark = pytest.mark.spark
_ROUNDS = 20


def daemons() -> list[psutil.Process]:
    """The worker daemons, children of this process's JVM, whichever session started it; the workers are theirs."""
    machines = [child for child in psutil.Process().children() if "java" in child.name()]
    return [daemon for machine in machines for daemon in machine.children()]


def kill(generator: random.Random, kind: str) -> int | None:
    """One worker, or a daemon with all its workers: left alone, they would serve on without it."""
    found = sorted(daemons(), key=lambda process: process.pid)
    if not found:
        return None
    daemon = generator.choice(found)
    workers = sorted(daemon.children(), key=lambda process: process.pid)
    victims = [daemon, *workers] if kind == "daemon" else [generator.choice(workers)] if workers else []
    for victim in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    return len(victims) or None


@contextmanager
def killer(generator: random.Random, kind: str) -> Iterator[list[int]]:
    """Meanwhile kills at random times: fewer than a task has tries, so that the statement must succeed.

    A daemon that dies as it starts takes more than one try of a task.
    """
    most = 1 if kind == "daemon" else TASK_ATTEMPTS - 1
    killed: list[int] = []
    is_over = threading.Event()

    def run() -> None:
        while len(killed) < most and not is_over.wait(generator.uniform(0, 0.15)):
            with contextlib.suppress(psutil.NoSuchProcess):
                if (victims := kill(generator, kind)) is not None:
                    killed.append(victims)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


def check(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int, kind: str, rounds: int
) -> None:
    generator = random.Random(seed)
    total = 0
    for number in range(rounds):
        query = QUERIES[number % len(QUERIES)]
        with killer(generator, kind) as killed:
            found = context.sql(query).fetchall()
        assert found == expected[query], f"seed {seed}: {query} after {killed} victims"
        total += len(killed)
    assert total
    for query in QUERIES:
        assert context.sql(query).fetchall() == expected[query], f"seed {seed}: {query} after all"


@pytest.mark.parametrize("kind", ["worker", "daemon"])
def test_answers_survive(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int, kind: str
) -> None:
    check(context, expected, seed, kind, 6)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("kind", "rounds"), [("worker", 120), ("daemon", 40)])
def test_answers_survive_many(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int, kind: str, rounds: int
) -> None:
    """A daemon takes seconds to start."""
    check(context, expected, seed, kind, rounds)


def check_no_block_is_unknown(context: sharkpy.SharkContext) -> None:
    gc.collect()
    store = context.engine.store
    store.make_room(0)
    assert len(list(Path(store.memory_dir).glob("*.arrow"))) == store.usage().num_blocks


def test_a_write_is_whole_or_not_there(context: sharkpy.SharkContext, seed: int) -> None:
    """Blocks of tasks that died half way are in no table."""
    generator = random.Random(seed)
    for _ in range(3):
        with killer(generator, "worker"):
            context.sql("CREATE TABLE copied TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT k, v FROM facts")
        found = context.sql("SELECT count(*), count(DISTINCT k), sum(v) FROM copied").fetchall()
        assert found == context.sql("SELECT count(*), count(*), sum(v) FROM facts").fetchall(), f"seed {seed}"
        context.sql("DROP TABLE copied")
    check_no_block_is_unknown(context)


def test_blocks_of_a_dead_worker_are_freed(context: sharkpy.SharkContext) -> None:
    """It dies between its first block and its last one, before it has told of any: until one was caught there."""
    rows = context.conf["shark.block.rows"]
    context.sql("SET shark.block.rows = 500")
    try:
        freed = 0
        for _ in range(_ROUNDS):
            freed += len(killed_while_it_writes(context))
            assert context.sql("SELECT count(*), count(DISTINCT k) FROM copied").fetchall() == [(100_000, 100_000)]
            context.sql("DROP TABLE copied")
            if freed:
                break
    finally:
        context.sql(f"SET shark.block.rows = {rows}")
    assert freed
    check_no_block_is_unknown(context)


def killed_while_it_writes(context: sharkpy.SharkContext) -> set[Path]:
    """Make a table, kill all workers once there is a block, and give the blocks of then that are not the table's."""
    folder = Path(context.engine.store.memory_dir)
    before = set(folder.glob("*.arrow"))
    written: list[set[Path]] = []
    is_over = threading.Event()

    def run() -> None:
        while not written and not is_over.wait(0.001):
            if set(folder.glob("*.arrow")) - before:
                for worker in [worker for daemon in daemons() for worker in daemon.children()]:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        worker.kill()
                written.append(set(folder.glob("*.arrow")) - before)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        context.sql("CREATE TABLE copied TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT k, v FROM facts")
    finally:
        is_over.set()
        thread.join()
    version = context.table_cache.known_version(context.catalog.table("default", "copied"))
    assert version is not None
    untold = set().union(*written) - {Path(block.memory_path) for block in version.blocks}
    assert not [path for path in untold if path.exists()]
    return untold


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_daemons_that_never_start(context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]]) -> None:
    """A clear error; Spark's own factory of workers would start none after that."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(0.02):
            for daemon in daemons():
                with contextlib.suppress(psutil.NoSuchProcess):
                    for victim in [daemon, *daemon.children()]:
                        victim.kill()

    thread = threading.Thread(target=run)
    thread.start()
    failures: list[str] = []
    try:
        # Now and then one is fast enough.
        for _ in range(_ROUNDS):
            if failures:
                break
            try:
                assert context.sql(QUERIES[0]).fetchall() == expected[QUERIES[0]]
            except ExecutionError as error:
                failures.append(error.message)
    finally:
        is_over.set()
        thread.join()
    assert failures
    assert all("could not be started" in one or "died at each of 4 tries" in one for one in failures), failures
    assert context.sql(QUERIES[0]).fetchall() == expected[QUERIES[0]]
