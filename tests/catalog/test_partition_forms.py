"""A Hive partition keeps the format and the columns that its table had when it was made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema

TEXT = StorageFormat("text", (("field.delim", "|"),))


def schema(*columns: str) -> Schema:
    return Schema(tuple(Field(c.split()[0], parse_type(c.split()[1])) for c in (*columns, "d string")))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    catalog = Catalog(tmp_path)
    yield catalog
    catalog.close()


@pytest.fixture
def table(catalog: Catalog) -> Table:
    made = Table(new_table_id(), "default", "t", TableKind.MANAGED, schema("a int", "b string"), TEXT, "/t")
    created = catalog.create_table(dataclasses.replace(made, partition_columns=("d",)))
    with catalog.partition_changes(created) as changes:
        changes.add("d=1")
    return created


def only(catalog: Catalog, table: Table) -> HivePartition:
    (one,) = catalog.partitions(table)
    return one


def test_another_format(catalog: Catalog, table: Table) -> None:
    altered = catalog.alter_table(dataclasses.replace(table, storage=StorageFormat("orc")))
    assert only(catalog, altered).storage == TEXT
    catalog.alter_table(dataclasses.replace(altered, storage=StorageFormat("parquet")))
    assert only(catalog, altered).storage == TEXT
    with catalog.partition_changes(altered) as changes:
        changes.add("d=2")
    assert [one.storage_of(altered).name for one in catalog.partitions(altered)] == ["text", "orc"]


def test_columns_added_behind_are_those_of_older_partitions_too(catalog: Catalog, table: Table) -> None:
    altered = catalog.alter_table(dataclasses.replace(table, schema=schema("a int", "b string", "c int")))
    assert only(catalog, altered).columns is None
    assert only(catalog, altered).columns_of(altered).names == ("a", "b", "c")


@pytest.mark.parametrize(
    "columns", [("a string", "b string"), ("x int", "b string"), ("a int",), ("b string", "a int")]
)
def test_other_columns(catalog: Catalog, table: Table, columns: tuple[str, ...]) -> None:
    altered = catalog.alter_table(dataclasses.replace(table, schema=schema(*columns)))
    assert only(catalog, altered).columns == table.data_schema
    catalog.alter_table(dataclasses.replace(altered, comment="c"), cascade=True)
    assert only(catalog, altered).columns is None


def test_a_change_of_something_else_changes_no_partition(catalog: Catalog, table: Table) -> None:
    before = only(catalog, table)
    altered = catalog.alter_table(dataclasses.replace(table, comment="c", name="u"))
    assert only(catalog, altered) == before
