"""Cluster of two executors in a process of its own, as a process has one SparkContext, and faults that may befall
it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil

import sharkpy
from tests.execution.standalone import standalone
from tests.faults.disk import ballast, used
from tests.faults.feature_passes import NUM_BLOCKS, gradient, make_features, num_calls
from tests.faults.workload import QUERIES, make_tables
from tests.paths_below import paths_below
from tests.waiting import allowed

ROOT = Path(__file__).resolve().parents[2]
CONF = {
    "shark.placement.driver": False,
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    "shark.join.replicate.max.rows": 0,
    "shark.jvm.memory": "512m",
    "shark.block.rows": 20_000,
    "shark.test.join": "shuffle",
    # Executors live for seconds here: what compiles most is not worth its time.
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    # Spark gives an application up after ten executors that died.
    "spark.deploy.maxExecutorRetries": -1,
}
SPECULATION = {
    "spark.speculation": True,
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": 1.2,
    "spark.speculation.quantile": 0.3,
    "spark.speculation.minTaskRuntime": "300ms",
}


def run_apart(function: str, folder: Path, *arguments: int, seconds: float = 280, module: str = __name__) -> str:
    """Run a function of `module` (default: this one) in a process of its own; returns its output."""
    code = f"import sys, pathlib; from {module} import {function} as run; "
    code += "run(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(folder), *map(str, arguments)]
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def connect(folder: Path, master: str = "local-cluster[2,1,1024]", **more: object) -> sharkpy.SharkContext:
    (folder / "shm").mkdir(exist_ok=True)
    places = {"shark.temp.dir": str(folder), "shark.store.shm.dir": str(folder / "shm")}
    return sharkpy.connect(master, folder / "warehouse", **{**CONF, **places, **more})


# Processes


def executors(context: sharkpy.SharkContext) -> list[psutil.Process]:
    assert context.engine.is_spark_started
    family = psutil.Process().children(recursive=True)
    found = []
    for process in family:
        with contextlib.suppress(psutil.Error):
            if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()):
                found.append(process)
    return sorted(found, key=lambda process: process.pid)


def daemons(context: sharkpy.SharkContext) -> list[psutil.Process]:
    return [child for executor in executors(context) for child in executor.children() if _is_python(child)]


def _is_python(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return "sharkpy.execution.workers.daemon" in " ".join(process.cmdline())
    return False


def _kill(victims: list[psutil.Process]) -> bool:
    for victim in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    return bool(victims)


def kill_executor(context: sharkpy.SharkContext, generator: random.Random) -> bool:
    found = executors(context)
    # One at a time: the tasks of the query go to the other one.
    return len(found) == 2 and _kill([generator.choice(found)])


def kill_daemon(context: sharkpy.SharkContext, generator: random.Random) -> bool:
    """Kill a worker daemon with its workers, which would serve on without it."""
    found = daemons(context)
    if not found:
        return False
    daemon = generator.choice(found)
    return _kill([daemon, *daemon.children()])


def kill_worker(context: sharkpy.SharkContext, generator: random.Random) -> bool:
    workers = [worker for daemon in daemons(context) for worker in daemon.children()]
    return bool(workers) and _kill([generator.choice(workers)])


# Files


def _blocks(context: sharkpy.SharkContext, generator: random.Random) -> list[Path]:
    """Files of some blocks of each table, with all their copies."""
    found: list[Path] = []
    for table in ("facts", "names", "stored"):
        version = context.table_cache.loaded_version(context.catalog.table("default", table))
        assert version is not None
        for block in generator.sample(version.blocks, max(1, len(version.blocks) // 2)):
            found += [Path(path) for path in (block.memory_path, block.durable_path) if path]
    return found


def _damage(change: Callable[[Path], object]) -> Callable[[sharkpy.SharkContext, random.Random], bool]:
    def damage(context: sharkpy.SharkContext, generator: random.Random) -> bool:
        for path in _blocks(context, generator):
            with contextlib.suppress(FileNotFoundError):
                change(path)
        return True

    return damage


def _truncate(path: Path) -> None:
    """Truncate a file that processes have mapped: a process that is reading it dies."""
    os.truncate(path, path.stat().st_size // 3)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in range(0, len(data), 100):
        data[place] ^= 0x40
    changed = path.with_suffix(".changed")
    changed.write_bytes(data)
    changed.replace(path)


def delete_shuffle_files(context: sharkpy.SharkContext, generator: random.Random) -> bool:
    folder = Path(context.engine.jobs.context.getConf().get("spark.local.dir"))
    deleted = False
    for path in paths_below(folder, "shuffle_*"):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            deleted = True
    return deleted


KILLS: dict[str, Callable[[sharkpy.SharkContext, random.Random], bool]] = {
    "executor": kill_executor,
    "daemon": kill_daemon,
    "worker": kill_worker,
}
EVENTS = KILLS | {
    "blocks deleted": _damage(Path.unlink),
    "blocks truncated": _damage(_truncate),
    "blocks flipped": _damage(_flip),
    "shuffle files deleted": delete_shuffle_files,
}


@contextmanager
def befalls(event: str, context: sharkpy.SharkContext, generator: random.Random) -> Iterator[Counter[str]]:
    """Have `event` happen once, at a random time from now on, if it can."""
    happened: Counter[str] = Counter()
    is_over = threading.Event()
    start = time.monotonic() + generator.uniform(0, 0.6)

    def run() -> None:
        is_over.wait(start - time.monotonic())
        while not is_over.is_set():
            with contextlib.suppress(psutil.NoSuchProcess):
                if EVENTS[event](context, generator):
                    happened[event] += 1
                    return
            is_over.wait(0.01)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield happened
    finally:
        is_over.set()
        thread.join()


def _stop(workers: list[psutil.Process]) -> None:
    for worker in workers:
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.send_signal(signal.SIGSTOP)


# What runs apart


def many_events(folder: Path, seed: int, wanted: int) -> None:
    """Run queries until `wanted` events have happened: each gives its answer, and in the end nothing is left behind."""
    generator = random.Random(seed)
    with connect(folder) as context:
        make_tables(context)
        stored = "STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')"
        context.sql(f"CREATE TABLE stored {stored} AS SELECT * FROM facts WHERE k % 2 = 0")
        more = [*QUERIES, "SELECT count(*) FROM stored s JOIN facts f ON s.k = f.v"]
        chosen = generator.sample(more, min(wanted // 3, len(more)))
        queries = ["SELECT count(*), sum(v) FROM stored", *chosen]
        expected = {query: context.sql(query).fetchall() for query in queries}
        happened: Counter[str] = Counter()
        for number in range(wanted * 3):
            event, query = list(EVENTS)[number % len(EVENTS)], generator.choice(queries)
            case = f"seed {seed}, round {number}: {query} while {event}"
            with befalls(event, context, generator) as seen:
                try:
                    found = context.sql(query).fetchall()
                except sharkpy.SharkError as error:
                    raise AssertionError(f"{case}: {error}") from error
            assert found == expected[query], f"{case}: {found}"
            happened += seen
            if happened.total() >= wanted:
                break
        assert set(happened) == set(EVENTS) or wanted < 2 * len(EVENTS), happened
        for query in queries:
            assert context.sql(query).fetchall() == expected[query], f"seed {seed}: {query} after all"
        check_blocks_are_back(context)
        check_memory_is_free(context)
        print(dict(happened))
    left = [path for path in folder.iterdir() if path.name.startswith("sharkpy-")] + list((folder / "shm").iterdir())
    assert not left, f"seed {seed}: {left} after the end"


def check_blocks_are_back(context: sharkpy.SharkContext) -> None:
    """Check that blocks which queries pruned or did not read are made again by a query that reads them."""
    for table in ("facts", "names", "stored"):
        version = context.table_cache.loaded_version(context.catalog.table("default", table))
        assert version is not None
        columns = ", ".join(version.schema.names)
        context.sql(f"SELECT max(hash({columns})) FROM {table}").fetchall()
        version = context.table_cache.loaded_version(context.catalog.table("default", table))
        assert version is not None
        for block in version.blocks:
            assert context.engine.store.mend(block), f"{table}: {block}"
            assert Path(block.memory_path).is_file()


def check_memory_is_free(context: sharkpy.SharkContext) -> None:
    for table in ("facts", "names", "stored"):
        context.sql(f"DROP TABLE {table}")
    gc.collect()
    context.engine.store.make_room(0)
    usage = context.engine.store.usage()
    assert (usage.num_blocks, usage.memory_bytes, usage.local_bytes) == (0, 0, 0), usage


def stopped_worker(folder: Path, seed: int) -> None:
    """Stop a worker: a copy of its task gives the answer, and is counted once.

    Spark runs copies on other hosts only: the executors are on two, by name.
    """
    generator = random.Random(seed)
    with standalone(folder) as master, connect(folder, master, **SPECULATION) as context:
        make_tables(context)
        query = "SELECT count(*), sum(length(sha2(concat(k, v), 512))) FROM facts"
        answer = context.sql(query).fetchall()
        for _ in range(3):
            stopped = [worker for daemon in daemons(context)[:1] for worker in daemon.children()]
            delay = generator.uniform(0, 0.3)
            timer = threading.Timer(delay, _stop, [stopped])
            timer.start()
            started = time.monotonic()
            result = context.sql(query)
            assert result.fetchall() == answer, f"seed {seed}"
            assert time.monotonic() - started < allowed(60)
            timer.join()
            rows = [stage.rows_in for stage in result.profile.stages]
            assert rows[0] == 100_000, f"seed {seed}: {rows}"
            _kill(stopped)
        rows = "SELECT k, sha2(concat(k), 512) AS t FROM facts"
        made = f"CREATE TABLE copied TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS {rows}"
        stopped = [worker for daemon in daemons(context)[:1] for worker in daemon.children()]
        _stop(stopped)
        context.sql(made)
        _kill(stopped)
        assert context.sql("SELECT count(*), count(DISTINCT t) FROM copied").fetchall() == [(100_000, 100_000)]
        assert context.sql(query).fetchall() == answer


def full_disk(folder: Path) -> None:
    """Run statements on a small disk: each fails clearly and leaves nothing while there is no room, then does its work.

    Files of exchanges go after the statement: Spark deletes them in the background.
    """
    made = "SELECT k, v, sha2(concat(k), 256) AS t FROM facts"
    statements = (
        f"CREATE TABLE made AS {made}",
        f"CREATE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY') AS {made}",
        f"CREATE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS {made}",
        f"CREATE TABLE made AS SELECT t, max(k) AS k, count(*) AS v FROM ({made}) m GROUP BY t",
        f"CREATE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS {made} ORDER BY t",
    )
    with connect(folder, "local[2]") as context:
        make_tables(context)
        check = "SELECT count(*), sum(v) FROM facts"
        answer = context.sql(check).fetchall()
        for statement in statements:
            states = []
            for allowed in (0, 40_000, 400_000, 2_000_000):
                before = _kept_bytes(folder)
                with ballast(folder, allowed):
                    states.append(_state_of(context, statement))
                if not states[-1]:
                    context.sql("DROP TABLE made")
                    break
                assert states[-1] == "53100", f"{statement} with {allowed} bytes: {states}"
                assert context.sql("SHOW TABLES LIKE 'made'").fetchall() == []
                gc.collect()
                context.engine.store.usage()
                assert _kept_bytes(folder) <= before, f"{statement} with {allowed} bytes"
            assert "53100" in states, statement
            context.sql(statement)
            assert context.sql("SELECT count(*), count(DISTINCT t), sum(k) FROM made").fetchall() == [
                (100_000, 100_000, 5_000_050_000)
            ]
            context.sql("DROP TABLE made")
            gc.collect()
            assert context.sql(check).fetchall() == answer
            print(statement, states)


def _state_of(context: sharkpy.SharkContext, statement: str) -> str:
    """SQLSTATE with which a statement fails; "" if it does not fail."""
    try:
        context.sql(statement)
    except sharkpy.SharkError as error:
        print(error)
        return error.sqlstate
    return ""


def _kept_bytes(folder: Path) -> int:
    """Bytes of data and blocks, in memory and in the warehouse."""
    return used(folder / "shm") + used(folder / "warehouse")


def features_outlive_an_executor(folder: Path) -> None:
    """Kill an executor in the sixth iteration, which costs its part of that one; the answer is the same to the last
    bit.
    """
    weights: dict[bool, bytes] = {}
    with connect(folder) as context:
        blocks = make_features(context)
        for is_killed in (False, True):
            w = np.zeros(2)
            for iteration in range(8):
                calls = folder / f"calls-{is_killed}-{iteration}"
                calls.mkdir()
                timer = threading.Timer(0.3, _kill, [executors(context)[:1]])
                if is_killed and iteration == 5:
                    timer.start()
                w -= 1e-4 * sum(blocks.run(gradient, (w, str(calls), 0.1)))
                again = num_calls(calls) - NUM_BLOCKS
                assert again < NUM_BLOCKS, f"iteration {iteration}: {again}"
                assert iteration != 5 or is_killed == (again > 0), f"iteration {iteration}: {again}"
                timer.cancel()
            weights[is_killed] = w.tobytes()
    assert weights[False] == weights[True]
