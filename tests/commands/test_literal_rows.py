"""INSERT of many literal rows, which are bound without a tree, against the same rows bound as few are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.session.shark_context import SharkContext
from sharkpy.sql.expressions import literal_lists

COLUMNS = (
    "i INT, b BIGINT, s STRING, v VARCHAR(3), d DECIMAL(10,2), x DOUBLE, t TINYINT, day DATE, at TIMESTAMP, f BOOLEAN"
)
ROWS = {
    "plain": ["1, 2, 'a', 'abc', 1.5, 2.25, 3, '2024-02-29', '2024-01-01 10:00:00', true"],
    "wide": [
        "1, 9223372036854775807, '', 'abcd', 12345678.125, 1e300, 127, '2024-02-30', 'x', false",
        "-2147483648, -9223372036854775808, 'a\\'b\\n', '', -0.005, -1E-3, -128, NULL, NULL, NULL",
        "3000000000, 1, NULL, NULL, 7, 1., 300, '1969-12-31', '2024-01-01', NULL",
    ],
    "mixed": [
        "1, '2', 3, 4.5, '6.7', '8', 9, '2024-01-01', '2024-01-01', 'no'",
        "'1', 2, 'three', 4, 5, 6.5, '7', NULL, NULL, 'a'",
    ],
    "nulls": ["NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"],
    "calls": [
        "1 + 1, 2L, concat('a', 'b'), 'c', 1.5BD, 1.5D, 3Y, DATE '2024-01-01', current_date(), not true",
        "1, 2, 3, 4, 5, 6, 7, NULL, NULL, true",
    ],
}
BAD = {
    "length": "(1, 2), (1)",
    "digits": f"(1, {'9' * 39})",
    "open": "(1, 2), (1, 2",
    "comma": "(1, 2),",
    "end": "(1, 2) x y",
    "types": "(1, 2), (true, 3)",
    "empty": "()",
    "minus": "(1, - - , 2)",
}


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[SharkContext]:
    with sharkpy.connect(warehouse=tmp_path) as made:
        yield made


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Mark of each INSERT: whether its rows were taken as columns."""
    found: list[bool] = []
    original = literal_lists.literal_rows

    def spy(*args: object) -> object:
        rows = original(*args)  # type: ignore[arg-type]
        found.append(rows is not None)
        return rows

    monkeypatch.setattr("sharkpy.sql.statements.bind_insert.literal_rows", spy)
    return found


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", ROWS)
def test_many_rows_are_as_few(ctx: SharkContext, monkeypatch: pytest.MonkeyPatch, taken: list[bool], name: str) -> None:
    values = ", ".join(f"({row})" for row in ROWS[name])
    for table, least in (("few", 10**9), ("many", 0)):
        monkeypatch.setattr(literal_lists, "LEAST_TOKENS", least)
        ctx.sql(f"CREATE TABLE {table} ({COLUMNS}) STORED AS PARQUET")
        ctx.sql(f"INSERT INTO {table} VALUES {values}")
    assert taken == [False, name not in ("calls", "mixed")]
    assert ctx.sql("SELECT * FROM many").fetchall() == ctx.sql("SELECT * FROM few").fetchall()


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_alike(ctx: SharkContext, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    ctx.sql("CREATE TABLE t (a INT, b INT)")
    told = []
    for least in (10**9, 0):
        monkeypatch.setattr(literal_lists, "LEAST_TOKENS", least)
        with pytest.raises(SharkError) as caught:
            ctx.sql(f"INSERT INTO t VALUES {BAD[name]}")
        told.append((str(caught.value), caught.value.sqlstate))
    assert told[0] == told[1]


def test_defaults_partitions_and_targets(ctx: SharkContext, taken: list[bool]) -> None:
    """Requirements of a target hold for many rows, too: columns by name, Hive partitions, constraints, MEMORY_ONLY."""
    many = ", ".join(f"({i}, 'p{i % 3}')" for i in range(500))
    ctx.sql("CREATE TABLE p (a INT, b INT DEFAULT 7) PARTITIONED BY (k STRING) STORED AS PARQUET")
    ctx.sql(f"INSERT INTO p (a, k) VALUES {many}")
    assert ctx.sql("SELECT k, count(*), sum(a), min(b) FROM p GROUP BY k ORDER BY k").fetchall() == [
        ("p0", 167, 41583, 7),
        ("p1", 167, 41750, 7),
        ("p2", 166, 41417, 7),
    ]
    ctx.sql("CREATE TABLE n (a INT, b STRING NOT NULL)")
    with pytest.raises(SharkError, match="NOT NULL"):
        ctx.sql(f"INSERT INTO n VALUES {many}, (1, NULL)")
    ctx.sql("CREATE TABLE m TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS SELECT 0 AS a, 'x' AS b")
    ctx.sql(f"INSERT INTO m VALUES {many}")
    assert ctx.sql("SELECT count(*) FROM m").fetchall() == [(501,)]
    assert taken == [True, True, False][: len(taken)]
