"""CREATE, DROP, ALTER, INSERT, LOAD DATA: all or nothing."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sharkpy.base.errors import BindError, ConfigurationError, ExecutionError, SourceError, TableExistsError
from sharkpy.catalog.model import StorageFormat, TableKind
from sharkpy.plan import commands
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema

CSV = StorageFormat("text", (("field.delim", ","),))


def test_create_insert_overwrite_truncate(session: Any) -> None:
    table = session.create("T")
    assert table.location == os.path.join(session.catalog.warehouse_dir, "t")
    session.insert(table, [(1, "x"), (None, "")])
    session.insert(table, [(2, None)])
    assert session.file_rows(table) == [(1, "x"), (None, ""), (2, None)]
    session.insert(table, [(9, "z")], overwrite=True)
    assert session.file_rows(table) == [(9, "z")]
    session.run(commands.TruncateTable(table))
    assert session.file_rows(table) == []


def test_name_is_taken(session: Any) -> None:
    session.create("t")
    with pytest.raises(TableExistsError) as caught:
        session.create("T")
    assert caught.value.sqlstate == "42S01"
    session.create("t", if_not_exists=True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_failed_insert_leaves_the_table(session: Any, query: Any, overwrite: bool) -> None:
    table = session.create("t")
    session.insert(table, [(1, "x")])
    rows = query(pa.table({"a": pa.array([2], pa.int32()), "s": ["y"]}), ExecutionError("boom"))
    with pytest.raises(ExecutionError, match="boom"):
        session.run(commands.Insert(table, rows, overwrite))
    assert session.file_rows(table) == [(1, "x")]
    assert [len(os.listdir(folder)) for folder in (table.location, f"{table.location}/_files")] == [1, 1]


def test_create_table_as_select(session: Any, query: Any) -> None:
    rows = query(pa.table({"a": [1, 2], "s": ["x", "y"]}))
    schema = Schema((Field("a", parse_type("bigint")), Field("s", parse_type("string"))))
    table = session.create("t", schema=schema, query=rows, storage=None)
    assert table.storage.name == "parquet"
    assert session.file_rows(table) == [(1, "x"), (2, "y")]
    with pytest.raises(TableExistsError):
        session.create("t", schema=schema, query=rows)


def test_columns_of_nulls_are_stored_as_strings(session: Any, query: Any) -> None:
    rows = query(pa.table({"n": pa.nulls(2), "l": pa.array([[None], []], pa.list_(pa.null()))}))
    schema = Schema((Field("n", parse_type("void")), Field("l", parse_type("array<void>"))))
    table = session.create("t", schema=schema, query=rows, storage=StorageFormat("parquet"))
    assert [str(field.dtype) for field in table.schema] == ["string", "array<string>"]
    assert session.file_rows(table) == [(None, [None]), (None, [])]


def test_failed_create_table_as_select_leaves_nothing(session: Any, query: Any) -> None:
    rows = query(pa.table({"a": pa.array([1], pa.int32()), "s": ["x"]}), ExecutionError("boom"))
    with pytest.raises(ExecutionError):
        session.create("t", query=rows)
    assert session.catalog.find_table("default", "t") is None
    assert not os.path.exists(os.path.join(session.catalog.warehouse_dir, "t"))


def test_leftover_files_do_not_enter_a_new_table(session: Any, query: Any) -> None:
    location = Path(session.catalog.warehouse_dir, "t")
    location.mkdir()
    (location / "stale").write_text("7,stale\n")
    rows = query(pa.table({"a": pa.array([1], pa.int32()), "s": ["x"]}))
    assert session.file_rows(session.create("t", query=rows)) == [(1, "x")]


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_table_is_made_where_a_dropped_one_was_read(session: Any, query: Any, partitioned: bool) -> None:
    """The folder of the old one is still there, and listed as garbage, when the new one's rows are staged."""
    old = session.create("t")
    session.insert(old, [(1, "x")])
    reading = session.catalog.readers.enter(old.location)
    session.run(commands.DropTable(old, is_purged=True))
    session.catalog.readers.leave(reading)
    assert Path(old.location).is_dir()
    rows = query(pa.table({"a": pa.array([2], pa.int32()), "s": ["y"]}))
    table = session.create("t", query=rows, partition_columns=("s",) if partitioned else ())
    assert table.location == old.location
    assert not session.catalog.partitions(table) or partitioned
    assert session.context.sql("SELECT a, s FROM t").fetchall() == [(2, "y")]


