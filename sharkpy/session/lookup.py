"""Lookup of rows by key: planned without SQL text, and read only from the blocks that may hold the key."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import (
    BindError,
    ColumnNotFoundError,
    InternalError,
    UnsupportedError,
    did_you_mean,
)
from sharkpy.catalog.names import qualified
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import new_runner
from sharkpy.execution.tasks.buckets import RowBuckets
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.lowering.lower_stage import only_stage
from sharkpy.physical.plan_context import PlanContext
from sharkpy.physical.planner import plan_physical
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal, PythonValue
from sharkpy.plan.logical import LogicalPlan, Project, Scan
from sharkpy.session.result import Result, Row
from sharkpy.sql.expressions.coercion import key_value
from sharkpy.values.types import BOOLEAN, Field, Schema, to_arrow

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.physical.hive_partitions import HivePartitions
    from sharkpy.sources.source import Split


def lookup(
    session: EngineSession,
    name: str,
    key: PythonValue,
    columns: Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
) -> list[Row]:
    """Return the rows of the table whose columns `by` equal `key` (a tuple for several columns), with `columns` of
    each.

    `by` defaults to the table's bucket columns; then only blocks of the key's bucket are considered. Block statistics
    prune these further. NULL equals nothing, as in SQL.
    """
    table = _table(session, name)
    values = _key(table, key, by)
    if None in values.values():
        return []
    chosen = [_field(table, column) for column in (columns or table.schema.names)]
    plan = _plan(table, values, chosen)
    snapshot = session.snapshot()

    def source(wanted: Table) -> TableVersion | Sequence[Split] | HivePartitions:
        found = snapshot.scan_source(wanted)
        return _narrowed(found, wanted, values, session) if isinstance(found, TableVersion) else found

    planning = PlanContext(session.conf, source, snapshot, 1, placement=Place.DRIVER)
    physical = plan_physical(plan, planning)
    stage = only_stage(physical, 1)
    if stage is None:
        raise InternalError("a lookup takes more than one stage")
    runner = new_runner(session, physical, f"lookup in {table.qualified_name}")
    try:
        return Result(Schema(tuple(chosen)), runner.stages.batches(stage)).fetchall()
    finally:
        runner.stages.close()


def _table(session: EngineSession, name: str) -> Table:
    table = session.catalog.table(*qualified(name, session.current_database))
    if table.is_view:
        raise UnsupportedError(f'"{name}" is a view: lookup needs a table', hint="read its rows by a query")
    if table.has_no_rows:
        raise UnsupportedError(f'"{name}" is a {table.streaming_kind}, which has no rows: lookup needs a table')
    return table


def _key(table: Table, key: PythonValue, by: str | Sequence[str] | None) -> dict[str, PythonValue]:
    """Return the values of the key by column, in the columns' types."""
    names = [by] if isinstance(by, str) else list(by or (table.buckets.columns if table.buckets else ()))
    if not names:
        raise BindError(
            f'table "{table.name}" has no bucket columns to look up by', hint="name the columns of the key: by=…"
        )
    values = key if isinstance(key, tuple) else (key,)
    if len(values) != len(names):
        raise BindError(f"the key has {len(values)} values for the columns {', '.join(names)}", sqlstate="21S01")
    fields = [_field(table, name) for name in names]
    return {field.name: key_value(field, value) for field, value in zip(fields, values, strict=True)}


def _field(table: Table, name: str) -> Field:
    for field in table.schema:
        if field.name.lower() == name.lower():
            return field
    hint = did_you_mean(name, table.schema.names)
    raise ColumnNotFoundError(f'no column "{name}" in table "{table.name}"', hint=hint)


def _plan(table: Table, values: dict[str, PythonValue], chosen: Sequence[Field]) -> LogicalPlan:
    names = list(dict.fromkeys([*values, *(field.name for field in chosen)]))
    ids = itertools.count(1)
    refs = {name: ColumnRef(next(ids), name, table.schema[name].dtype) for name in names}
    equal: list[Expr] = [
        Call("eq", (refs[name], Literal(value, refs[name].dtype)), BOOLEAN) for name, value in values.items()
    ]
    predicate = equal[0] if len(equal) == 1 else Call("and", tuple(equal), BOOLEAN)
    scan = Scan(table, tuple(refs.values()), tuple(names), predicate)
    return Project(scan, tuple(refs[field.name] for field in chosen))


def _narrowed(
    version: TableVersion, table: Table, values: dict[str, PythonValue], session: EngineSession
) -> TableVersion:
    """Return the version with only the blocks of the key's bucket, if the key has one and each block is of one."""
    spec = table.buckets
    if spec is None or not set(spec.columns) <= set(values) or any(block.bucket is None for block in version.blocks):
        return version
    row = pa.table({name: pa.array([values[name]], to_arrow(table.schema[name].dtype)) for name in spec.columns})
    with session.engine.pool.borrow() as connection:
        bucket = int(RowBuckets(spec, table.schema, connection).numbers(row)[0])
    kept = [place for place, block in enumerate(version.blocks) if block.bucket == bucket]
    return dataclasses.replace(
        version,
        blocks=tuple(version.blocks[place] for place in kept),
        statistics=version.statistics.part(np.array(kept, np.int64)),
        origins=tuple(version.origins[place] for place in kept),
    )
