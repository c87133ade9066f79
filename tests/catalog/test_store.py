"""The catalog: names, shadowing, transactions, several processes."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharkpy.base.errors import (
    BindError,
    ConfigurationError,
    DatabaseNotFoundError,
    TableExistsError,
    TableNotFoundError,
)
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.json_rows import table_from_json, table_to_json
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, StructType

SCHEMA = Schema((Field("a", parse_type("int"), "first"), Field("s", StructType(("x y",), (parse_type("string"),)))))


def make(name: str, kind: TableKind = TableKind.MANAGED, database: str = "default", **fields: object) -> Table:
    return Table(new_table_id(), database, name, kind, SCHEMA, **fields)  # type: ignore[arg-type]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    catalog = Catalog(tmp_path / "wh")
    yield catalog
    catalog.close()


def test_table_survives_reopening(catalog: Catalog) -> None:
    table = make(
        "T",
        storage=StorageFormat("text", (("field.delim", "\x01"),)),
        properties=(("k", "v"),),
        comment="c",
        location="/x",
    )
    created = catalog.create_table(table)
    catalog.close()
    again = Catalog(catalog.warehouse_dir)
    found = again.table("DEFAULT", "t")
    assert dataclasses.asdict(found) == dataclasses.asdict(created)
    assert found.created_at > 0
    again.close()


def test_json_keeps_every_field() -> None:
    view = make("v", TableKind.VIEW, view_text="select 1", created_at=5.0)
    assert dataclasses.asdict(
        table_from_json(view.table_id, "default", "v", table_to_json(view))
    ) == dataclasses.asdict(view)


def test_missing_table_names_it_and_hints(catalog: Catalog) -> None:
    catalog.create_table(make("flights"))
    with pytest.raises(TableNotFoundError) as caught:
        catalog.table("default", "flihgts")
    assert caught.value.message == "Table not found flihgts"
    assert caught.value.hint == 'did you mean "flights"?'
    with pytest.raises(DatabaseNotFoundError):
        catalog.table("nowhere", "flights")


def test_taken_name(catalog: Catalog) -> None:
    catalog.create_table(make("t"))
    with pytest.raises(TableExistsError) as caught:
        catalog.create_table(make("T"))
    assert caught.value.sqlstate == "42S01"


def test_temporary_table_shadows(catalog: Catalog) -> None:
    permanent = catalog.create_table(make("t"))
    temporary = catalog.create_table(make("t", TableKind.TEMPORARY))
    assert catalog.table("default", "T") == temporary
    assert catalog.table_names("default") == ["t"]
    other = Catalog(catalog.warehouse_dir)
    assert other.table("default", "t") == permanent
    other.close()
    catalog.drop_table(temporary)
    assert catalog.table("default", "t") == permanent


def test_names_by_pattern(catalog: Catalog) -> None:
    for name in ("flights", "flight_days", "planes"):
        catalog.create_table(make(name))
    catalog.create_table(make("v", TableKind.VIEW, view_text="select 1"))
    assert catalog.table_names("default", "flight*") == ["flight_days", "flights"]
    assert catalog.table_names("default", "FLIGHTS|planes") == ["flights", "planes"]
    assert catalog.table_names("default", views_only=True) == ["v"]


def test_databases(catalog: Catalog) -> None:
    assert catalog.create_database("Sales", comment="c")
    assert not catalog.create_database("sales", if_not_exists=True)
    with pytest.raises(BindError) as caught:
        catalog.create_database("sales")
    assert caught.value.sqlstate == "42P04"
    assert catalog.database_names() == ["default", "sales"]
    assert catalog.managed_location("sales", "T") == os.path.join(catalog.warehouse_dir, "sales.db", "t")
    assert catalog.managed_location("default", "t") == os.path.join(catalog.warehouse_dir, "t")
    table = catalog.create_table(make("t", database="sales"))
    with pytest.raises(BindError) as caught:
        catalog.drop_database("sales")
    assert caught.value.sqlstate == "2BP01"
    assert catalog.drop_database("sales", cascade=True) == [table]
    assert catalog.find_database("sales") is None
    assert catalog.drop_database("sales", if_exists=True) == []


def test_rename_and_alter(catalog: Catalog) -> None:
    table = catalog.create_table(make("t"))
    catalog.create_table(make("u"))
    with pytest.raises(TableExistsError):
        catalog.alter_table(dataclasses.replace(table, name="u"))
    renamed = catalog.alter_table(dataclasses.replace(table, name="W", comment="new"))
    assert catalog.table("default", "w") == renamed == table
    assert catalog.table("default", "w").comment == "new"
    assert catalog.find_table("default", "t") is None
    catalog.drop_table(renamed)
    with pytest.raises(TableNotFoundError):
        catalog.alter_table(renamed)


def test_failed_publish_leaves_no_table(catalog: Catalog) -> None:
    def fail() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        catalog.create_table(make("t"), publish=fail)
    assert catalog.find_table("default", "t") is None
    table = catalog.create_table(make("t"))
    with pytest.raises(RuntimeError):
        catalog.alter_table(dataclasses.replace(table, comment="x"), publish=fail)
    assert catalog.table("default", "t").comment is None


def test_rows_of_a_killed_drop_do_not_come_back(catalog: Catalog) -> None:
    location = catalog.managed_location("default", "t")
    table = catalog.create_table(make("t", location=location))
    os.makedirs(location)
    Path(location, "old").write_text("1")
    catalog.drop_table(table)
    # The process died here: before collect_garbage.
    again = Catalog(catalog.warehouse_dir)
    again.create_table(make("t", location=location), publish=lambda: os.makedirs(location, exist_ok=True))
    assert os.listdir(location) == []
    again.collect_garbage()
    assert os.path.isdir(location)
    again.close()


def test_unwritable_warehouse_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError) as caught:
        Catalog(tmp_path / "file" / "wh")
    assert "cannot be written" in caught.value.message
    assert "\n" not in str(caught.value)


HAMMER = """
import sys
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.model import Table, TableKind
from sharkpy.base.errors import TableExistsError
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Schema, Field
catalog = Catalog(sys.argv[1])
won = 0
for i in range(40):
    try:
        catalog.create_table(
            Table(new_table_id(), "default", f"t{i}", TableKind.MANAGED, Schema((Field("a", parse_type("int")),)))
        )
        won += 1
    except TableExistsError:
        pass
    catalog.table_names("default")
