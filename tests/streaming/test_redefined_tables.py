"""Continuous tables that start again, or get another query."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, SharkError, SourceError
from sharkpy.streaming import kill_points
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, state_of, until_numbers


def test_refresh_reads_everything_again(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE TABLE names (n BIGINT, name STRING) STORED AS PARQUET")
    context.sql("INSERT INTO names VALUES (1, 'one')")
    make_stream(context, folder)
    for name in (1, 2):
        put_numbers(folder, str(name), [name])
    text = "SELECT x.n, y.name FROM numbers x LEFT JOIN names y ON x.n = y.n"
    for name, clauses in (("t", ""), ("u", MEMORY), ("v", f"PARTITIONED BY (name) {MEMORY}")):
        context.sql(f"CREATE CONTINUOUS TABLE {name} {clauses} AS {text}")
        until_numbers(context, [1, 2], name)
    context.sql("INSERT INTO names VALUES (2, 'two')")
    for name in ("t", "u", "v"):
        epochs = len(rows(context, f"SHOW EPOCHS {name}"))
        context.sql(f"REFRESH CONTINUOUS TABLE {name}")
        until_numbers(context, [1, 2], name)
        assert sorted(rows(context, f"SELECT n, name FROM {name}")) == [(1, "one"), (2, "two")]
        listed = rows(context, f"SHOW EPOCHS {name}")
        assert [row[0] for row in reversed(listed)] == list(range(1, len(listed) + 1))
        assert json.loads(str(listed[-1 - epochs][5])) == {"default.numbers": [0, 0]}
    put_numbers(folder, "c", [3])
    for name in ("t", "u", "v"):
        until_numbers(context, [1, 2, 3], name)


def test_refresh_mends_a_table_that_was_stopped_and_ends_with_its_trigger(
    context: sharkpy.SharkContext, folder: Path
) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1, 2])
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    context.sql("REFRESH CONTINUOUS TABLE t")
    assert (numbers(context), state_of(context)) == ([1, 2], ("FINISHED", None))
    put_numbers(folder, "a", [1, 2, 3])
    with pytest.raises(SourceError, match="was changed"):
        context.sql("REFRESH CONTINUOUS TABLE t")


def test_refresh_is_refused_where_the_beginning_is_gone(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE STREAM events (n BIGINT) FROM PROGRAM")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM events")
    context.sql("REFRESH CONTINUOUS TABLE t")
    with context.push("events") as out:
        out.write([(1,)])
        out.write([(2,)])
    context.sql("RESUME CONTINUOUS TABLE t")
    with pytest.raises(BindError, match=r"the first 2 items of default\.events are gone"):
        context.sql("REFRESH CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2]


def test_another_query_holds_from_the_next_epoch_on(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n, s FROM numbers")
    until_numbers(context, [1])
    context.sql("ALTER CONTINUOUS TABLE t AS SELECT s, n * 10 AS n FROM numbers WHERE n < 5")
    put_numbers(folder, "b", [2, 7])
    until_numbers(context, [1, 20])
    assert rows(context, "SELECT s FROM t WHERE n = 20") == [("s2",)]
    facts = {row[0]: row[1] for row in rows(context, "DESCRIBE EXTENDED t")}
    assert facts["Continuous Query"] == "SELECT s, n * 10 AS n FROM numbers WHERE n < 5"
    context.sql("ALTER CONTINUOUS TABLE t TRIGGER AVAILABLE NOW")
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][2:4] == ("FINISHED", "AVAILABLE NOW")
    put_numbers(folder, "c", [3])
    context.sql("ALTER CONTINUOUS TABLE t TRIGGER EVERY 10 MILLISECONDS")
    until_numbers(context, [1, 20, 30])
    for text, message in (
        ("ALTER CONTINUOUS TABLE t AS SELECT n FROM numbers", "the query has the columns n, and default.t has n, s"),
        ("ALTER CONTINUOUS TABLE t AS SELECT n, s, 1 AS x FROM numbers", "has the columns n, s, x"),
        ("ALTER CONTINUOUS TABLE t AS SELECT count(*) AS n, s FROM numbers GROUP BY s", "aggregate"),
        ("ALTER CONTINUOUS TABLE t", "TRIGGER, ON BAD ROW or AS query expected"),
        ("ALTER CONTINUOUS TABLE numbers AS SELECT 1 AS n", "is not a continuous table"),
    ):
        with pytest.raises(SharkError, match=message):
            context.sql(text)


def test_another_query_may_read_other_streams(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder / "one")
    context.sql(f"CREATE STREAM others (n BIGINT) STORED AS JSONFILE FROM FOLDER '{folder / 'two'}'")
    put_numbers(folder / "one", "a", [1])
    put_numbers(folder / "two", "a", [100])
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    context.sql("ALTER CONTINUOUS TABLE t AS SELECT n FROM numbers UNION ALL SELECT n FROM others")
    put_numbers(folder / "one", "b", [2])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2, 100]


def test_an_epoch_of_the_old_query_does_not_count(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    done: list[str] = []

    def hook(step: str) -> None:
        if step == kill_points.BEGUN and not done:
            done.append(step)
            with sharkpy.connect("local[2]", context.catalog.warehouse_dir) as other:
                other.sql("PAUSE CONTINUOUS TABLE t")
                other.sql("ALTER CONTINUOUS TABLE t AS SELECT n * 10 AS n FROM numbers")
                other.sql("RESUME CONTINUOUS TABLE t")

    monkeypatch.setattr(kill_points, "observer", hook)
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    until_numbers(context, [10])
    assert done
