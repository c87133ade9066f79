"""Session whose commands are made by hand, over queries of known rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.columnar.store import open_block
from sharkpy.execution.tables.data_files import table_files
from sharkpy.plan.arrow_data import GivenRows
from sharkpy.plan.commands import Command, CreateTable, Insert
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Given
from sharkpy.sources.formats import source
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema, from_arrow


def query_of(table: pa.Table, error: Exception | None = None) -> Given:
    """Query of known rows; `error` is raised after they were written."""

    def read(rows: Iterable[object], _: int) -> Iterator[pa.RecordBatch]:
        yield from rows  # type: ignore[misc]
        if error is not None:
            raise error

    columns = tuple(ColumnRef(i, f.name, from_arrow(f.type)) for i, f in enumerate(table.schema, 1))
    schema = Schema(tuple(Field(one.name, one.dtype) for one in columns))
    batches = table.cast(arrow_schema(schema)).to_batches()
    return Given(columns, GivenRows("known rows", schema, read, here=batches))


class OpenSession:
    """Session on two local cores, and the tests' ways to use it."""

    def __init__(self, root: Path) -> None:
        self.context = sharkpy.connect("local[2]", root / "wh")
        self.conf = self.context.conf
        self.catalog = self.context.catalog
        self.engine = self.context.engine
        self.table_cache = self.context.table_cache

    def run(self, command: Command) -> list[tuple[Any, ...]]:
        snapshot = self.context.snapshot()
        try:
            table = self.context.run_command(command, snapshot).table
        finally:
            snapshot.release()
        return [] if table is None else list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def create(self, name: str, columns: str = "a int, s string", **fields: Any) -> Table:
        defaults = {
            "kind": TableKind.MANAGED,
            "schema": schema_of(columns),
            "if_not_exists": False,
            "storage": StorageFormat("text", (("field.delim", ","),)),
        }
        self.run(CreateTable("default", name, **(defaults | fields)))
        return self.catalog.table("default", name)

    def insert(self, table: Table, rows: list[tuple[Any, ...]], *, overwrite: bool = False) -> None:
        self.run(Insert(table, rows_of(arrow_schema(table.schema), rows), overwrite))

    def file_rows(self, table: Table) -> list[tuple[Any, ...]]:
        """Rows of the table, read from its files."""
        reader, rows = source(table.storage.name), []
        files = table_files(table, self.catalog)
        for split in reader.splits(files, table.schema, table.storage.properties, 1 << 20):
            for batch in reader.read(split, table.schema, table.schema.names):
                rows += list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        return rows

    def block_rows(self, table: Table) -> list[tuple[Any, ...]]:
        """Rows of the table, read from its blocks."""
        version = self.table_cache.version(table)
        assert version is not None
        assert version.num_rows == version.statistics.count()
        rows = []
        for handle in version.blocks:
            block = open_block(handle).read(list(table.schema.names), decoded=True)
            rows += list(zip(*(column.to_pylist() for column in block.columns), strict=True))
        return rows

    def close(self) -> None:
        self.context.stop()


def schema_of(columns: str) -> Schema:
    pairs = (column.split(" ", 1) for column in columns.split(", "))
    return Schema(tuple(Field(name, parse_type(text)) for name, text in pairs))


def rows_of(schema: pa.Schema, rows: list[tuple[Any, ...]]) -> Given:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in schema]
    return query_of(pa.table(columns, schema=schema))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def session(root: Path) -> Iterator[OpenSession]:
    session = OpenSession(root)
    yield session
    session.close()


@pytest.fixture
def query() -> Callable[..., Given]:
    """Function `query_of`, for tests that make queries of their own."""
    return query_of
