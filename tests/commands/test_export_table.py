"""EXPORT and IMPORT: the same rows and facts again, all or nothing, and nothing from outside the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import (
    BindError,
    NotAllowedError,
    SharkError,
    SourceError,
    TableNotFoundError,
    UnsupportedError,
)
from sharkpy.execution.commands import export_table
from sharkpy.execution.restrictions import Restrictions


@pytest.fixture
def context(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE t (a INT COMMENT 'number', b STRING) STORED AS TEXTFILE TBLPROPERTIES ('k' = 'v')")
    context.sql("INSERT INTO t VALUES (1, 'x'), (2, NULL)")
    context.sql("INSERT INTO t VALUES (3, 'z')")
    context.sql("CREATE TABLE p (a INT) PARTITIONED BY (d STRING, e INT) STORED AS PARQUET")
    context.sql("INSERT INTO p VALUES (1, 'x', 1), (2, 'y/z', 2), (3, NULL, 3)")
    context.sql(f"EXPORT TABLE t TO '{tmp_path}/t'")
    context.sql(f"EXPORT TABLE p TO '{tmp_path}/p'")
    return context


def rows(context: sharkpy.SharkContext, table: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in context.sql(f"SELECT * FROM {table} ORDER BY a").fetchall()]


P_ROWS = [(1, "x", 1), (2, "y/z", 2), (3, None, 3)]


def test_a_table_again(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("INSERT OVERWRITE TABLE t VALUES (9, 'later')")
    context.sql(f"IMPORT TABLE again FROM '{tmp_path}/t'")
    assert rows(context, "again") == [(1, "x"), (2, None), (3, "z")]
    old, new = context.catalog.table("default", "t"), context.catalog.table("default", "again")
    assert (new.schema, new.storage, new.properties, new.kind) == (old.schema, old.storage, old.properties, old.kind)
    context.sql("DROP TABLE again")
    context.sql(f"IMPORT TABLE again FROM '{tmp_path}/t'")
    assert len(rows(context, "again")) == 3


def test_partitions_again(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"IMPORT TABLE q PARTITION (d = 'y/z', e = 2) FROM '{tmp_path}/p'")
    assert rows(context, "q") == [P_ROWS[1]]
    context.sql(f"EXPORT TABLE p PARTITION (e = 1) TO '{tmp_path}/one'")
    context.sql(f"IMPORT TABLE q FROM '{tmp_path}/one'")
    assert rows(context, "q") == P_ROWS[:2]
    with pytest.raises(BindError, match="has the partition d=x/e=1 already"):
        context.sql(f"IMPORT TABLE q FROM '{tmp_path}/p'")
    assert rows(context, "q") == P_ROWS[:2]


@pytest.mark.parametrize("table", ["t", "p"])
def test_an_external_table_stays_where_it_was_exported_to(
    context: sharkpy.SharkContext, tmp_path: Path, table: str
) -> None:
    before = sorted(tmp_path.joinpath(table).rglob("*"))
    context.sql(f"IMPORT EXTERNAL TABLE seen FROM '{tmp_path}/{table}'")
    assert rows(context, "seen") == rows(context, table)
    context.sql("DROP TABLE seen")
    assert sorted(tmp_path.joinpath(table).rglob("*")) == before


def test_another_database_and_another_place(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("CREATE DATABASE other")
    context.sql("USE other")
    context.sql(f"IMPORT FROM '{tmp_path}/t' LOCATION '{tmp_path}/place'")
    assert context.catalog.table("other", "t").location == str(tmp_path / "place")
    assert len(rows(context, "other.t")) == 3


def test_what_cannot_be(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for sql, message in (
        (f"EXPORT TABLE t TO '{tmp_path}/t'", "is not empty"),
        (f"EXPORT TABLE p PARTITION (d = 'none') TO '{tmp_path}/z'", "has no partition"),
        (f"EXPORT TABLE t TO '{tmp_path}/z' FOR REPLICATION('x')", "is not supported"),
        (f"IMPORT FROM '{tmp_path}/t'", "has rows already"),
        (f"IMPORT TABLE p FROM '{tmp_path}/t'", "differ in columns"),
        (f"IMPORT TABLE n FROM '{tmp_path}/nowhere'", "has no _metadata"),
    ):
        with pytest.raises(SharkError, match=message):
            context.sql(sql)
    assert not (tmp_path / "z").exists()
    assert context.catalog.find_table("default", "n") is None


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", ["d=x/../../warehouse", "../t", "d=x", "e=1/d=x"])
def test_names_of_partitions_are_no_ways_out(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    path = tmp_path / "p" / "_metadata"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"partitions": [name]}))
    with pytest.raises(SourceError, match="is not an export of sharkpy"):
        context.sql(f"IMPORT TABLE q FROM '{tmp_path}/p'")


def test_a_session_with_bounds(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    session = context.new_session()
    session.restrictions = Restrictions(folders=(tmp_path / "t",))
    (tmp_path / "t" / "data" / "way_out").symlink_to(tmp_path / "p" / "_metadata")
    for sql in (
        f"EXPORT TABLE t TO '{tmp_path}/z'",
        f"IMPORT TABLE n FROM '{tmp_path}/p'",
        f"IMPORT TABLE n FROM '{tmp_path}/t' LOCATION '{tmp_path}/z'",
        f"IMPORT TABLE n FROM '{tmp_path}/t'",
    ):
        with pytest.raises(NotAllowedError):
            session.sql(sql)
    assert context.catalog.find_table("default", "n") is None


def rewritten(folder: Path, **facts: object) -> None:
    """Change the facts of an export, as a user who can write its folder may do."""
    file = folder / "_metadata"
    body = json.loads(file.read_text())
    table = body["table"] | facts.pop("table", {})  # type: ignore[operator]
    file.write_text(json.dumps(body | facts | {"table": table}))


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", ["../../out", "..", "a/b", "a.b", ""])
def test_the_name_in_an_export_leads_nowhere(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rewritten(tmp_path / "t", name=name)
    monkeypatch.setattr(export_table, "copy_files", lambda *_: pytest.fail("files were copied"))
    with pytest.raises(BindError) as caught:
        context.sql(f"IMPORT FROM '{tmp_path}/t'")
    assert caught.value.sqlstate == "42602"


def test_what_is_imported_is_a_table_of_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Whatever the export says, no continuous query writes it, and it is in no other catalog."""
    told = {
        "continuous": "x",
        "state_of": "y",
        "stream": ["RATE", []],
        "sink": ["FOLDER", []],
        "watermark": ["a", 1, 1],
    }
    rewritten(tmp_path / "t", table=told)
    context.sql(f"IMPORT TABLE n FROM '{tmp_path}/t'")
    made = context.catalog.table("default", "n")
    assert (made.continuous, made.state_of, made.stream, made.sink, made.watermark) == ("", "", None, None, None)
    assert len(rows(context, "n")) == 3
    rewritten(tmp_path / "t", table={"format": "iceberg"})
    with pytest.raises(UnsupportedError, match="a table of iceberg"):
        context.sql(f"IMPORT TABLE m FROM '{tmp_path}/t'")


