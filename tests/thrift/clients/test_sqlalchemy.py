"""SQLAlchemy over PyHive's dialect, and pandas over that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy import exc

PATHS = {
    "hive": "hive://tester@127.0.0.1:{port}/default",
    "nosasl": "hive://tester@127.0.0.1:{port}/default?auth=NOSASL",
    "http": "hive+http://tester:any@127.0.0.1:{port}/default",
}

# What PyHive's dialects have not followed yet.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*supports_statement_cache:sqlalchemy.exc.SAWarning"),
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning"),
]


@pytest.fixture(params=PATHS)
def engine(port: int, request: pytest.FixtureRequest) -> Iterator[sa.Engine]:
    made = sa.create_engine(PATHS[request.param].format(port=port))
    yield made
    made.dispose()


@pytest.mark.variants(3)
def test_reflection(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    assert {"default", "other"} <= set(inspector.get_schema_names())
    assert {"every", "numbers", "parts", "seen"} <= set(inspector.get_table_names())
    assert inspector.get_table_names("other") == ["elsewhere"]
    assert "seen" in inspector.get_view_names()
    assert inspector.has_table("every")
    assert inspector.has_table("elsewhere", schema="other")
    assert not inspector.has_table("nothing")
    assert not inspector.has_table("nothing", schema="other")
    assert inspector.get_pk_constraint("every") in ([], {"constrained_columns": [], "name": None})
    assert inspector.get_foreign_keys("every") == []


def test_columns(engine: sa.Engine) -> None:
    columns = sa.inspect(engine).get_columns("every")
    assert [column["name"] for column in columns] == [
        *("b", "ti", "si", "i", "bi", "f", "d", "s", "vc", "c", "bin", "dt", "ts", "de", "a", "m", "st")
    ]
    kinds = {column["name"]: column["type"] for column in columns}
    assert not any(isinstance(kind, sa.types.NullType) for kind in kinds.values())
    shown = {name: kind if isinstance(kind, type) else type(kind) for name, kind in kinds.items()}
    assert issubclass(shown["b"], sa.types.Boolean)
    assert issubclass(shown["bi"], sa.types.BigInteger)
    assert issubclass(shown["s"], sa.types.String)


def test_partition_columns_come_once_and_are_an_index(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    assert [column["name"] for column in inspector.get_columns("parts")] == ["k", "v", "ds"]
    (index,) = inspector.get_indexes("parts")
    assert index["column_names"] == ["ds"]
    assert inspector.get_indexes("numbers") == []


def test_a_missing_table_is_told_as_such(engine: sa.Engine) -> None:
    with pytest.raises(exc.NoSuchTableError):
        sa.Table("nothing", sa.MetaData(), autoload_with=engine)
    with pytest.raises(exc.NoSuchTableError):
        sa.Table("nothing", sa.MetaData(schema="other"), autoload_with=engine)


def test_queries_of_reflected_tables(engine: sa.Engine) -> None:
    numbers = sa.Table("numbers", sa.MetaData(), autoload_with=engine)
    query = sa.select(sa.func.count(), sa.func.max(numbers.c.n)).where(numbers.c.n < 100, numbers.c.s != "row 99")
    with engine.connect() as connection:
        assert connection.execute(query).all() == [(99, 98)]
        ordered = sa.select(numbers.c.s).order_by(numbers.c.n.desc()).limit(2)
        assert connection.execute(ordered).scalars().all() == ["row 299999", "row 299998"]


def test_orm_like_insert_and_drop(engine: sa.Engine) -> None:
    table = sa.Table("alchemy", sa.MetaData(), sa.Column("k", sa.Integer), sa.Column("v", sa.String))
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert().values([{"k": 1, "v": "it's"}, {"k": 2, "v": None}]))
        assert connection.execute(sa.select(table).order_by(table.c.k)).all() == [(1, "it's"), (2, None)]
        table.drop(connection)
        assert not sa.inspect(connection).has_table("alchemy")


def test_pandas(engine: sa.Engine) -> None:
    frame = pd.DataFrame({"k": [1, 2, 3], "v": ["a", "b", None], "x": [0.5, 1.5, None]})
    frame.to_sql("frames", engine, index=False, method="multi")
    got = pd.read_sql("SELECT * FROM frames ORDER BY k", engine)
    assert list(got.columns) == ["k", "v", "x"]
    assert got["k"].tolist() == [1, 2, 3]
    assert got["v"].tolist()[:2] == ["a", "b"]
    assert got["v"].isna().tolist() == got["x"].isna().tolist() == [False, False, True]
    frame.to_sql("frames", engine, index=False, if_exists="append", method="multi")
    frame.head(1).to_sql("frames", engine, index=False, if_exists="replace", method="multi")
    assert len(pd.read_sql_table("frames", engine)) == 1
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE frames"))


def test_errors(engine: sa.Engine) -> None:
    with engine.connect() as connection, pytest.raises(exc.OperationalError, match="Table not found nope"):
        connection.execute(sa.text("SELECT * FROM nope"))


def test_parameters(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        row: Any = connection.execute(sa.text("SELECT :text AS a, :number AS b"), {"text": "x'y", "number": 7}).one()
        assert tuple(row) == ("x'y", 7)
