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
from sharkpy.execution.spark import TASK_ATTEMPTS
from tests.faults.workload import QUERIES

pytestmark = pytest.mark.spark


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
@pytest.mark.parametrize("kind", ["worker", "daemon"])
def test_answers_survive_many(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], seed: int, kind: str
) -> None:
    check(context, expected, seed, kind, 120)


def test_a_write_is_whole_or_not_there(context: sharkpy.SharkContext, seed: int) -> None:
    """Blocks of tasks that died half way are in no table."""
    generator = random.Random(seed)
    for _ in range(3):
        with killer(generator, "worker"):
            context.sql("CREATE TABLE copied TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT k, v FROM facts")
        found = context.sql("SELECT count(*), count(DISTINCT k), sum(v) FROM copied").fetchall()
        assert found == context.sql("SELECT count(*), count(*), sum(v) FROM facts").fetchall(), f"seed {seed}"
        context.sql("DROP TABLE copied")
    gc.collect()
    store = context.engine.store
    store.make_room(0)
    known = store.usage().num_blocks
    assert len(list(Path(store.memory_dir).glob("*.arrow"))) == known, f"seed {seed}: blocks that nobody knows"


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
        for _ in range(5):
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
