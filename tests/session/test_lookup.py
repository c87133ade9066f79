"""Rows by key, compared with a query's, and the blocks that a look-up opens."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ColumnNotFoundError, SharkError, TypeMismatchError, UnsupportedError
from sharkpy.columnar.block_cache import _BLOCKS

ROWS = 4000


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    conf = {"shark.block.rows": 500, "shark.compaction": False}
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("warehouse"), **conf) as made:
        made.sql(
            f"""
            CREATE TABLE plain TBLPROPERTIES ('shark.cache' = 'MEMORY') AS
              SELECT t.n AS id, concat('name', t.n) AS name, cast(t.n / 4 AS DECIMAL(10,2)) AS price,
                     date_add('2020-01-01', t.n % 7) AS day
              FROM (SELECT explode(sequence(1, {ROWS})) AS n) t;
            CREATE TABLE files AS SELECT * FROM plain;
            CREATE TABLE bucketed (id INT, part STRING, v INT) CLUSTERED BY (id, part) INTO 8 BUCKETS
              TBLPROPERTIES ('shark.cache' = 'MEMORY');
            INSERT INTO bucketed SELECT id % 100, if(id % 2 = 0, 'even', NULL), id FROM plain;
            CREATE TABLE wide CLUSTERED BY (id) INTO 8 BUCKETS TBLPROPERTIES ('shark.cache' = 'MEMORY')
              AS SELECT id * 7919 % 100003 AS id FROM plain;
            CREATE VIEW seen AS SELECT * FROM plain
            """
        ).close()
        yield made


@pytest.mark.parametrize("table", ["plain", "files", "default.plain"])
def test_the_rows_of_a_key(context: sharkpy.SharkContext, table: str) -> None:
    expected = context.sql("SELECT * FROM plain WHERE id = 1234").fetchall()
    assert len(expected) == 1
    assert context.lookup(table, 1234, by="id") == expected
    assert context.lookup(table, "1234", by="ID") == expected
    assert context.lookup(table, 1234, ["name", "id"], by="id") == [("name1234", 1234)]
    assert context.lookup(table, Decimal("308.50"), ["id"], by="price") == [(1234,)]
    assert context.lookup(table, 308.5, ["id"], by="price") == [(1234,)]
    assert context.lookup(table, ROWS + 1, by="id") == []
    assert context.lookup(table, None, by="id") == []
    assert len(context.lookup(table, (datetime.date(2020, 1, 3), "name9"), by=("day", "name"))) == 1
    assert len(context.lookup(table, "2020-01-03", by="day")) == ROWS // 7 + 1


def test_the_rows_of_a_bucket_key(context: sharkpy.SharkContext) -> None:
    for number in (0, 42, 98):
        expected = context.sql(f"SELECT * FROM bucketed WHERE id = {number} AND part = 'even'").fetchall()
        assert len(expected) == ROWS // 100
        assert sorted(context.lookup("bucketed", (number, "even"))) == sorted(expected)
    assert context.lookup("bucketed", (42, "odd")) == []
    assert context.lookup("bucketed", (41, None)) == []
    assert len(context.lookup("bucketed", 41, by="id")) == ROWS // 100


def test_only_the_blocks_that_may_have_the_key_are_opened(context: sharkpy.SharkContext) -> None:
    def opened(table: str, key: object, **options: str) -> tuple[int, int]:
        version = context.table_cache.version(context.catalog.table("default", table))
        assert version is not None
        _BLOCKS.clear()
        context.lookup(table, key, **options)
        return len(_BLOCKS), len(version.blocks)

    assert opened("plain", 700, by="id") == (1, ROWS // 500)
    of_bucket, total = opened("wide", 7919)
    assert 1 <= of_bucket <= 2 < 8 <= total
    assert context.lookup("wide", 7919) == [(7919,)]


def test_what_cannot_be_looked_up(context: sharkpy.SharkContext) -> None:
    with pytest.raises(BindError, match="has no bucket columns"):
        context.lookup("plain", 1)
    with pytest.raises(BindError, match="1 values for the columns id, part"):
        context.lookup("bucketed", 1)
    with pytest.raises(ColumnNotFoundError, match='did you mean "name"'):
        context.lookup("plain", 1, by="nam")
    with pytest.raises(TypeMismatchError, match="'many' does not fit column"):
        context.lookup("plain", "many", by="id")
    with pytest.raises(TypeMismatchError, match=r"1\.5 does not fit column"):
        context.lookup("plain", 1.5, by="id")
    with pytest.raises(UnsupportedError, match="is a view"):
        context.lookup("seen", 1, by="id")
    with pytest.raises(SharkError, match="Table not found"):
        context.lookup("nothing", 1, by="id")