def test_a_failure_makes_no_table(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise OSError("no more")

    monkeypatch.setattr("sharkpy.sources.storage.local_store._new_file", failing)
    with pytest.raises(SharkError, match="no more"):
        context.sql(f"IMPORT TABLE n FROM '{tmp_path}/t'")
    with pytest.raises(SharkError, match="no more"):
        context.sql(f"EXPORT TABLE t TO '{tmp_path}/z'")
    monkeypatch.undo()
    assert context.catalog.find_table("default", "n") is None
    assert not (tmp_path / "z").exists()
    context.sql(f"IMPORT TABLE n FROM '{tmp_path}/t'")
    assert len(rows(context, "n")) == 3


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", ["", "PARTITIONED BY (p INT)"])
@pytest.mark.parametrize("moment", ["before", "between", "behind"])
def test_a_table_is_dropped_while_it_is_imported(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, moment: str
) -> None:
    """Another session drops the table: nothing is left in its place."""
    context.sql(f"CREATE TABLE source (a INT) {kind}")
    context.sql(f"INSERT INTO source VALUES (1{', 2' if kind else ''})")
    context.sql(f"EXPORT TABLE source TO '{tmp_path}/dropped'")
    context.sql(f"CREATE TABLE gone (a INT) {kind}")
    name, module = {
        "before": ("table_staging", export_table),
        "between": ("copy_files", export_table),
        "behind": ("publish", export_table),
    }[moment]
    original = getattr(module, name)

    def dropping(*arguments: object) -> object:
        context.new_session().sql("DROP TABLE IF EXISTS gone PURGE")
        return original(*arguments)

    monkeypatch.setattr(module, name, dropping)
    with pytest.raises(TableNotFoundError, match="Table not found gone"):
        context.sql(f"IMPORT TABLE gone FROM '{tmp_path}/dropped'")
    location = context.catalog.managed_location("default", "gone")
    assert not Path(location).exists()
