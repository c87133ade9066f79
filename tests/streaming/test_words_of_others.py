"""Words that readers of other systems' manuals type: accepted if the meaning is the same, else refused with ours."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ParseError, SharkError, UnsupportedError
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers, put_numbers, until_numbers

ONCE = "TRIGGER AVAILABLE NOW"


@pytest.fixture
def context(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    make_stream(context, tmp_path / "in")
    context.sql("CREATE TABLE users (n BIGINT, name STRING)")
    context.sql("INSERT INTO users VALUES (1, 'one'), (2, 'two')")
    put_numbers(tmp_path / "in", "a", range(3))
    return context


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "text",
    [
        f"CREATE STREAMING TABLE t {ONCE} AS SELECT n FROM STREAM(numbers) x WHERE n > 0",
        f"CREATE STREAMING TABLE IF NOT EXISTS t {ONCE} AS SELECT n FROM STREAM numbers WHERE n > 0",
        f"CREATE STREAMING TABLE t {ONCE} AS SELECT n FROM stream (default.numbers) JOIN users USING (n)",
        f"CREATE STREAMING TABLE t {ONCE} AS SELECT u.n FROM users u JOIN STREAM default.numbers x ON x.n = u.n",
        f"CREATE MATERIALIZED VIEW t {ONCE} AS SELECT n FROM numbers WHERE n > 0",
        f"CREATE MATERIALIZED VIEW t DISABLE REWRITE STORED AS ORC {ONCE} AS SELECT n FROM numbers WHERE n > 0",
        f"CREATE CONTINUOUS TABLE t {ONCE} EMIT CHANGES AS SELECT n FROM numbers WHERE n > 0",
        f"CREATE CONTINUOUS TABLE t {ONCE} AS SELECT n FROM numbers WHERE n > 0 EMIT CHANGES",
        f"CREATE MATERIALIZED VIEW t {ONCE} AS SELECT x.n FROM numbers x WHERE (n > 0) emit changes;",
    ],
)
def test_continuous_tables_by_other_words(context: sharkpy.SharkContext, tmp_path: Path, text: str) -> None:
    context.sql(text)
    assert numbers(context) == [1, 2]
    put_numbers(tmp_path / "in", "b", [2])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2, 2]
    assert [row[1] for row in rows(context, "SHOW STREAMING TABLES")] == ["t"]
    assert rows(context, "SHOW MATERIALIZED VIEWS") == [("t", "No", "Incremental")]
    assert rows(context, "SHOW MATERIALIZED VIEWS IN default LIKE 'x*'") == []
    context.sql(f"DROP {'MATERIALIZED VIEW' if 'VIEW' in text else 'STREAMING TABLE'} t")
    assert rows(context, "SHOW CONTINUOUS TABLES") == []


def test_their_epochs_go_on(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("CREATE STREAMING TABLE t AS SELECT * FROM STREAM(numbers)")
    until_numbers(context, range(3))
    put_numbers(tmp_path / "in", "b", [3])
    until_numbers(context, range(4))
    assert "STREAM(" not in str(rows(context, "DESCRIBE EXTENDED t"))
    assert rows(context, "SHOW CREATE TABLE t")[0] == ("CREATE CONTINUOUS TABLE `default`.`t`",)


def test_inserts_and_sinks_are_no_views(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"CREATE CONTINUOUS INSERT i {ONCE} AS INSERT INTO users SELECT n, s FROM numbers EMIT CHANGES")
    assert len(rows(context, "SELECT * FROM users")) == 5
    assert rows(context, "SHOW MATERIALIZED VIEWS") == []
    with pytest.raises(BindError, match="i is not a continuous table"):
        context.sql("DROP MATERIALIZED VIEW i")


WINDOWS = "GROUP BY window(time, size[, slide])"


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("CREATE MATERIALIZED VIEW v AS SELECT n FROM users", "CREATE", "statement CREATE MATERIALIZED VIEW"),
        ("CREATE OR REFRESH STREAMING TABLE t AS SELECT n FROM STREAM(numbers)", "CREATE", "ALTER CONTINUOUS TABLE"),
        ("REFRESH MATERIALIZED VIEW v", "REFRESH", "RESUME CONTINUOUS TABLE"),
        ("ALTER STREAMING TABLE v SET x", "ALTER", "ALTER CONTINUOUS TABLE"),
        ("CREATE SOURCE x FROM KAFKA BROKER 'x'", "CREATE", "CREATE STREAM name"),
        ("CREATE SINK x FROM y INTO KAFKA", "CREATE", "CREATE CONTINUOUS SINK name"),
        ("CREATE STREAM x AS SELECT n FROM numbers EMIT CHANGES", "AS", "CREATE CONTINUOUS TABLE name AS query"),
        ("SELECT n FROM numbers EMIT CHANGES", "EMIT", "CREATE CONTINUOUS TABLE name AS query"),
        ("CREATE CONTINUOUS TABLE x AS SELECT n FROM numbers TRIGGER AVAILABLE NOW", "TRIGGER", "before AS"),
        (
            "CREATE CONTINUOUS TABLE x AS SELECT n FROM numbers WHERE n > 1 EMIT APPEND",
            "EMIT",
            "EMIT APPEND … AS query",
        ),
        ("CREATE CONTINUOUS TABLE x AS SELECT DISTINCT n FROM numbers WITH UNBOUNDED STATE", "WITH", "before AS"),
        ("CREATE CONTINUOUS TABLE x AS SELECT n FROM numbers ON BAD ROW SKIP TO b", "ON BAD", "ON BAD ROW … AS query"),
        ("CREATE TABLE t AS SELECT n FROM numbers WHERE n > 1 EMIT CHANGES", "EMIT", "EMIT CHANGES is not supported"),
        ("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers EMIT FINAL", "EMIT", "EMIT FINAL is not supported"),
        ("SELECT tumble_start(ts, INTERVAL 1 HOUR) FROM numbers", "tumble_start", WINDOWS),
        ("SELECT * FROM TABLE(TUMBLE(TABLE numbers, DESCRIPTOR(ts), INTERVAL 1 MINUTE))", "TUMBLE", WINDOWS),
        ("SELECT * FROM HOP(TABLE numbers, DESCRIPTOR(ts), INTERVAL 1 MINUTE, INTERVAL 1 HOUR)", "HOP", WINDOWS),
        ("SELECT * FROM SESSION(TABLE numbers, DESCRIPTOR(ts), INTERVAL 1 MINUTE)", "SESSION", WINDOWS),
        ("SELECT count(*) FROM numbers WINDOW TUMBLING (SIZE 30 SECONDS) GROUP BY s", "WINDOW", WINDOWS),
        ("SELECT * FROM STREAM(numbers)", "STREAM", "a stream is read by its name"),
    ],
)
def test_other_words_are_refused_with_ours(context: sharkpy.SharkContext, text: str, at: str, words: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        context.sql(text)
    assert words in str(raised.value)
    assert (raised.value.line, raised.value.column) == (1, text.index(at) + 1)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("CREATE STREAMING TABLE t AS SELECT n FROM STREAM(users)", BindError, "CREATE STREAM name FROM TABLE users"),
        ("CREATE STREAMING TABLE t AS SELECT n FROM STREAM users", BindError, "default.users is not a stream"),
        ("CREATE STREAMING TABLE t AS SELECT n FROM users", BindError, "reads no stream"),
        ("CREATE MATERIALIZED VIEW t AS SELECT DISTINCT n FROM numbers", UnsupportedError, "grows with the values"),
        ("CREATE OR REPLACE STREAMING TABLE t AS SELECT n FROM numbers", UnsupportedError, "CREATE OR REPLACE"),
        ("CREATE MATERIALIZED VIEW", ParseError, "a table name expected"),
        ("DROP MATERIALIZED VIEW users", BindError, "not a continuous table"),
        ("DROP STREAMING TABLE nothing", BindError, "Table not found nothing"),
    ],
)
def test_what_is_wrong_with_them(context: sharkpy.SharkContext, text: str, error: type[SharkError], words: str) -> None:
    with pytest.raises(error, match=words):
        context.sql(text)


def test_ordinary_names_stay_names(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE stream (emit INT, windowing INT, `window` INT)")
    context.sql("INSERT INTO stream VALUES (1, 2, 3)")
    assert rows(context, "SELECT windowing changes FROM stream windowing") == [(2,)]
    assert rows(context, "SELECT s.emit emit FROM stream s WHERE `window` = 3") == [(1,)]
    context.sql(
        f"CREATE STREAMING TABLE t {ONCE} AS SELECT x.n FROM stream numbers JOIN numbers x ON x.n = numbers.emit"
    )
    assert numbers(context) == [1]
    context.sql("CREATE TABLE emit (n BIGINT)")
    context.sql("INSERT INTO emit VALUES (2)")
    context.sql(f"CREATE CONTINUOUS TABLE c {ONCE} AS SELECT x.n FROM numbers x LEFT SEMI JOIN emit ON x.n = emit.n")
    assert numbers(context, "c") == [2]
    text = "SELECT numbers.n FROM numbers JOIN users USING (n) CROSS JOIN emit changes"
    context.sql(f"CREATE CONTINUOUS TABLE d {ONCE} AS {text}")
    assert numbers(context, "d") == [1, 2]
    context.sql("CREATE STREAM watermark (watermark INT, `for` INT) FROM PROGRAM")
