"""Disk that fills while epochs are written: the continuous table waits, reports it, and goes on when there is room; no
row is lost, none comes twice.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.streaming import scheduler
from tests.faults.disk import ballast, small_disk
from tests.faults.nth_write import nth_write_fails
from tests.faults.test_killed_epochs import KINDS, PER_FILE, check_prefix, put_file
from tests.paths_below import paths_below
from tests.streaming.folder_input import make_stream, state_of, until_numbers
from tests.waiting import until

_MOST_WRITES = 200


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_FIRST_WAIT", 0.05)
    monkeypatch.setattr(scheduler, "_LONGEST_WAIT", 0.2)


def make(context: sharkpy.SharkContext, inputs: Path, kind: str) -> None:
    make_stream(context, inputs / "in")
    (inputs / "in").mkdir()
    query = "SELECT n, concat('p', n % 3) AS s FROM numbers"
    context.sql(f"CREATE CONTINUOUS TABLE {kind} {KINDS[kind]} AS {query}")
    put_file(inputs, 0)
    until_numbers(context, range(PER_FILE), kind)


def fault_of(context: sharkpy.SharkContext, kind: str) -> str | None:
    state, fault = state_of(context, kind)
    assert state == "RUNNING", fault
    return fault


def wait_for_epoch_or_fault(context: sharkpy.SharkContext, kind: str, files: int) -> str | None:
    """Wait until a table has the rows of so many files, or says what it waits for; returns that."""
    until(lambda: fault_of(context, kind) or check_prefix(context, kind, files) == files)
    return fault_of(context, kind)


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
def test_full_from_the_nth_write_on(tmp_path: Path, kind: str) -> None:
    """For every n, until an epoch comes through."""
    faults, places = set[str](), set[str]()
    (tmp_path / "shm").mkdir()
    conf = {"shark.store.shm.dir": tmp_path / "shm", "shark.temp.dir": tmp_path}
    with sharkpy.connect("local[2]", tmp_path / "w", **conf) as context:
        make(context, tmp_path, kind)
        for number in range(1, _MOST_WRITES):
            wanted = list(range((number + 1) * PER_FILE))
            with nth_write_fails(tmp_path / "w", number) as writes:
                put_file(tmp_path, number)
                fault = wait_for_epoch_or_fault(context, kind, number + 1)
                assert check_prefix(context, kind, number + 1) >= number, writes.place
                if fault:
                    # Of this attempt or of one after it, which fails at its first write.
                    faults.add(fault)
                    places.add(writes.place)
            until_numbers(context, wanted, kind)
            until(lambda: fault_of(context, kind) is None)
            if not writes.has_failed:
                break
        assert not writes.has_failed
        assert all("disk full" in one or "no space left" in one for one in faults), faults
        assert len(places) > 2
        location = Path(context.catalog.table("default", kind).location or "")
        # A fold of small files may be under way.
        until(lambda: not paths_below(location, ".staging*"), 10)


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_without_room(tmp_path: Path, kind: str) -> None:
    """The catalog has no room either: SQLite says so, not Python."""
    with small_disk(tmp_path / "disk", 12 << 20) as disk:
        (tmp_path / "shm").mkdir()
        conf = {"shark.store.shm.dir": tmp_path / "shm", "shark.temp.dir": tmp_path}
        with sharkpy.connect("local[2]", disk / "w", **conf) as context:
            make(context, tmp_path, kind)
            for number, room in enumerate((0, 4 << 10, 16 << 10, 40 << 10, 0), 1):
                with ballast(disk, room):
                    put_file(tmp_path, number)
                    wait_for_epoch_or_fault(context, kind, number + 1)
                    assert check_prefix(context, kind, number + 1) >= number
                until_numbers(context, range((number + 1) * PER_FILE), kind)
                until(lambda: fault_of(context, kind) is None)


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_rollback_without_room(tmp_path: Path, kind: str) -> None:
    """For every n: the table is as before the rollback, or as at the epoch."""
    failures = 0
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in")
        query = "SELECT n, concat('p', n) AS s FROM numbers"
        context.sql(f"CREATE CONTINUOUS TABLE {kind} {KINDS[kind]} TRIGGER AVAILABLE NOW AS {query}")
        for number in range(4):
            put_file(tmp_path, number)
            context.sql(f"RESUME CONTINUOUS TABLE {kind}")
        for number in range(1, _MOST_WRITES):
            with nth_write_fails(tmp_path / "w", number) as writes:
                try:
                    context.sql(f"ROLLBACK CONTINUOUS TABLE {kind} TO EPOCH 2")
                    is_done = True
                except SharkError as error:
                    assert error.sqlstate == "53100", writes.place  # noqa: PT017 - which write it was
                    is_done = False
            found = check_prefix(context, kind, 4)
            assert found == 2 if is_done else found in (2, 4), writes.place
            assert check_prefix(context, f"{kind} VERSION AS OF 2", 4) == 2
            if found == 2:
                context.sql(f"RESUME CONTINUOUS TABLE {kind}")
            assert check_prefix(context, kind, 4) == 4
            if not writes.has_failed:
                break
            failures += not is_done
        assert is_done
        assert failures > 2
