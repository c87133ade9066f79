"""Blocks cut while a worker reads them from its memory: it dies of SIGBUS, and the block counts as lost."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

import sharkpy
from tests.faults.cluster import connect, run_apart
from tests.faults.test_killed_workers import daemons

pytestmark = pytest.mark.spark
_ROUNDS = 12
_WAIT_SECONDS = 60


def _workers() -> list[psutil.Process]:
    return [worker for daemon in daemons() for worker in daemon.children()]


def _has_mapped(worker: psutil.Process, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return f"{path}\n" in Path(f"/proc/{worker.pid}/maps").read_text()
    return False


def _cut_when_mapped(path: Path, victims: list[psutil.Process]) -> None:
    """Cut the file at the moment when a worker has it mapped; that worker goes into `victims`."""
    until = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < until:
        for worker in _workers():
            with contextlib.suppress(psutil.Error):
                if _has_mapped(worker, path):
                    worker.send_signal(signal.SIGSTOP)
                    os.truncate(path, 0)
                    victims.append(worker)
                    worker.send_signal(signal.SIGCONT)
                    return


def _is_dead(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() == psutil.STATUS_ZOMBIE
    return True


def cut_until_one_dies(context: sharkpy.SharkContext) -> None:
    """Ask while a block is cut. A worker may read on after the cut, by chance: cuts go on until one has died."""
    before = context.conf["shark.block.rows"]
    context.sql("SET shark.block.rows = 1000000")
    numbers = "(SELECT explode(sequence(1, 500000)) AS id) t"
    store = "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"
    context.sql(f"CREATE TABLE long {store} AS SELECT id AS k, sha2(concat(id), 256) AS t FROM {numbers}")
    context.sql(f"SET shark.block.rows = {before}")
    query = "SELECT count(*), sum(k), max(t), min(t) FROM long"
    answer = context.sql(query).fetchall()
    deaths = 0
    for _ in range(_ROUNDS):
        version = context.table_cache.loaded_version(context.catalog.table("default", "long"))
        assert version is not None
        idle = _workers()
        for worker in idle:
            worker.kill()
        # Until their daemon has noticed, Spark gives them tasks.
        psutil.wait_procs(idle, _WAIT_SECONDS)
        victims: list[psutil.Process] = []
        cutter = threading.Thread(target=_cut_when_mapped, args=(Path(version.blocks[0].memory_path), victims))
        cutter.start()
        try:
            assert context.sql(query).fetchall() == answer
        finally:
            cutter.join()
        assert victims
        deaths += all(map(_is_dead, victims))
        if deaths:
            break
    assert deaths
    context.sql("DROP TABLE long")


@pytest.mark.slow
def test_a_worker_that_dies_of_a_cut_block(context: sharkpy.SharkContext) -> None:
    cut_until_one_dies(context)


def with_one_try(folder: Path) -> None:
    with connect(folder, "local[2,1]") as context:
        cut_until_one_dies(context)


@pytest.mark.slow
def test_a_task_that_dies_of_a_cut_block_at_each_try(tmp_path: Path) -> None:
    """Spark gives the task up: the stage is run again, over blocks that are whole."""
    run_apart("with_one_try", tmp_path, module=__name__)
