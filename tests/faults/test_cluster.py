"""Executors, daemons and workers killed, files damaged, a worker stopped: every answer comes, and is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.cluster import EVENTS, run_apart

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.slow
def test_each_event_once(tmp_path: Path, seed: int) -> None:
    run_apart("many_events", tmp_path, seed, len(EVENTS))


@pytest.mark.slow
def test_many_events(tmp_path: Path, seed: int) -> None:
    """About 45 kills; the local ones of test_killed_workers.py make it more than a hundred."""
    print(run_apart("many_events", tmp_path, seed, 105, seconds=880))


@pytest.mark.slow
def test_a_stopped_worker(tmp_path: Path, seed: int) -> None:
    run_apart("stopped_worker", tmp_path, seed)


@pytest.mark.parametrize(
    ("function", "wanted", "seconds"),
    [
        pytest.param("continuous_tables", 3, 280, id="executors-some", marks=pytest.mark.slow),
        pytest.param("continuous_tables", 60, 880, id="executors-many", marks=pytest.mark.slow),
        pytest.param("lost_jvms", 1, 280, id="jvm-some", marks=pytest.mark.slow),
        pytest.param("lost_jvms", 20, 880, id="jvm-many", marks=pytest.mark.slow),
    ],
)
def test_continuous_tables(tmp_path: Path, seed: int, function: str, wanted: int, seconds: float) -> None:
    print(run_apart(function, tmp_path, seed, wanted, seconds=seconds, module="tests.faults.cluster_streams"))
