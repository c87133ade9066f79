"""Simulation of physical plans in this process: every stage of a plan, with real tasks and real buckets."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa

from sharkpy.base.settings import Conf
from sharkpy.catalog.model import BucketSpec, Table, TableKind
from sharkpy.columnar.block import encode_block
from sharkpy.columnar.store import BlockStore, open_block
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.tasks.buckets import RowBuckets
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.integer_columns import ARROW_TYPES, read_block
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import Exchange, ExchangeRead
from sharkpy.physical.plan import (
    BroadcastPartitioning,
    ExchangeStatistics,
    PhysicalPlan,
    RangePartitioning,
    SinglePartitioning,
)
from sharkpy.physical.plan_context import PlanContext
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.replan import replan
from sharkpy.physical.split_stages import next_exchange, range_bounds, read_of, replace_exchange, sample_plan, sink_of
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import (
    BlockColumns,
    BroadcastColumns,
    BroadcastSink,
    ExchangeColumns,
    FileColumns,
    HashSink,
    RangeSink,
    ResultSink,
    StageProgram,
    TaskInput,
)
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.sources.source import Split
from sharkpy.udf.connection import prepare_connection
from sharkpy.values.types import Field, Schema, arrow_schema, from_arrow

ids = itertools.count(1)


@functools.cache
def connect() -> duckdb.DuckDBPyConnection:
    """Connection shared by these tests; relations of the same name replace each other."""
    connection = duckdb.connect(config={"threads": 1})
    prepare_connection(connection)
    return connection


@dataclass
class World:
    """World of named Arrow tables, each read as `pieces` splits."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    pieces: int = 3
    conf: Conf = field(default_factory=lambda: Conf({"shark.kernels": "never"}))
    versions: dict[str, TableVersion] = field(default_factory=dict)
    buckets: dict[str, BucketSpec] = field(default_factory=dict)

    def scan(self, name: str, *names: str, predicate=None) -> tuple[Scan, dict[str, ColumnRef]]:
        data = self.tables[name]
        schema = Schema(tuple(Field(f.name, from_arrow(f.type)) for f in data.schema))
        table = Table(name, "default", name, TableKind.MANAGED, schema, buckets=self.buckets.get(name))
        wanted = names or schema.names
        columns = tuple(ColumnRef(next(ids), column, schema[column].dtype) for column in wanted)
        return Scan(table, columns, tuple(wanted), predicate), dict(zip(wanted, columns, strict=True))

    def source(self, table: Table):
        if table.name in self.versions:
            return self.versions[table.name]
        rows, splits, start = self.tables[table.name].num_rows, [], 0
        for index in range(self.pieces):
            end = rows * (index + 1) // self.pieces
            splits.append(Split(table.name, "text", (), start, end - start, rows, 0, end - start))
            start = end
        return splits

    def context(self, placement: str | None) -> PlanContext:
        place = None if placement is None else Place(placement)
        return PlanContext(self.conf, self.source, default_parallelism=2, placement=place)

    def run(self, plan: LogicalPlan, placement: str, *, use_replan: bool = True) -> pa.Table:
        return self.execute(plan_physical(plan, self.context(placement)).root, use_replan=use_replan)

    def execute(self, plan: PhysicalPlan, *, use_replan: bool = True) -> pa.Table:
        runner = Runner(self)
        while (exchange := next_exchange(plan)) is not None:
            observed = runner.run_exchange(exchange)
            plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, observed))
            if use_replan:
                plan, _ = replan(plan, {exchange.exchange_id: observed}, self.conf)
        parts = runner.run_stage(plan, lower_stage(plan, ResultSink()))
        return pa.concat_tables(parts)


