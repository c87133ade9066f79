"""A session whose queries are Arrow tables: commands, catalog, cache and store are the real ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sharkpy.base.settings import Conf
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.catalog.store import Catalog
from sharkpy.columnar.block import encode_block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics import BlockStatistics
from sharkpy.columnar.store import BlockStore, open_block
from sharkpy.execution.commands import CommandResult, run_command
from sharkpy.execution.restrictions import UNRESTRICTED
from sharkpy.execution.tables.cache import TableCache
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.physical.stage import BlockSink, FileSink
from sharkpy.plan.commands import Command, CreateTable, Explain, Insert
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.registry import file_suffix, source
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema, from_arrow


@dataclass(frozen=True, slots=True)
class Rows(LogicalPlan):
    """A query of known rows; `error` is raised after they were written."""

    table: pa.Table
    error: Exception | None = None

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return tuple(ColumnRef(i, f.name, from_arrow(f.type)) for i, f in enumerate(self.table.schema, 1))


class FakeEngine:
    parallelism = 2

    def __init__(self, root: Path) -> None:
        (root / "shm").mkdir(exist_ok=True)
        (root / "local").mkdir(exist_ok=True)
        self.store = BlockStore(64 << 20, str(root / "shm"), str(root / "local"))


class FakeSession:
    def __init__(self, root: Path) -> None:
        self.conf = Conf()
        self.catalog = Catalog(root / "wh")
        self.engine = FakeEngine(root)
        self.table_cache = TableCache(self)
        self.current_database = "default"
        self.restrictions = UNRESTRICTED

    def snapshot(self) -> QuerySnapshot:
        raise NotImplementedError

    def write_files(
        self, plan: LogicalPlan, sink: FileSink, snapshot: QuerySnapshot | None = None
    ) -> Sequence[tuple[str, int, int]]:
        rows = _rows(plan)
        path = f"{sink.directory}/part-0{file_suffix(sink.format, sink.properties)}"
        table = rows.table.rename_columns(list(sink.schema.names)).cast(arrow_schema(sink.schema))
        count = source(sink.format).write(table.to_batches(), sink.schema, sink.properties, path)
        if rows.error is not None:
            raise rows.error
        return [(path, count, 0)]

    def write_blocks(
        self, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot | None = None
    ) -> Sequence[tuple[BlockHandle, BlockStatistics]]:
        table = _rows(plan).table.rename_columns(list(sink.schema.names)).cast(arrow_schema(sink.schema))
        encoded = encode_block(table, sink.schema)
        return [(self.engine.store.writer().write(encoded), encoded.statistics)]

    def batches(self, plan: LogicalPlan) -> Iterator[pa.RecordBatch]:
        yield from _rows(plan).table.to_batches()

    def forget_plans(self, table: Table) -> None:
        pass

    def explain(self, command: Explain) -> CommandResult:
        raise NotImplementedError

    # What tests do

    def run(self, command: Command) -> list[tuple[Any, ...]]:
        table = run_command(command, self).table
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
        self.run(Insert(table, rows_of(table.schema, rows), overwrite))

    def file_rows(self, table: Table) -> list[tuple[Any, ...]]:
        """The table's rows as its files have them."""
        reader, rows = source(table.storage.name), []
        files = list_data_files(table.location or "")
        for split in reader.splits(files, table.schema, table.storage.properties, 1 << 20):
            for batch in reader.read(split, table.schema, table.schema.names):
                rows += list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        return rows

    def block_rows(self, table: Table) -> list[tuple[Any, ...]]:
        """The table's rows as its blocks have them."""
        version = self.table_cache.version(table)
        assert version is not None
        assert version.num_rows == version.statistics.count()
        rows = []
        for handle in version.blocks:
            block = open_block(handle).read(list(table.schema.names), decoded=True)
            rows += list(zip(*(column.to_pylist() for column in block.columns), strict=True))
        return rows

    def close(self) -> None:
        self.engine.store.close()
        self.catalog.close()


def _rows(plan: LogicalPlan) -> Rows:
    return next(node for node in plan.walk() if isinstance(node, Rows))


def schema_of(columns: str) -> Schema:
    pairs = (column.split(" ", 1) for column in columns.split(", "))
    return Schema(tuple(Field(name, parse_type(text)) for name, text in pairs))


def rows_of(schema: Schema, rows: list[tuple[Any, ...]], error: Exception | None = None) -> Rows:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in schema]
    return Rows(pa.table(columns, schema=arrow_schema(schema)), error)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def session(root: Path) -> Iterator[FakeSession]:
    session = FakeSession(root)
    yield session
    session.close()