def test_drop(session: Any, root: Path) -> None:
    managed = session.create("m")
    session.insert(managed, [(1, "x")])
    session.run(commands.DropTable(managed, is_purged=True))
    assert not os.path.exists(managed.location)
    assert session.file_rows(session.create("m")) == []
    (root / "data").mkdir()
    (root / "data" / "f").write_text("1,x\n")
    external = session.create("e", kind=TableKind.EXTERNAL, location=str(root / "data"))
    assert session.file_rows(external) == [(1, "x")]
    session.run(commands.DropTable(external))
    assert (root / "data" / "f").exists()
    session.run(commands.DropTable(None))
    temporary = session.create("m", kind=TableKind.TEMPORARY)
    session.insert(temporary, [(5, "t")])
    assert session.file_rows(temporary) == [(5, "t")]
    session.run(commands.DropTable(temporary))
    assert not os.path.exists(temporary.location)
    assert session.catalog.table("default", "m").kind is TableKind.MANAGED


def test_rename_leaves_files_in_place(session: Any) -> None:
    table = session.create("t")
    session.insert(table, [(1, "x")])
    session.run(commands.RenameTable(table, "default", "u"))
    renamed = session.catalog.table("default", "u")
    assert renamed.location == table.location
    assert session.file_rows(renamed) == [(1, "x")]


def test_add_columns_and_properties(session: Any) -> None:
    table = session.create("t")
    session.insert(table, [(1, "x")])
    added = dataclasses.replace(table, schema=Schema((*table.schema, Field("z", parse_type("int")))))
    session.run(commands.AlterTable(table, added))
    table = session.catalog.table("default", "t")
    assert session.file_rows(table) == [(1, "x", None)]
    session.run(commands.SetTableProperties(table, (("k", "v"), ("skip.header.line.count", "1"))))
    table = session.catalog.table("default", "t")
    assert dict(table.properties)["k"] == "v"
    assert session.file_rows(table) == []
    session.run(commands.SetTableProperties(table, (), ("k",)))
    assert "k" not in dict(session.catalog.table("default", "t").properties)
    with pytest.raises(ConfigurationError, match=r"shark\.cache"):
        session.run(commands.SetTableProperties(table, (("shark.cache", "SOMETIMES"),)))


@pytest.mark.parametrize("is_local", [True, False])
def test_load_data(session: Any, root: Path, is_local: bool) -> None:
    table = session.create("t")
    source = root / "in.csv"
    source.write_text("1,x\n2,y\n")
    session.run(commands.LoadData(table, str(source), is_local, False))
    assert session.file_rows(table) == [(1, "x"), (2, "y")]
    assert source.exists() == is_local
    folder = root / "more"
    folder.mkdir()
    (folder / "a").write_text("3,z\n")
    (folder / "_skipped").write_text("4,no\n")
    session.run(commands.LoadData(table, str(folder), is_local, True))
    assert session.file_rows(table) == [(3, "z")]
    with pytest.raises(SourceError, match="missing") as caught:
        session.run(commands.LoadData(table, str(root / "missing"), is_local, True))
    assert caught.value.sqlstate == "58P01"
    assert session.file_rows(table) == [(3, "z")]


def test_views(session: Any, query: Any) -> None:
    schema = Schema((Field("a", parse_type("int")),))
    session.run(commands.CreateView("default", "v", schema, "select 1 a", False, False, False))
    session.run(commands.CreateView("default", "v", schema, "select 2 a", False, True, False))
    view = session.catalog.table("default", "v")
    assert view.view_text == "select 2 a"
    with pytest.raises(BindError):
        session.run(commands.Insert(view, query(pa.table({"a": [1]})), False))
    session.create("t")
    with pytest.raises(TableExistsError):
        session.run(commands.CreateView("default", "t", schema, "select 2 a", False, True, False))
    session.run(commands.DropTable(view))
    assert session.catalog.table_names("default") == ["t"]


def test_databases(session: Any) -> None:
    session.run(commands.CreateDatabase("D", False))
    session.run(commands.UseDatabase("d"))
    assert session.context.current_database == "d"
    session.run(commands.DropDatabase("d", False, True))
    assert session.context.current_database == "default"


def test_no_managed_table_lies_where_the_warehouse_does(session: Any, root: Path) -> None:
    """DROP TABLE deletes a managed table's folder."""
    (root / "mine.txt").write_text("x")
    with pytest.raises(BindError, match="holds the warehouse"):
        session.create("t", location=str(root))
    table = session.create("t")
    for place in (str(root), session.catalog.warehouse_dir):
        with pytest.raises(BindError, match="holds the warehouse"):
            session.run(commands.AlterTable(table, dataclasses.replace(table, location=place)))
    external = session.create("e", location=str(root), kind=TableKind.EXTERNAL)
    session.run(commands.DropTable(external))
    session.run(commands.DropTable(table))
    assert (root / "mine.txt").read_text() == "x"


def test_a_folder_that_holds_the_warehouse_is_never_removed(session: Any, root: Path) -> None:
    """The folder stays even if a catalog names it as a table's."""
    table = session.create("t")
    session.catalog.alter_table(dataclasses.replace(table, location=str(root)))
    session.run(commands.DropTable(session.catalog.table("default", "t")))
    assert Path(session.catalog.state_dir).is_dir()
