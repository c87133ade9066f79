"""Continuous tables, read as they were at one of their last epochs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ParseError, UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, put_numbers

pytestmark = pytest.mark.settings({"shark.stream.kept.epochs": 5, "shark.compaction.min.blocks": 4})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make_stream(context, folder)
    return context


def write_epochs(context: sharkpy.SharkContext, folder: Path, wanted: range) -> None:
    for number in wanted:
        put_numbers(folder, f"{number:03d}.json", [number])
        context.sql("RESUME CONTINUOUS TABLE t")


def sums(context: sharkpy.SharkContext, version: str) -> tuple[object, ...]:
    (found,) = rows(context, f"SELECT count(*), sum(n), max(s) FROM t {version}")
    return found


@pytest.mark.variants(3)
@pytest.mark.parametrize("clauses", ["", MEMORY, "STORED AS TEXTFILE"])
def test_each_kept_epoch_has_its_rows(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} AS SELECT n, s FROM numbers")
    for last in range(1, 31):
        write_epochs(context, folder, range(last, last + 1))
        for epoch in range(max(1, last - 4), last + 1, 2):
            expected = (epoch, epoch * (epoch + 1) // 2, max(f"s{number}" for number in range(1, epoch + 1)))
            assert sums(context, f"FOR SYSTEM_VERSION AS OF {epoch}") == expected
    assert sums(context, "VERSION AS OF 28") == sums(context, "FOR VERSION AS OF 28")
    with pytest.raises(BindError, match=r"epoch 25 of default\.t is not available.*epochs 26 to 30"):
        sums(context, "FOR SYSTEM_VERSION AS OF 25")
    assert sums(context, "")[0] == 30


def test_at_a_moment(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n, s FROM numbers")
    write_epochs(context, folder, range(1, 3))
    time.sleep(0.01)
    ((moment,),) = rows(context, "SELECT date_format(current_timestamp(), 'yyyy-MM-dd HH:mm:ss.SSS')")
    time.sleep(0.01)
    write_epochs(context, folder, range(3, 4))
    for words in ("FOR SYSTEM_TIME AS OF", "TIMESTAMP AS OF"):
        assert sums(context, f"{words} '{moment}'")[0] == 2
    with pytest.raises(BindError, match=r"the epoch of that moment of default\.t is not available"):
        sums(context, "TIMESTAMP AS OF '2001-01-01 00:00:00'")


def test_two_versions_in_one_query(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {NOW} AS SELECT n, s FROM numbers")
    write_epochs(context, folder, range(1, 5))
    text = (
        "SELECT a.n FROM t a LEFT ANTI JOIN t FOR SYSTEM_VERSION AS OF 2 b ON a.n = b.n"
        " UNION ALL SELECT -n FROM t FOR SYSTEM_VERSION AS OF 1"
    )
    assert sorted(rows(context, text)) == [(-1,), (3,), (4,)]


def test_a_version_that_a_rollback_took_is_gone(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n, s FROM numbers")
    write_epochs(context, folder, range(1, 5))
    text = "SELECT count(*) FROM t FOR SYSTEM_VERSION AS OF 3"
    assert rows(context, text) == [(3,)]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
    with pytest.raises(BindError, match="is not available"):
        rows(context, text)
    context.sql("RESUME CONTINUOUS TABLE t")
    # Both files are read by one epoch now.
    assert rows(context, text) == [(4,)]
    assert rows(context, "SELECT count(*) FROM t FOR SYSTEM_VERSION AS OF 2") == [(2,)]


def test_what_has_no_versions(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TEMPORARY TABLE plain (n INT)")
    context.sql(f"CREATE CONTINUOUS TABLE parts PARTITIONED BY (s) {NOW} AS SELECT n, s FROM numbers")
    with pytest.raises(UnsupportedError, match=r"default\.plain, whose changes are not recorded"):
        rows(context, "SELECT * FROM plain FOR SYSTEM_VERSION AS OF 1")
    with pytest.raises(BindError, match=r"epoch 1 of default\.parts is not available.*no epoch is"):
        rows(context, "SELECT * FROM parts VERSION AS OF 1")
    with pytest.raises(ParseError, match="AS OF and a literal expected"):
        rows(context, "SELECT * FROM parts FOR SYSTEM_TIME BETWEEN '2020-01-01' AND '2021-01-01'")
    with pytest.raises(BindError, match='"soon" is not a timestamp'):
        rows(context, "SELECT * FROM parts TIMESTAMP AS OF 'soon'")