print(won)
"""


def test_two_processes_at_once(tmp_path: Path) -> None:
    """Each name is won by exactly one of two processes that start on an empty folder."""
    command = [sys.executable, "-c", HAMMER, str(tmp_path / "wh")]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    won = [int(process.communicate(timeout=60)[0]) for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert sum(won) == 40
    catalog = Catalog(tmp_path / "wh")
    assert len(catalog.table_names("default")) == 40
    catalog.close()


def test_a_table_is_replaced_by_one_in_another_folder_alone(catalog: Catalog, tmp_path: Path) -> None:
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    catalog.create_table(make("t", location=one), publish=Path(one).mkdir)
    for refused in (make("t", location=one), make("t", TableKind.VIEW)):
        with pytest.raises(TableExistsError):
            catalog.create_table(refused, replace=True)
    assert Path(one).is_dir()
    new = catalog.create_table(make("t", location=two), replace=True)
    assert catalog.table("default", "t") == new
    catalog.collect_garbage()
    assert not Path(one).exists()


@pytest.mark.parametrize("name", ["../x", "a/b", "a.b", "..", "", "a\\b", "a\0b"])
def test_names_that_would_be_other_folders(catalog: Catalog, name: str) -> None:
    table = catalog.create_table(make("t"))
    for attempt in (
        lambda: catalog.create_table(make(name)),
        lambda: catalog.create_table(make(name, TableKind.TEMPORARY)),
        lambda: catalog.create_database(name),
        lambda: catalog.alter_table(dataclasses.replace(table, name=name)),
    ):
        with pytest.raises(BindError) as caught:
            attempt()
        assert caught.value.sqlstate == "42602"
