"""Rollback of continuous tables: the rows of an earlier epoch, and the later epochs once more."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.sources.folders.generations import is_folded
from tests.files import files_of
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, until_numbers

pytestmark = pytest.mark.settings({"shark.stream.kept.epochs": 5, "shark.compaction.min.blocks": 4})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make_stream(context, folder)
    return context


def epochs(context: sharkpy.SharkContext) -> list[object]:
    return [row[0] for row in rows(context, "SHOW EPOCHS t") if row[1] == "WRITTEN"]


def write_epochs(context: sharkpy.SharkContext, folder: Path, wanted: range) -> None:
    """Write an epoch with each of the numbers."""
    for number in wanted:
        put_numbers(folder, f"{number:03d}.json", [number])
        context.sql("RESUME CONTINUOUS TABLE t")


@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_the_rows_of_then_are_there_and_the_next_epochs_run_again(
    context: sharkpy.SharkContext, folder: Path, clauses: str
) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} AS SELECT n, s, 'old' AS how FROM numbers")
    write_epochs(context, folder, range(1, 5))
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
    assert numbers(context) == [1, 2]
    assert epochs(context) == [2, 1]
    context.sql(f"ALTER CONTINUOUS TABLE t {NOW} AS SELECT n, s, 'new' AS how FROM numbers")
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT n, how FROM t ORDER BY n") == [(1, "old"), (2, "old"), (3, "new"), (4, "new")]
    assert epochs(context) == [3, 2, 1]


def test_a_table_that_runs_goes_on_by_itself(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} AS SELECT n FROM numbers")
    for number in range(1, 6):
        put_numbers(folder, f"{number}.json", [number])
        until_numbers(context, range(1, number + 1))
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 3")
    until_numbers(context, range(1, 6))
    put_numbers(folder, "6.json", [6])
    until_numbers(context, range(1, 7))


def test_to_a_moment(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    write_epochs(context, folder, range(1, 3))
    time.sleep(0.01)
    context.sql("SET TIME ZONE 'Asia/Tokyo'")
    ((moment,),) = rows(context, "SELECT date_format(current_timestamp(), 'yyyy-MM-dd HH:mm:ss.SSS')")
    time.sleep(0.01)
    write_epochs(context, folder, range(3, 5))
    context.sql(f"ROLLBACK CONTINUOUS TABLE t TO TIMESTAMP '{moment}'")
    assert numbers(context) == [1, 2]
    with pytest.raises(BindError, match=r"the epoch of that moment of default\.t is not available"):
        context.sql("ROLLBACK CONTINUOUS TABLE t TO TIMESTAMP '2001-01-01 00:00:00'")
    with pytest.raises(BindError, match='"soon" is not a timestamp'):
        context.sql("ROLLBACK CONTINUOUS TABLE t TO TIMESTAMP 'soon'")


def test_the_last_epochs_are_kept(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    write_epochs(context, folder, range(1, 9))
    with pytest.raises(BindError, match=r"epoch 3 of default\.t is not available.*epochs 4 to 8"):
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 3")
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 4")
    assert numbers(context) == [1, 2, 3, 4]
    with pytest.raises(BindError, match="is not available"):
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 5")
    write_epochs(context, folder, range(9, 11))
    assert numbers(context) == list(range(1, 11))
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 4")
    assert numbers(context) == [1, 2, 3, 4]


@pytest.mark.slow
def test_files_of_kept_epochs_are_not_put_together(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {NOW} AS SELECT n FROM numbers")
    known: dict[object, list[object]] = {}
    for last in range(10, 61, 10):
        for number in range(last - 9, last + 1):
            write_epochs(context, folder, range(number, number + 1))
            known[epochs(context)[0]] = numbers(context)
            context.table_cache.settle()
        assert any(is_folded(file.path) for file in files_of(context)), "nothing was put together"
        epoch = epochs(context)[4]
        context.sql(f"ROLLBACK CONTINUOUS TABLE t TO EPOCH {epoch}")
        assert numbers(context) == known[epoch]
        context.sql("RESUME CONTINUOUS TABLE t")
        assert numbers(context) == list(range(1, last + 1))
        known[epochs(context)[0]] = numbers(context)


@pytest.mark.parametrize("clauses", ["", "PARTITIONED BY (s)"])
def test_names_of_files_do_not_grow(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} AS SELECT n, 'x' AS s FROM numbers")
    write_epochs(context, folder, range(1, 3))
    lengths = []
    for number in range(3, 8):
        write_epochs(context, folder, range(number, number + 1))
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
        lengths.append(sorted(len(Path(file.path).name) for file in files_of(context)))
    assert lengths[0] == lengths[-1] != []
    assert numbers(context) == [1, 2]


def test_refresh_begins_anew(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    write_epochs(context, folder, range(1, 4))
    context.sql("REFRESH CONTINUOUS TABLE t")
    with pytest.raises(BindError, match="is not available"):
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
    assert numbers(context) == [1, 2, 3]


def test_a_rollback_stays_after_a_restart(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {NOW} AS SELECT n FROM numbers")
        write_epochs(context, folder, range(1, 5))
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        assert numbers(context) == [1]
        context.sql("RESUME CONTINUOUS TABLE t")
        assert numbers(context) == [1, 2, 3, 4]


def test_pushed_rows_that_are_gone_cannot_be_read_again(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE STREAM events (n BIGINT) FROM PROGRAM")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM events")
    for number in (1, 2):
        context.push("events").write([(number,)])
        context.sql("RESUME CONTINUOUS TABLE t")
    with pytest.raises(BindError, match=r"items of default\.events after epoch 1 are gone"):
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")
    assert numbers(context) == [1, 2]


def test_what_cannot_be_rolled_back(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE plain (n INT)")
    with pytest.raises(BindError, match="is not a continuous table"):
        context.sql("ROLLBACK CONTINUOUS TABLE plain TO EPOCH 1")
    with pytest.raises(UnsupportedError, match="ROLLBACK"):
        context.sql("ROLLBACK")
