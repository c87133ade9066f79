"""Log of epochs: what was begun is known after a crash, and the file stays small."""

from __future__ import annotations

import json
import time
from pathlib import Path

from sharkpy.streaming.epoch_log import EpochFigures, EpochLog, EpochWork, LoggedEpoch, Totals

NAMES = ("default.a",)


def fill(log: EpochLog, first: int, last: int) -> None:
    for number in range(first, last + 1):
        log.begin(number, (("a", (number - 1,), (number,)),), NAMES)
        log.end(number, 10 * number, 0.5)


def test_epochs_are_read_back_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "streams" / "q.jsonl"
    fill(EpochLog(str(path), 100), 1, 3)
    log = EpochLog(str(path), 100)
    assert [(one.number, one.ranges, one.rows, one.seconds) for one in log.epochs(3)] == [
        (number, (("a", (number - 1,), (number,)),), 10 * number, 0.5) for number in (3, 2, 1)
    ]
    assert [one.number for one in log.epochs(3, 2)] == [3, 2]
    first = json.loads(path.read_text().splitlines()[0])
    assert (first["epoch"], first["offsets"], first["streams"]) == (1, {"a": [0, 1]}, ["default.a"])
    log.remove()
    assert log.epochs(3) == []


def test_an_epoch_that_has_begun_is_known(tmp_path: Path) -> None:
    path = str(tmp_path / "q.jsonl")
    fill(EpochLog(path, 100), 1, 2)
    EpochLog(path, 100).begin(3, (("a", (2,), (9,)),), NAMES)
    log = EpochLog(path, 100)
    begun = log.begun(3)
    assert begun is not None
    assert (begun.ranges, begun.rows) == ((("a", (2,), (9,)),), None)
    assert log.begun(4) is None
    # After a loss of power the catalog may know less than the log.
    assert (again := log.begun(2)) is not None
    assert again.ranges == (("a", (1,), (2,)),)


def test_the_last_try_of_an_epoch_counts(tmp_path: Path) -> None:
    log = EpochLog(str(tmp_path / "q.jsonl"), 100)
    log.begin(1, (("a", (0,), (5,)),), NAMES)
    log.begin(1, (("a", (0,), (3,)),), NAMES)
    log.end(1, 7, 0.25)
    (only,) = log.epochs(1)
    assert only == LoggedEpoch(1, (("a", (0,), (3,)),), only.began, 7, 0.25, 0)


def test_a_torn_line_says_nothing_and_swallows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    fill(EpochLog(str(path), 100), 1, 2)
    whole = path.read_bytes()
    EpochLog(str(path), 100).begin(3, (("a", (2,), (4,)),), NAMES)
    added = path.read_bytes()[len(whole) :]
    for length in range(1, len(added)):
        path.write_bytes(whole + added[:length])
        assert EpochLog(str(path), 100).begun(3) is None, length
        fill(EpochLog(str(path), 100), 3, 3)
        assert [one.number for one in EpochLog(str(path), 100).epochs(3)] == [3, 2, 1], length


def test_the_newest_epochs_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    log = EpochLog(str(path), 100)
    sizes = []
    for start in range(1, 2_001, 100):
        fill(log, start, start + 99)
        sizes.append(path.stat().st_size)
    assert max(sizes) < 100_000
    known = EpochLog(str(path), 100).epochs(2_000)
    assert [one.number for one in known[:100]] == list(range(2_000, 1_900, -1))
    assert all(one.rows == 10 * one.number for one in known)
    assert [one.name for one in tmp_path.iterdir()] == ["q.jsonl"]


def test_positions_of_several_partitions(tmp_path: Path) -> None:
    log = EpochLog(str(tmp_path / "log"), 100)
    ranges = (("a", (0, 3), (4, 3, 1)), ("b", (7,), (8,)))
    log.begin(1, ranges, ["default.a", "default.b"])
    assert json.loads((tmp_path / "log").read_text())["offsets"] == {"a": [[0, 3], [4, 3, 1]], "b": [7, 8]}
    (only,) = EpochLog(str(tmp_path / "log"), 100).epochs(0)
    assert only.ranges == ranges


