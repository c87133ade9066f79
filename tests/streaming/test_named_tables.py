"""Continuous tables as the catalog knows them: shown, described, renamed and dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, until_numbers


def test_it_can_be_renamed_and_described(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    until_numbers(context, [1])
    context.sql("ALTER TABLE t RENAME TO moved")
    put_numbers(folder, "b", [2])
    until_numbers(context, [1, 2], "moved")
    assert rows(context, "SHOW STREAMS") == [("default", "numbers", "FOLDER", str(folder), None)]
    assert [row[1] for row in rows(context, "SHOW CONTINUOUS TABLES LIKE 'mov*'")] == ["moved"]
    assert json.loads(str(rows(context, "SHOW EPOCHS moved LIMIT 1")[0][5])) == {"default.numbers": [1, 2]}
    assert ("n", "bigint", "") in rows(context, "DESCRIBE moved")
    assert rows(context, "DESCRIBE FORMATTED numbers")


def test_show_create_makes_it_again(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(
        "CREATE STREAM numbers (n BIGINT COMMENT 'a number', s STRING) COMMENT 'some' STORED AS JSONFILE"
        f" TBLPROPERTIES ('failOnDataLoss' = 'false') FROM FOLDER '{folder}' ('max.files.per.epoch' = '7')"
    )
    put_numbers(folder, "a", [1])
    context.sql(
        f"CREATE CONTINUOUS TABLE t PARTITIONED BY (s) COMMENT 'kept' STORED AS ORC {MEMORY} TRIGGER EVERY 2 SECONDS"
        " AS SELECT * FROM numbers"
    )
    context.sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT n FROM numbers")
    names = ("numbers", "t", "u")
    made = {name: [str(row[0]) for row in rows(context, f"SHOW CREATE TABLE {name}")] for name in names}
    assert "TRIGGER EVERY 2000 MILLISECONDS" in made["t"]
    for name in ("t", "u"):
        context.sql(f"DROP CONTINUOUS TABLE {name}")
    context.sql("DROP STREAM numbers")
    for name in names:
        context.sql("\n".join(made[name]))
        assert [str(row[0]) for row in rows(context, f"SHOW CREATE TABLE {name}")] == made[name]
    until_numbers(context, [1])
    assert numbers(context, "u") == [1]


def test_describe_tells_how_far_it_is(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    for style, mark in (("EXTENDED", ""), ("FORMATTED", ":")):
        facts = {row[0]: row[1] for row in rows(context, f"DESCRIBE {style} t")}
        assert facts[f"State{mark}"] == "FINISHED"
        assert facts[f"Epoch{mark}"] == "1"
        assert facts[f"Offset of default.numbers{mark}"] == "1 of 1"
        assert facts[f"Continuous Query{mark}"] == "SELECT n FROM numbers"
        facts = {row[0]: row[1] for row in rows(context, f"DESCRIBE {style} numbers")}
        assert (facts[f"Source{mark}"], facts[f"Known Items{mark}"]) == ("FOLDER", "1")


def test_drop_leaves_nothing_but_the_input(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} AS SELECT n FROM numbers")
    until_numbers(context, [1])
    place = Path(context.catalog.table("default", "t").location or "")
    with pytest.raises(BindError, match=r"continuous table default\.t reads the stream"):
        context.sql("DROP STREAM numbers")
    context.sql("DROP CONTINUOUS TABLE t")
    context.sql("DROP STREAM numbers")
    context.sql("DROP CONTINUOUS TABLE IF EXISTS t")
    context.sql("DROP STREAM IF EXISTS numbers")
    assert not place.exists()
    assert (folder / "a").is_file()
    assert not list((tmp_path / "w" / ".sharkpy" / "streams").iterdir())
    assert context.catalog.streams.queries() == []
    make_stream(context, folder)
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    assert numbers(context) == [1]


def test_a_database_goes_with_its_continuous_tables(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE DATABASE d")
    context.sql("USE d")
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    until_numbers(context, [1])
    context.sql("DROP DATABASE d CASCADE")
    assert context.catalog.streams.queries() == []
