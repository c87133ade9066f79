"""Kills of an executor, a worker daemon or a worker in a superstep cost a part of that superstep."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil
import pytest

import sharkpy
from tests.faults.cluster import run_apart
from tests.faults.supersteps import check_kill
from tests.faults.test_killed_workers import daemons

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["worker", "daemon"])
def test_killed_on_this_machine(context: sharkpy.SharkContext, tmp_path: Path, seed: int, kind: str) -> None:
    """All processes of a kind are killed: idle ones would not be missed."""

    def kill() -> int:
        found = daemons()
        victims = [worker for daemon in found for worker in daemon.children()] + (found if kind == "daemon" else [])
        for victim in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
        return len(victims)

    check_kill(context, tmp_path, seed, kill)


@pytest.mark.slow
def test_killed_on_executors(tmp_path: Path, seed: int) -> None:
    run_apart("killed_in_a_superstep", tmp_path, seed, module="tests.faults.supersteps")