class Runner:
    def __init__(self, world: World) -> None:
        self.world = world
        self.buckets: dict[int, list[pa.Table]] = {}

    def run_exchange(self, exchange: Exchange) -> ExchangeStatistics:
        bounds = b""
        if isinstance(exchange.partitioning, RangePartitioning):
            sampled = sample_plan(exchange)
            sample = pa.concat_tables(self.run_stage(sampled, lower_stage(sampled, ResultSink())))
            bounds = range_bounds(sample, exchange.partitioning)
        sink = sink_of(exchange, bounds)
        parts = self.run_stage(exchange.child, lower_stage(exchange.child, sink))
        table = pa.concat_tables(parts)
        match sink:
            case HashSink(keys, num_buckets):
                columns = ", ".join(f'"{key}"' for key in keys)
                buckets = self._split(table, f"hash({columns}) % {num_buckets}" if keys else "0", num_buckets)
            case RangeSink(keys, bounds, num_buckets):
                cuts = pa.ipc.open_stream(bounds).read_all()
                buckets = self._ranges(table, cuts, keys, num_buckets)
            case _:
                buckets = [table]
        self.buckets[exchange.exchange_id] = buckets
        assert isinstance(sink, BroadcastSink) == isinstance(exchange.partitioning, BroadcastPartitioning)
        return ExchangeStatistics(table.num_rows, tuple(bucket.nbytes for bucket in buckets))

    def _split(self, table: pa.Table, bucket: str, num_buckets: int) -> list[pa.Table]:
        connection = connect()
        connection.register("t", table)
        return [
            connection.sql(f"SELECT * FROM t WHERE {bucket} = {index}").to_arrow_table().cast(table.schema)
            for index in range(num_buckets)
        ]

    def _ranges(self, table: pa.Table, cuts: pa.Table, keys, num_buckets: int) -> list[pa.Table]:
        connection = connect()
        names = [name for name, _, _ in keys]
        order = ", ".join(
            f'"{name}" {"ASC" if ascending else "DESC"} NULLS {"FIRST" if first else "LAST"}'
            for name, ascending, first in keys
        )
        marked = pa.concat_tables(
            [
                table.append_column("is_row", pa.array([1] * table.num_rows, pa.int8())),
                pa.table(
                    {
                        **{
                            f.name: cuts.column(f.name) if f.name in names else pa.nulls(cuts.num_rows, f.type)
                            for f in table.schema
                        },
                        "is_row": pa.array([0] * cuts.num_rows, pa.int8()),
                    }
                ),
            ]
        )
        connection.register("t", marked)
        text = f"SELECT *, sum(1 - is_row) OVER (ORDER BY {order}, is_row ROWS UNBOUNDED PRECEDING) AS b FROM t"
        found = connection.sql(f"SELECT * FROM ({text}) WHERE is_row = 1").to_arrow_table()
        import pyarrow.compute as pc

        return [
            found.filter(pc.equal(found.column("b"), pa.scalar(index, found.column("b").type)))
            .select(table.column_names)
            .cast(table.schema)
            for index in range(num_buckets)
        ]

    def run_stage(self, plan: PhysicalPlan, stage: Stage) -> list[pa.Table]:
        reads = {node.exchange_id: node for node in plan.walk() if isinstance(node, ExchangeRead)}
        return [self._task(stage.program, task, index, reads) for index, task in enumerate(stage.tasks)]

    def _task(self, program: StageProgram, task: TaskInput, index: int, reads: dict[int, ExchangeRead]) -> pa.Table:
        connection = connect()
        schema = arrow_schema(program.output)
        table = None
        for stage_input in program.inputs:
            table = self._relation(stage_input, task, index, reads)
            connection.register(stage_input.relation, table)
        if program.sql:
            table = connection.sql(program.sql).to_arrow_table()
            if not schema.names:
                return pa.table({"_": pa.nulls(table.num_rows)})
        assert table is not None
        assert table.column_names == schema.names
        return table.cast(schema)

    def _relation(self, stage_input, task: TaskInput, index: int, reads: dict[int, ExchangeRead]) -> pa.Table:
        match stage_input:
            case FileColumns(relation, schema, names, aliases):
                splits = dict(task.splits)[relation]
                parts = [self.world.tables[s.path].slice(s.start, s.length) for s in splits]
                table = pa.concat_tables(parts) if parts else arrow_schema(schema).empty_table()
                if not aliases:
                    return pa.table({"_": pa.nulls(table.num_rows)})
                return table.select(names).rename_columns(aliases)
            case BlockColumns():
                return self._blocks(stage_input, dict(task.blocks)[stage_input.relation])
            case BroadcastColumns(_, exchange_id):
                return pa.concat_tables(self.buckets[exchange_id])
            case ExchangeColumns(_, exchange_id):
                buckets = self.buckets[exchange_id]
                if isinstance(reads[exchange_id].partitioning, SinglePartitioning):
                    return pa.concat_tables(buckets)
                return buckets[index]
        raise AssertionError(stage_input)

    def _blocks(self, spec: BlockColumns, handles) -> pa.Table:
        forms = spec.forms or ("",) * len(spec.names)
        parts = [read_block(open_block(handle), spec) for handle in handles]
        if not spec.names:
            return pa.table({"_": pa.nulls(sum(handle.num_rows for handle in handles))})
        if not parts:
            types = [
                ARROW_TYPES[form] if form else kind
                for form, kind in zip(forms, arrow_schema(spec.schema).types, strict=True)
            ]
            return pa.schema(list(zip(spec.aliases, types, strict=True))).empty_table()
        return pa.concat_tables([part.cast(_plain(part.schema)) for part in parts])


def _plain(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])


def cached(store: BlockStore, data: pa.Table, num_blocks: int, encoding: str = "") -> TableVersion:
    """Version of a table with `data` in `num_blocks` blocks."""
    schema = Schema(tuple(Field(f.name, from_arrow(f.type)) for f in data.schema))
    version, start = TableVersion.empty(schema), 0
    for index in range(num_blocks):
        end = data.num_rows * (index + 1) // num_blocks
        encoded = encode_block(data.slice(start, end - start), schema, force_encoding=encoding)
        version = version.append([store.writer().write(encoded)], [encoded.statistics])
        start = end
    return version


def cached_in_buckets(store: BlockStore, data: pa.Table, spec: BucketSpec, block_rows: int = 1000) -> TableVersion:
    """Version of a table with `data` in blocks of one bucket each."""
    schema = Schema(tuple(Field(f.name, from_arrow(f.type)) for f in data.schema))
    version = TableVersion.empty(schema)
    for bucket, part in RowBuckets(spec, schema).split_all([data]):
        for start in range(0, part.num_rows, block_rows):
            encoded = encode_block(part.slice(start, block_rows), schema)
            version = version.append([replace(store.writer().write(encoded), bucket=bucket)], [encoded.statistics])
    return version


def rows(table: pa.Table) -> list[tuple]:
    return [tuple(row.values()) for row in table.to_pylist()]


def unordered(table: pa.Table) -> list[tuple]:
    """Rows in one order; NaN is written out, as it is not equal to itself."""
    values = [tuple("NaN" if value != value else value for value in row) for row in rows(table)]
    return sorted(values, key=repr)
