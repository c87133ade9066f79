"""Folders of Hive partitions with odd names: folders from other programs, and folders of odd values."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import BindError

ODD_VALUES = [
    "x:y", "x%3Ay", "ü", "a b", " ", "a/b", "..", ".", "%", "%zz", "a\tb", "a\nb", "a\x00b", "a=b", "\u2028", "NULL",
    "A", "a", "'q'", '"d"', "\\", "_h", ".h", "e\u0301", "\x7f", "#", "[x]", "{y}", "*", "?", "~", "^", "x" * 200,
]  # fmt: skip


def put(home: Path, name: str | bytes, line: str) -> None:
    folder = os.path.join(os.fsencode(home), os.fsencode(name))
    os.makedirs(folder)
    Path(os.fsdecode(folder), "f").write_text(f"{line}\n")


def lines(context: sharkpy.SharkContext, text: str) -> list[str]:
    return [str(row[0]) for row in context.sql(text).fetchall()]


def test_repair_adds_all_but_those_that_are_not_clear(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    home = tmp_path / "t"
    names = ["p=a", "p=x%3Ay", "p=x:y", "P=1", "p=1", "p=%FC", "p=", "p=__HIVE_DEFAULT_PARTITION__", b"p=\xfc", "P=b"]
    for number, name in enumerate([*names, "q=1", "p=%C3%A4", "p=%zz"]):
        put(home, name, str(number))
    context.sql(f"CREATE EXTERNAL TABLE t (n INT) PARTITIONED BY (p STRING) LOCATION '{home}'")
    for statement in ("MSCK REPAIR TABLE t", "MSCK REPAIR TABLE t", "ALTER TABLE t RECOVER PARTITIONS"):
        told = [line for line in lines(context, statement) if line.startswith("Skipped")]
        assert told == [
            f"Skipped folder: {home}/p=\ufffd is not the name of a partition of t",
            f"Skipped folder: {home}/q=1 is not the name of a partition of t",
            f"Skipped folders: {home}/P=1 and {home}/p=1 stand for the same partition, t:p=1",
            f"Skipped folders: {home}/p= and {home}/p=__HIVE_DEFAULT_PARTITION__ stand for the same partition,"
            " t:p=__HIVE_DEFAULT_PARTITION__",
            f"Skipped folders: {home}/p=x%3Ay and {home}/p=x:y stand for the same partition, t:p=x%3Ay",
        ]
        found = [tuple(row) for row in context.sql("SELECT n, p FROM t ORDER BY n").fetchall()]
        assert found == [(0, "a"), (5, "\ufffd"), (9, "b"), (11, "ä"), (12, "%zz")]
    # A LOCATION in a statement is clear.
    context.sql(f"ALTER TABLE t ADD PARTITION (p='x:y') LOCATION '{home}/p=x:y'")
    assert f"Skipped folder: {home}/p=x%3Ay stands for t:p=x%3Ay, which lies in {home}/p=x:y" in lines(
        context, "MSCK REPAIR TABLE t"
    )
    assert lines(context, "SELECT n FROM t WHERE p = 'x:y'") == ["2"]
    context.sql("ALTER TABLE t DROP PARTITION (p='\ufffd'), PARTITION (p='%zz')")
    assert lines(context, "SELECT n FROM t ORDER BY n") == ["0", "2", "9", "11"]


@pytest.mark.parametrize("clauses", ["", "TBLPROPERTIES ('shark.cache' = 'MEMORY')"], ids=["files", "memory"])
def test_odd_values_are_written_and_found(context: sharkpy.SharkContext, clauses: str) -> None:
    numbers = list(range(len(ODD_VALUES)))
    context.save_as_table(pa.table({"n": numbers, "v": ODD_VALUES}), "given")
    context.sql(f"CREATE TABLE t (n INT) PARTITIONED BY (p STRING) {clauses}")
    context.sql("INSERT INTO t SELECT n, v FROM given")
    equal = "SELECT count(*) FROM t JOIN given g ON t.n = g.n AND t.p = g.v"
    assert lines(context, equal) == [str(len(numbers))]
    assert lines(context, "MSCK REPAIR TABLE t") == []
    for value in ("a\x00b", "x:y", "%zz", "\u2028"):
        literal = value.replace("\x00", "\\0")
        assert lines(context, f"SELECT count(*) FROM t WHERE p = '{literal}'") == ["1"]
        context.sql(f"ALTER TABLE t ADD IF NOT EXISTS PARTITION (p='{literal}')")
        context.sql(f"ALTER TABLE t DROP PARTITION (p='{literal}')")
    assert lines(context, "SELECT count(*) FROM t") == [str(len(numbers) - 4)]


def test_the_empty_text_is_the_default_value(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (n INT) PARTITIONED BY (p STRING)")
    context.sql("INSERT INTO t VALUES (1, ''), (2, NULL)")
    assert lines(context, "SHOW PARTITIONS t") == ["p=__HIVE_DEFAULT_PARTITION__"]
    context.sql("ALTER TABLE t ADD IF NOT EXISTS PARTITION (p='')")
    with pytest.raises(BindError, match="has the partition p=__HIVE_DEFAULT_PARTITION__ already"):
        context.sql("ALTER TABLE t ADD PARTITION (p='')")
    context.sql("ALTER TABLE t ADD PARTITION (p='a')")
    with pytest.raises(BindError, match="has the partition p=__HIVE_DEFAULT_PARTITION__ already"):
        context.sql("ALTER TABLE t PARTITION (p='a') RENAME TO PARTITION (p='')")