def test_an_epoch_that_begins_again_after_a_rollback(tmp_path: Path) -> None:
    """A process that rolls back may be killed before the log says so."""
    log = EpochLog(str(tmp_path / "log"), 100)
    fill(log, 1, 4)
    log.begin(2, (("a", (1,), (3,)),), NAMES)
    assert [(one.number, one.rows) for one in log.epochs(1)] == [(2, None), (1, 10)]
    log.end(2, 5, 0.5)
    for written in (2, 3):
        assert [(one.number, one.rows) for one in log.epochs(written)] == [(2, 5), (1, 10)]
    assert log.begun(3) is None


def test_an_epoch_that_begins_after_others_have_ended_it(tmp_path: Path) -> None:
    """One of two processes that run a query is late: the catalog will refuse its epoch."""
    log = EpochLog(str(tmp_path / "log"), 100)
    fill(log, 1, 2)
    log.begin(3, (("a", (2,), (3,)),), NAMES)
    log.begin(2, (("a", (1,), (3,)),), NAMES)
    assert [(one.number, one.rows) for one in log.epochs(2)] == [(3, None), (2, 20), (1, 10)]
    assert (begun := log.begun(3)) is not None
    assert begun.ranges == (("a", (2,), (3,)),)
    log.end(3, 30, 0.5)
    assert [(one.number, one.rows) for one in log.epochs(3)] == [(3, 30), (2, 20), (1, 10)]
    assert log.epochs(3)[1].ranges == (("a", (1,), (2,)),)


def totals_of(path: Path, written: int) -> tuple[int, int]:
    return EpochLog(str(path), 100).totals(written)


def test_totals_are_those_of_epochs_that_count(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    log = EpochLog(str(path), 100)
    assert totals_of(path, 0) == (0, 0)
    fill(log, 1, 3)
    # Logs of earlier versions have no totals.
    assert totals_of(path, 3) == (60, 0)
    for number in range(4, 7):
        log.begin(number, (("a", (number - 1,), (number,)),), NAMES)
        log.end(number, 5, 0.5, 1, Totals(log.totals(number - 1).rows + 5, log.totals(number - 1).bad_rows + 1))
    assert totals_of(path, 6) == (75, 3)
    # One that has ended, but that the catalog does not know, does not count.
    assert totals_of(path, 5) == (70, 2)
    log.roll_back(4)
    assert totals_of(path, 4) == (65, 1)
    log.begin(5, (("a", (4,), (9,)),), NAMES)
    log.end(5, 100, 0.5, 0, Totals(165, 1))
    assert totals_of(path, 5) == (165, 1)
    for number in range(6, 500):
        log.begin(number, (("a", (number - 1,), (number,)),), NAMES)
        log.end(number, 1, 0.5, 0, Totals(159 + number, 1))
    assert totals_of(path, 499) == (658, 1)
    path.write_text("".join(line for line in path.read_text().splitlines(True) if '"epoch": 499' not in line))
    assert totals_of(path, 498) == (657, 1)


def test_recent_epochs_have_their_phases_and_need_only_the_end_of_the_log(tmp_path: Path) -> None:
    path, work = tmp_path / "q.jsonl", EpochWork(0.001, 0.02, 0.003, 7)
    log = EpochLog(str(path), 500)
    for number in range(1, 2100):
        log.begin(number, (("a", (number - 1,), (number,)),), NAMES, is_synced=False)
        log.end(number, number, 0.024, 0, Totals(number), work)
    log.begin(2100, (("a", (2099,), (2100,)),), NAMES)
    recent = EpochLog(str(path), 500).recent_epochs(2099, 3)
    assert [(one.number, one.rows, one.work) for one in recent] == [(one, one, work) for one in (2099, 2098, 2097)]
    assert log.epochs(2099)[-1].work == work, "the log was shortened meanwhile"
    path.write_bytes(b"x" * (1 << 20) + b"\n" + path.read_bytes())
    assert len(log.recent_epochs(2099, 120)) == 120
    log.roll_back(2090)
    assert [one.number for one in log.recent_epochs(2090, 2)] == [2090, 2089]


def test_the_rate_is_of_the_last_seconds() -> None:
    figures, now = EpochFigures(), time.monotonic()
    assert figures.recent_rows_per_second == 0
    figures.recent = [(now - 100, 5000, 1.0), (now - 4, 300, 1.0), (now - 2, 200, 0.5)]
    assert figures.recent_rows_per_second == 50, "rows of ten seconds"
    figures.recent = [(now - 3, 300, 1.0), (now - 2, 100, 0.5)]
    assert 99 < figures.recent_rows_per_second <= 100, "since the start of the first epoch"
