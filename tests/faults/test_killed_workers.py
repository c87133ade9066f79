"""Python workers and their daemon killed at random times: every answer is right all the same."""

from __future__ import annotations

import contextlib
import gc
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import sharkpy
from sharkpy.base.errors import ExecutionError
from sharkpy.execution.spark.start import TASK_ATTEMPTS
from tests.faults.workload import QUERIES

pytestmark = pytest.mark.spark
_ROUNDS = 20
_GONE_SECONDS = 60


def daemons() -> list[psutil.Process]:
    """Worker daemons, children of this process's JVM, of any session; the workers are their children."""
    machines = [child for child in psutil.Process().children() if "java" in child.name()]
    return [daemon for machine in machines for daemon in machine.children()]


def kill_family(daemon: psutil.Process) -> list[psutil.Process]:
    """Kill a daemon with its workers. It is stopped first: a worker forked meanwhile would serve on without it."""
    daemon.suspend()
    until = time.monotonic() + _GONE_SECONDS
    while daemon.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE) and time.monotonic() < until:
        time.sleep(0.001)
    victims = [daemon, *daemon.children()]
    for victim in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    return victims


def kill(generator: random.Random, kind: str) -> list[psutil.Process]:
    """Kill one worker, or a daemon with all its workers."""
    found = sorted(daemons(), key=lambda process: process.pid)
    if not found:
        return []
    daemon = generator.choice(found)
    if kind == "daemon":
        return kill_family(daemon)
    workers = sorted(daemon.children(), key=lambda process: process.pid)
    if not workers:
        return []
    victim = generator.choice(workers)
    victim.kill()
    return [victim]


@contextmanager
def killer(generator: random.Random, kind: str) -> Iterator[list[int]]:
    """Kill at random times during the body: fewer than a task has tries, so that the statement must succeed.

    A daemon that dies as it starts takes more than one try of a task. Idle workers that it kills are gone at the end:
    until their daemon has noticed, Spark gives them tasks of the next statement.
    """
    most = 1 if kind == "daemon" else TASK_ATTEMPTS - 1
    killed: list[int] = []
    workers: list[psutil.Process] = []
    is_over = threading.Event()

    def run() -> None:
        while len(killed) < most and not is_over.wait(generator.uniform(0, 0.15)):
            with contextlib.suppress(psutil.NoSuchProcess):
                if victims := kill(generator, kind):
                    killed.append(len(victims))
                    workers.extend(victims if kind == "worker" else ())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()
        psutil.wait_procs(workers, _GONE_SECONDS)


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


@pytest.mark.slow
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
    """The test takes long, as a daemon takes seconds to start."""
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
    """A worker dies between its first block and its last one, unreported: kills go on until one was caught there."""
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
    """Make a table, killing all workers once there is a block; returns that moment's blocks that are not the
    table's.
    """
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
    version = context.table_cache.loaded_version(context.catalog.table("default", "copied"))
    assert version is not None
    untold = set().union(*written) - {Path(block.memory_path) for block in version.blocks}
    assert not [path for path in untold if path.exists()]
    return untold


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_daemons_that_never_start(context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]]) -> None:
    """The error is clear, and later queries run; Spark's own factory would start no workers after that."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(0.02):
            for daemon in daemons():
                with contextlib.suppress(psutil.NoSuchProcess):
                    kill_family(daemon)

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
