"""URLs, connections, errors, reflection."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import types as sqltypes
from sqlalchemy.exc import ArgumentError, NoSuchTableError
from sqlalchemy.schema import CreateTable

from sharkpy.dbapi import engines
from sharkpy.sqlalchemy import ARRAY, MAP, STRING, STRUCT, TINYINT, SharkDialect

COLUMNS = {
    "a": (TINYINT, "TINYINT"),
    "b": (sqltypes.SMALLINT, "SMALLINT"),
    "c": (sqltypes.INTEGER, "INT"),
    "d": (sqltypes.BIGINT, "BIGINT"),
    "e": (sqltypes.FLOAT, "FLOAT"),
    "f": (sqltypes.DOUBLE, "DOUBLE"),
    "g": (sqltypes.DECIMAL, "DECIMAL(20,3)"),
    "h": (sqltypes.BOOLEAN, "BOOLEAN"),
    "i": (STRING, "STRING"),
    "j": (sqltypes.VARCHAR, "VARCHAR(9)"),
    "k": (sqltypes.CHAR, "CHAR(3)"),
    "l": (sqltypes.BINARY, "BINARY"),
    "m": (sqltypes.DATE, "DATE"),
    "n": (sqltypes.TIMESTAMP, "TIMESTAMP"),
    "o": (ARRAY, "ARRAY<ARRAY<DECIMAL(5,2)>>"),
    "q": (MAP, "MAP<STRING,INT>"),
    "r": (STRUCT, "STRUCT<x:INT,y:MAP<STRING,ARRAY<DOUBLE>>>"),
}


def test_the_entry_point_names_the_dialect() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["sqlalchemy.dialects"] == {"sharkpy": "sharkpy.sqlalchemy:SharkDialect"}


@pytest.mark.parametrize(
    ("url", "arguments"),
    [
        ("sharkpy://", {}),
        ("sharkpy:///data/warehouse", {"warehouse": "/data/warehouse"}),
        ("sharkpy:////data/warehouse", {"warehouse": "/data/warehouse"}),
        ("sharkpy://?warehouse=here&database=d", {"warehouse": "here", "database": "d"}),
        (
            "sharkpy:///w?master=local[*]&shark.block.rows=7",
            {"warehouse": "/w", "master": "local[*]", "shark.block.rows": "7"},
        ),
        ("sharkpy:///w?master=local-cluster%5B2,1,1024%5D", {"warehouse": "/w", "master": "local-cluster[2,1,1024]"}),
    ],
)
def test_urls(url: str, arguments: dict[str, str]) -> None:
    assert SharkDialect().create_connect_args(sa.make_url(url)) == ([], arguments)


@pytest.mark.parametrize("url", ["sharkpy://host:10000/default", "sharkpy://me@/w", "sharkpy:///w?master=a&master=b"])
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(ArgumentError):
        SharkDialect().create_connect_args(sa.make_url(url))


def test_settings_and_database(tmp_path: Path) -> None:
    first = sa.create_engine(f"sharkpy://{tmp_path}?master=local[2]")
    with first.begin() as connection:
        connection.execute(sa.schema.CreateSchema("other"))
    second = sa.create_engine(f"sharkpy://{tmp_path}?master=local[2]&database=other&shark.block.rows=7")
    with second.connect() as connection:
        assert connection.dialect.default_schema_name == "other"
        connection.execute(sa.text("CREATE TABLE t (k INT)"))
        assert connection.connection.driver_connection.session.conf["shark.block.rows"] == "7"
    assert sa.inspect(first).get_table_names("other") == ["t"]
    assert sa.inspect(first).get_table_names() == []
    first.dispose()
    second.dispose()


def test_disposal_ends_the_session_and_with_the_last_one_the_engine(engine: sa.Engine, tmp_path: Path) -> None:
    with engine.connect() as connection:
        session = connection.connection.driver_connection.session
    key = (str(tmp_path / "w"), "local[2]")
    assert key in engines._engines
    engine.dispose()
    assert session.is_stopped
    assert key not in engines._engines


def test_errors_are_those_of_sqlalchemy(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        with pytest.raises(sa.exc.ProgrammingError, match="Table not found nope") as caught:
            connection.execute(sa.text("SELECT * FROM nope"))
        assert caught.value.orig.sqlstate == "42S02"
        assert not caught.value.connection_invalidated
        with pytest.raises(sa.exc.NotSupportedError, match="LOCK"):
            connection.execute(sa.text("LOCK TABLE t SHARED"))
        connection.rollback()
        assert connection.scalar(sa.text("SELECT 1")) == 1


def test_a_lost_connection_is_replaced(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.connection.driver_connection.close()
        with pytest.raises(sa.exc.InterfaceError) as caught:
            connection.execute(sa.text("SELECT 1"))
        assert caught.value.connection_invalidated
        connection.rollback()
        assert connection.scalar(sa.text("SELECT 1")) == 1


@pytest.fixture
def reflected(engine: sa.Engine) -> sa.Engine:
    columns = ", ".join(f"{name} {text} COMMENT 'of {name}'" for name, (_, text) in COLUMNS.items())
    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema("d"))
        for statement in (
            f"CREATE TABLE d.everything ({columns}) COMMENT 'all of it' PARTITIONED BY (p INT, q2 STRING)",
            "CREATE VIEW d.seen AS SELECT c FROM d.everything",
            "CREATE TEMPORARY TABLE d.fleeting (k INT)",
        ):
            connection.exec_driver_sql(statement)
    return engine


def test_names(reflected: sa.Engine) -> None:
    inspector = sa.inspect(reflected)
    assert inspector.get_schema_names() == ["d", "default"]
    assert inspector.get_table_names() == []
    assert inspector.get_table_names("d") == ["everything"]
    assert inspector.get_view_names("d") == ["seen"]
    assert inspector.get_view_definition("seen", "d") == "SELECT c FROM d.everything"
    assert inspector.get_table_names("nope") == []
    assert inspector.has_schema("d")
    assert not inspector.has_schema("nope")
    found = [inspector.has_table(name, "d") for name in ("everything", "EVERYTHING", "seen", "fleeting", "nope")]
    assert found == [True, True, True, True, False]
    assert not inspector.has_table("everything")


def test_columns(reflected: sa.Engine) -> None:
    inspector = sa.inspect(reflected)
    columns = {column["name"]: column for column in inspector.get_columns("everything", "d")}
    assert list(columns) == [*COLUMNS, "p", "q2"]
    for name, (kind, text) in COLUMNS.items():
        assert type(columns[name]["type"]) is kind
        assert columns[name]["type"].compile(reflected.dialect) == text
        assert columns[name]["comment"] == f"of {name}"
    partition = [name for name, column in columns.items() if column["dialect_options"]["sharkpy_partition"]]
    assert partition == ["p", "q2"]
    assert inspector.get_table_comment("everything", "d") == {"text": "all of it"}
    assert inspector.get_pk_constraint("everything", "d")["constrained_columns"] == []
    for ask in ("get_foreign_keys", "get_indexes", "get_unique_constraints", "get_check_constraints"):
        assert getattr(inspector, ask)("everything", "d") == []
    for ask in ("get_columns", "get_indexes", "get_pk_constraint", "get_table_comment", "get_view_definition"):
        with pytest.raises(NoSuchTableError):
            getattr(inspector, ask)("nope", "d")


def test_a_reflected_table_can_be_made_again(reflected: sa.Engine) -> None:
    table = sa.Table("everything", sa.MetaData(), schema="d", autoload_with=reflected)
    copy = table.to_metadata(sa.MetaData(), name="again")
    copy.create(reflected)
    inspector = sa.inspect(reflected)
    one, other = (
        [(c["name"], str(c["type"].compile(reflected.dialect)), c["comment"], c["dialect_options"]) for c in columns]
        for columns in (inspector.get_columns("everything", "d"), inspector.get_columns("again", "d"))
    )
    assert one == other
    assert "PARTITIONED BY (`p` INT, `q2` STRING)" in str(CreateTable(copy).compile(reflected))


def test_metadata_reflects_a_database(reflected: sa.Engine) -> None:
    metadata = sa.MetaData()
    metadata.reflect(reflected, schema="d", views=True)
    assert set(metadata.tables) == {"d.everything", "d.seen"}
