"""Epochs of a continuous table in one DuckDB in memory: the engine's own plans of what an epoch adds, of folds and of
the rows of the table, optimised and lowered as usual, without files, a catalog or commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import duckdb

from sharkpy.base.settings import Conf
from sharkpy.catalog.model import STATE_PREFIX, Table, TableKind, Watermark
from sharkpy.optimizer.context import NoStatistics
from sharkpy.optimizer.decisions import Place
from sharkpy.optimizer.optimize import optimize
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.plan_context import PlanContext
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stage_program import FileColumns, ResultSink
from sharkpy.plan.commands import CreateContinuousTable, Insert
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sources.source import Split
from sharkpy.sql.binder import bind, bind_epoch, bind_state_folds
from sharkpy.sql.statements.bind_epoch import EpochTables
from sharkpy.streaming.commands.create_continuous import state_properties
from sharkpy.udf.duckdb_sql import duckdb_type
from tests.sql.memory_catalog import MemoryCatalog
from tests.streaming.random_events import COLUMNS

_DATABASE, _CONF = "default", Conf()
_NAME, _QUERY = "t", "q"


class EpochsInMemory:
    """Continuous table `t`, made by a statement over streams of events and the table `names`.

    1. An epoch reads the rows of DuckDB's relation `fresh`, whichever the stream.
    2. DuckDB's table `state` has the rows that epochs have added: rows of the state, or, without a state, rows of the
       table. `#epoch` has the number of the epoch, or of the last epoch of folded rows.
    3. DuckDB parses each text once, which takes a third of the time of an epoch.
    """

    def __init__(self, duck: duckdb.DuckDBPyConnection, statement: str, delays: Mapping[str, int | None]) -> None:
        """`duck`: a prepared connection. `delays`: seconds from the watermark of each stream to its latest row; None:
        the stream has no watermark.
        """
        self._duck = duck
        catalog, relations = MemoryCatalog(), {"names": "names"}
        catalog.add(_DATABASE, "names", "k string, name string")
        for name, delay in delays.items():
            relations[name] = "fresh"
            mark = None if delay is None else Watermark("ts", delay * 1_000_000)
            catalog.add_stream(_DATABASE, name, COLUMNS.lower(), mark)
        command = bind(statement, catalog, _CONF, _DATABASE)
        assert isinstance(command, CreateContinuousTable)
        rows = _table_of_rows(command)
        relations[rows.name] = "state"
        catalog.put(rows)
        if rows.is_state:
            catalog.put(_over_state(rows, command))
        columns = ", ".join(f'"{field.name}" {duckdb_type(field.dtype)}' for field in rows.schema)
        duck.execute(f'CREATE OR REPLACE TABLE state ({columns}, "#epoch" INTEGER)')
        insert = bind_epoch(command.text, EpochTables(rows, rows), catalog, _CONF, _DATABASE)
        assert isinstance(insert, Insert)
        self._added = self._adding(insert.query, relations)
        read = bind(f"SELECT * FROM {_NAME}", catalog, _CONF, _DATABASE)
        assert isinstance(read, LogicalPlan)
        (self._read,) = duck.extract_statements(_text_of(read, relations))
        self._folds = dict[bool, list[duckdb.Statement]]()
        """Plans of folds; the key says if the folded rows are the first ones. Empty for a table without state."""
        part = rows.from_files("#fold")
        for is_first in (False, True) if rows.is_state else ():
            plans = bind_state_folds(command.text, part, catalog, _CONF, _DATABASE, is_first=is_first)
            self._folds[is_first] = [self._adding(plan, {**relations, rows.name: "folded"}) for plan in plans]

    def run(self, number: int) -> None:
        """Run the epoch with that number."""
        self._duck.execute(self._added, [number])

    def fold(self, first: int, last: int) -> None:
        """Fold the rows of some epochs, if the query has state."""
        if not self._folds:
            return
        execute, within = self._duck.execute, f'"#epoch" BETWEEN {first} AND {last}'
        execute(f'CREATE OR REPLACE TABLE folded AS SELECT * EXCLUDE "#epoch" FROM state WHERE {within}')
        execute(f"DELETE FROM state WHERE {within}")
        ((has_earlier,),) = execute(f'SELECT count(*) > 0 FROM state WHERE "#epoch" < {first}').fetchall()
        for fold in self._folds[not has_earlier]:
            execute(fold, [last])

    def rows(self) -> list[tuple[object, ...]]:
        """Rows of the table."""
        return self._duck.execute(self._read).fetchall()

    def _adding(self, plan: LogicalPlan, relations: Mapping[str, str]) -> duckdb.Statement:
        """Statement that adds rows to the table `state`; its parameter is the number of their epoch."""
        (found,) = self._duck.extract_statements(f"INSERT INTO state SELECT *, ? FROM ({_text_of(plan, relations)})")
        return found


def _table_of_rows(command: CreateContinuousTable) -> Table:
    """Table that epochs write."""
    if command.state is None:
        return Table(_NAME, _DATABASE, _NAME, TableKind.MANAGED, command.table.schema, continuous=_QUERY)
    name, schema = f"{STATE_PREFIX}{_QUERY}", command.state.schema
    properties = state_properties(command.state, gives=False)
    state = Table(name, _DATABASE, name, TableKind.MANAGED, schema, properties=properties)
    return replace(state, continuous=_QUERY, state_of=_NAME)


def _over_state(state: Table, command: CreateContinuousTable) -> Table:
    """Table whose rows are computed of a state when they are read."""
    table = Table(_NAME, _DATABASE, _NAME, TableKind.VIEW, command.table.schema, properties=state.properties)
    return replace(table, view_text=command.text, continuous=_QUERY)


def _text_of(plan: LogicalPlan, relations: Mapping[str, str]) -> str:
    """DuckDB's text of a bound plan, with relations of DuckDB in the place of tables, by their names."""
    context = PlanContext(_CONF, _split_of, placement=Place.DRIVER)
    stage = lower_stage(plan_physical(optimize(plan, NoStatistics(), _CONF), context).root, ResultSink())
    splits, inputs = dict(stage.tasks[0].splits), list[str]()
    for one in stage.program.inputs:
        assert isinstance(one, FileColumns), one
        (split,) = splits[one.relation]
        named = [f'"{name}" AS "{alias}"' for name, alias in zip(one.names, one.aliases, strict=True)]
        columns = ", ".join(named) or "true AS _"
        inputs.append(f"{one.relation} AS NOT MATERIALIZED (SELECT {columns} FROM {relations[split.path]})")
    head = f"WITH {', '.join(inputs)} " if inputs else ""
    return f"{head}SELECT * FROM ({stage.program.sql or f'FROM {stage.program.inputs[0].relation}'})"


def _split_of(table: Table) -> list[Split]:
    """The rows of a table, of which the planner knows nothing."""
    return [Split(table.name, "text", (), 0, 1, 1, 0)]
