"""The log of an operation: what a client reads, how much is kept, and what Superset makes of it."""

from __future__ import annotations

import re

import pytest

from sharkpy.execution.statement import Progress
from sharkpy.thrift.operation_progress import MOST_LETTERS, MOST_LINES, OperationLog, StageTable


def test_lines_are_read_once_and_from_the_start_again() -> None:
    log = OperationLog()
    for number in range(5):
        log.info(f"line {number}")
    assert log.read(2) == ["INFO  : line 0", "INFO  : line 1"]
    assert log.read(10) == ["INFO  : line 2", "INFO  : line 3", "INFO  : line 4"]
    assert log.read(10) == []
    log.error("bad")
    assert log.read(10) == ["ERROR : bad"]
    assert len(log.read(3, from_start=True)) == 3
    assert log.read(10)[0] == "INFO  : line 3"


def test_of_too_many_the_oldest_go() -> None:
    log = OperationLog()
    for number in range(MOST_LINES + 10):
        log.info(str(number))
    assert log.read(1) == ["INFO  : 10"]
    for number in range(20):
        log.info(f"later {number}")
    lines = log.read(2 * MOST_LINES)
    assert lines[0] == "INFO  : 30", "what was not read in time is gone; nothing comes twice"
    assert lines[-1] == "INFO  : later 19"
    assert len(log.read(2 * MOST_LINES, from_start=True)) == MOST_LINES


def test_a_line_is_one_line_and_not_endless() -> None:
    log = OperationLog()
    log.info("SELECT 1\n,\r\n2 ERROR : forged" + "x" * 100_000)
    (line,) = log.read(10)
    assert "\n" not in line
    assert "\r" not in line
    assert len(line) <= MOST_LETTERS


# What superset/db_engine_specs/hive.py looks for.
TOTAL = re.compile(r".*INFO.*Total jobs = (?P<most>[0-9]+)")
LAUNCHING = re.compile(r".*INFO.*Launching Job (?P<job>[0-9]+) out of (?P<most>[0-9]+)")
STAGE = re.compile(r".*INFO.*Stage-(?P<stage>[0-9]+).*map = (?P<map>[0-9]+)%.*reduce = (?P<reduce>[0-9]+)%.*")


def superset_progress(lines: list[str]) -> int:
    most, job, stages = 1, 1, {}
    for line in lines:
        if found := TOTAL.match(line):
            most = int(found["most"])
        if found := LAUNCHING.match(line):
            job, most, stages = int(found["job"]), int(found["most"]), {}
        if found := STAGE.match(line):
            stages[found["stage"]] = (int(found["map"]) + int(found["reduce"])) / 2
    share = sum(stages.values()) / len(stages) if stages else 0.0
    return int(100 * (job - 1) / most + share / most)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharkpy.thrift.operation_progress._PROGRESS_SECONDS", 0.0)


@pytest.mark.usefixtures("hasty")
def test_superset_reads_the_progress() -> None:
    log = OperationLog()
    log.info("Compiling command(queryId=x): SELECT map = 7%, reduce = 9%")
    seen = []
    for done in (0, 4, 10):
        log.progress(Progress("scan t", 0, done, 10, 1000 * done))
        seen.append(superset_progress(log.read(1000, from_start=True)))
    assert seen == [0, 40, 100]
    log.progress(Progress("aggregate", 1, 1, 4, 0))
    assert superset_progress(log.read(1000, from_start=True)) == 62
    assert superset_progress(["nothing"]) == 0


def test_lines_of_a_stage_come_at_most_once_a_second() -> None:
    log = OperationLog()
    for done in range(1000):
        log.progress(Progress("scan t", 0, done, 1001, done))
    assert len(log.read(1000)) < 10
    log.progress(Progress("scan t", 0, 1001, 1001, 5))
    assert log.read(10) == ["INFO  : Stage-1 map = 100%,  reduce = 100%, rows read = 5"]


def test_who_waits_is_told_behind_whom() -> None:
    log = OperationLog()
    log.progress(Progress("queue", 0, 0, 0, 0, 3))
    assert log.read(10) == ["INFO  : Waiting: 3 queries before it"]


def test_notices_come_at_once_and_are_no_stages() -> None:
    log, board = OperationLog(), StageTable(1)
    for progress in (Progress("scan", 0, 1, 2, 5), Progress("notice", 0, 0, 0, 0, notice="not converged")):
        log.progress(progress)
        board.tell(progress)
    assert log.read(10)[-1] == "WARN  : not converged"
    assert board.rows_read == 5
