"""Run of a physical plan: one map stage after the other, with replanning by their statistics, then the result."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.settings import Conf
from sharkpy.columnar.value_sets import key_bits
from sharkpy.execution.stages.prepared_stage import PreparedStage
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.stage_runner import StageRunner
from sharkpy.execution.tasks.buckets import bucket_count
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.optimizer.decisions import Decision, Placement
from sharkpy.physical.build_side_filters import filter_by_keys, with_early_build_side
from sharkpy.physical.co_partition import avoided_exchanges
from sharkpy.physical.first_rows import MOST_ROWS, Waves, satisfied_limits
from sharkpy.physical.first_rows import waves as first_row_waves
from sharkpy.physical.learned_filters import KeyValues, learn_filters
from sharkpy.physical.lowering.lower_stage import lower_stage, result_stage
from sharkpy.physical.operators import Exchange, ExchangeRead, LimitOperator, Project, TopN
from sharkpy.physical.placement import PlacedPlan, place_fragment
from sharkpy.physical.plan import (
    BroadcastPartitioning,
    ExchangeStatistics,
    PhysicalPlan,
    RangePartitioning,
    Single,
    SinglePartitioning,
    column_name,
)
from sharkpy.physical.plan_shape import equal_exchanges
from sharkpy.physical.planner import planned_decisions
from sharkpy.physical.replan import replan
from sharkpy.physical.split_stages import (
    SAMPLE_ROWS,
    next_exchange,
    range_bounds,
    read_of,
    replace_exchange,
    replace_node,
    sample_plan,
    sink_of,
)
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import ResultSink, StageProgram, StageSink
from sharkpy.plan.expr import Alias, ColumnRef, Expr, PythonValue
from sharkpy.values.types import NULL, is_nested

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class PlanRunner:
    """Runner of one plan, once, at its placement. `run` has its profile and its statement, which may cancel it."""

    def __init__(self, plan: PlacedPlan, run: QueryRun, conf: Conf) -> None:
        self.plan = plan
        self.run = run
        self.stages = StageRunner(run)
        self._conf = conf
        self._parallelism = run.engine.parallelism
        self._known_keys: dict[tuple[int, Expr], KeyValues | None] = {}
        self._last_exchange_id = 0
        self._shared: dict[int, tuple[Exchange, int]] = {}
        """Exchanges that did not run, by id, each with the id of an exchange that has moved the same rows."""
        self._last_stage: Stage | None = None

    @property
    def is_complete(self) -> bool:
        """True if the last batch from `batches` is known to be the final one."""
        return self._last_stage is not None and self.stages.driver.given_whole is self._last_stage

    def batches(self, only_stage: Stage | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the plan's rows; closing the iterator early ends the query.

        `only_stage` is the whole plan as one stage, if it was lowered before.
        """
        start = time.perf_counter()
        try:
            plan = self._run_exchanges(only_stage)
            # Early build sides may have changed the plan.
            stage = only_stage if only_stage and plan is self.plan.root else self._result_stage(plan)
            self._last_stage = stage
            yield from self.stages.batches(stage)
        finally:
            self.stages.close()
            self.run.profile.seconds = time.perf_counter() - start

    def to_sink(
        self, sink: StageSink, only_tasks: frozenset[int] | None = None, only_stage: Stage | None = None
    ) -> list[BlockResult | FileResult]:
        """Run the plan into a block or file sink. Return what its tasks stored, in task order.

        If `only_tasks` is given, no other tasks of the last stage run. `only_stage` is as for `batches`, with any sink.
        """
        start = time.perf_counter()
        try:
            plan = self._run_exchanges(only_stage)
            if only_stage is not None and plan is self.plan.root:
                stage = replace(only_stage, program=replace(only_stage.program, sink=sink))
            else:
                stage = self._stage(plan, sink)
            return self.stages.results(stage, only_tasks)
        finally:
            self.stages.close()
            self.run.profile.seconds = time.perf_counter() - start

    def prepared(self, num_buckets: int | None = None) -> PreparedStage:
        """Run the exchanges of a plan for RDD tasks, and return its last stage without running it.

        The exchanges are held until `stages.close()`. With `num_buckets`, task i reads bucket i of tables with that
        many buckets, even an empty one.
        """
        return self.stages.rdd.prepared(self._stage(self._run_exchanges(), ResultSink(), num_buckets))

    def _run_exchanges(self, only_stage: Stage | None = None) -> PhysicalPlan:
        """Run every Exchange and replace it by its read. `only_stage` is as for `batches`."""
        observed: dict[int, ExchangeStatistics] = {}
        decisions = self.run.profile.decisions
        decisions += planned_decisions(self.plan, self._conf, self._parallelism)
        decisions += avoided_exchanges(self.plan.root)
        plan = self.plan.root
        if only_stage is not None and only_stage.is_alone:
            self.run.profile.plan = plan
            return plan
        plan = self._run_early(plan)
        if next_exchange(plan) is not None:
            # Decisions that affect a map stage before it runs.
            plan, _ = replan(plan, observed, self._conf)
        while (exchange := next_exchange(plan)) is not None:
            statistics = self._run_exchange(exchange)
            for same in (exchange, *self._share(plan, exchange)):
                observed[same.exchange_id] = statistics
                plan = replace_exchange(plan, same.exchange_id, read_of(same, statistics))
            plan, made = replan(satisfied_limits(plan), observed, self._conf)
            decisions += made
            plan = self._learn(plan)
        self.run.profile.plan = plan
        return plan

    def _run_early(self, plan: PhysicalPlan) -> PhysicalPlan:
        """Run small build sides without an exchange, and filter the scans that are joined to them."""
        plan = self._run_early_first_rows(plan)
        while self._learns:
            exchange_id = self._new_exchange_id(plan)
            early = with_early_build_side(plan, exchange_id)
            if early is None:
                break
            wrapped, exchange = early
            statistics = self.stages.hold(self._stage(exchange.child, ResultSink()), exchange_id)
            plan = self._learn(replace_exchange(wrapped, exchange_id, read_of(exchange, statistics)))
        return plan

    def _run_early_first_rows(self, plan: PhysicalPlan) -> PhysicalPlan:
        """Replace each TopN and Limit over scans of one task by its rows, found in a few blocks."""
        while True:
            early = ((node, self._waves(node)) for node in plan.walk() if isinstance(node.distribution, Single))
            found, waves = next(((node, waves) for node, waves in early if waves is not None), (None, None))
            if found is None or waves is None:
                return plan
            exchange = Exchange(self._new_exchange_id(plan), found, SinglePartitioning())
            read = read_of(exchange, self._run_waves(waves, exchange))
            plan = satisfied_limits(replace_node(plan, found, found.with_children(read)))

    def _waves(self, plan: PhysicalPlan) -> Waves | None:
        """Return the blocks of a TopN or Limit, best first, if reading them in waves is worthwhile."""
        return _waves(plan, self._conf, self._parallelism)

    def _run_waves(self, waves: Waves, exchange: Exchange) -> ExchangeStatistics:
        """Read blocks until no other can have one of the first rows."""
        kept: list[pa.RecordBatch] = []
        opened, number = 0, 0
        while waves.num_blocks:
            plan, rest = waves.next_wave()
            opened, number = opened + waves.num_blocks - rest.num_blocks, number + 1
            kept += self.stages.batches(self._stage(plan, ResultSink()))
            waves = rest.after(sum(batch.num_rows for batch in kept), first_keys(kept, waves.key))
        self.run.profile.decisions.append(waves.decision(opened, number))
        return self.stages.outputs.hold(exchange.schema, exchange.exchange_id, kept)

    def _new_exchange_id(self, plan: PhysicalPlan) -> int:
        """Return a number that no exchange of the query has had."""
        ids = (node.exchange_id for node in plan.walk() if isinstance(node, (Exchange, ExchangeRead)))
        self._last_exchange_id = max(self._last_exchange_id, *ids, 0) + 1
        return self._last_exchange_id

    @property
    def _learns(self) -> bool:
        return _learns(self._conf)

    def _learn(self, plan: PhysicalPlan) -> PhysicalPlan:
        """Restrict the plan's scans by the keys of the exchanges that have run."""
        if not self._learns:
            return plan
        plan, learned = learn_filters(plan, self._key_values)
        limit = self._conf.value(settings.BROADCAST_BYTES)
        plan, by_keys = filter_by_keys(plan, limit, lambda: self._new_exchange_id(plan))
        self.run.profile.decisions += (*learned, *by_keys)
        return plan

    def _key_values(self, read: ExchangeRead, key: Expr) -> KeyValues | None:
        """Return the values of a key if the exchange's rows are held in the driver or will be broadcast."""
        if read.exchange_id in self._shared:
            read = replace(read, exchange_id=self._shared[read.exchange_id][1])
        if not (isinstance(read.partitioning, BroadcastPartitioning) or self.stages.outputs.is_held(read.exchange_id)):
            return None
        if (read.exchange_id, key) not in self._known_keys:
            self._known_keys[read.exchange_id, key] = self._read_key_values(read, key)
        return self._known_keys[read.exchange_id, key]

    def _read_key_values(self, read: ExchangeRead, key: Expr) -> KeyValues | None:
        rows = self.stages.outputs.whole(read.exchange_id, read.schema)
        while True:
            began = time.monotonic()
            try:
                with self.run.connection() as connection:
                    return key_values(read, key, rows, connection)
            except BaseException as error:
                if not self.run.may_restart_alone(error, began):
                    raise self.run.failure(error) from error

    def _run_exchange(self, exchange: Exchange) -> ExchangeStatistics:
        match exchange.partitioning:
            case BroadcastPartitioning():
                return self.stages.hold(self._stage(exchange.child, ResultSink()), exchange.exchange_id)
            case SinglePartitioning() if (waves := self._waves(exchange.child)) is not None:
                return self._run_waves(waves, exchange)
            case SinglePartitioning() if (wanted := _held_rows(exchange.child)) is not None:
                stage = self._stage(exchange.child, ResultSink())
                # All rows of a TopN's tasks compete, so only a plain LIMIT can be satisfied early.
                limit = wanted if isinstance(exchange.child, LimitOperator) else None
                return self.stages.hold(stage, exchange.exchange_id, limit)
            case RangePartitioning() as partitioning:
                bounds = range_bounds(self._sample(exchange), partitioning)
                stage = self._map_stage(exchange, sink_of(exchange, bounds))
            case _:
                stage = self._map_stage(exchange, sink_of(exchange))
        return self.stages.rdd.exchange(stage, exchange.exchange_id, bucket_count(stage.program.sink))

    def _share(self, plan: PhysicalPlan, exchange: Exchange) -> list[Exchange]:
        """Return the exchanges that move the same rows as `exchange`, which has run, so that they need not run."""
        found = equal_exchanges(plan, exchange)
        for other in found:
            self._shared[other.exchange_id] = (other, exchange.exchange_id)
            text = f"exchange {other.exchange_id} is not run: it moves the rows of exchange {exchange.exchange_id}"
            self.run.profile.decisions.append(Decision("share_exchange", text))
        return found

    def _with_shared(self, fragment: PhysicalPlan) -> PhysicalPlan:
        """Replace the reads of exchanges that did not run by reads of the exchanges that moved their rows.

        A stage reads an exchange in one way only. If a read needs another way, its own exchange runs.
        """
        reads = [node for node in fragment.walk() if isinstance(node, ExchangeRead)]
        ways: dict[int, Hashable] = {}
        for one in sorted(reads, key=lambda read: read.exchange_id in self._shared):
            exchange, source = self._shared.get(one.exchange_id, (None, one.exchange_id))
            way = _way(one)
            if ways.setdefault(source, way) != way and exchange is not None:
                del self._shared[one.exchange_id]
                self._run_exchange(exchange)

        def from_source(node: PhysicalPlan) -> PhysicalPlan:
            if not isinstance(node, ExchangeRead) or node.exchange_id not in self._shared:
                return node
            return replace(node, exchange_id=self._shared[node.exchange_id][1])

        return fragment.transform_up(from_source) if self._shared else fragment

    def _sample(self, exchange: Exchange) -> pa.Table:
        """Return the sort keys of a sample of each task's rows, the same on every run."""
        stage = self._stage(sample_plan(exchange), ResultSink())
        stage = replace(stage, program=_sampled(stage.program), label=f"Sample for {exchange.label}")
        batches = list(self.stages.batches(stage))
        if not batches:
            from sharkpy.values.types import arrow_schema

            return pa.Table.from_batches([], arrow_schema(stage.program.output))
        return pa.Table.from_batches(batches)

    def _stage(self, fragment: PhysicalPlan, sink: StageSink, num_tasks: int | None = None) -> Stage:
        fragment = self._with_shared(fragment)
        return lower_stage(fragment, sink, self._parallelism, num_tasks, self._place(fragment))

    def _result_stage(self, fragment: PhysicalPlan) -> Stage:
        fragment = self._with_shared(fragment)
        return result_stage(fragment, self._parallelism, self._place(fragment))

    def _place(self, fragment: PhysicalPlan) -> Placement:
        placement = place_fragment(fragment, self.plan.placement, self.stages.outputs.is_held)
        if placement is not self.plan.placement:
            self._note_placement(fragment, placement)
        return placement

    def _map_stage(self, exchange: Exchange, sink: StageSink) -> Stage:
        """Lower the map stage of an exchange, placed like its plan: only RDD tasks write into Spark's shuffle."""
        fragment = self._with_shared(exchange.child)
        return lower_stage(fragment, sink, self._parallelism, placement=self.plan.placement)

    def _note_placement(self, fragment: PhysicalPlan, placement: Placement) -> None:
        """Record a stage's placement if it differs from the plan's, once even if waves run it many times."""
        where = "in the driver" if placement.is_driver else "as RDD tasks"
        decision = Decision("placement", f"{fragment.label} runs {where}: {placement.reason}", placement.figures)
        if decision not in self.run.profile.decisions:
            self.run.profile.decisions.append(decision)


def runs_early(plan: PhysicalPlan, conf: Conf, parallelism: int) -> bool:
    """Whether parts of a plan without exchanges run before the rest."""
    singles = (node for node in plan.walk() if isinstance(node.distribution, Single))
    if any(_waves(node, conf, parallelism) is not None for node in singles):
        return True
    return _learns(conf) and with_early_build_side(plan, 0) is not None


def _waves(plan: PhysicalPlan, conf: Conf, parallelism: int) -> Waves | None:
    return first_row_waves(plan, parallelism) if conf.value(settings.PRUNING) else None


def _learns(conf: Conf) -> bool:
    return conf.value(settings.PRUNING) and conf.value(settings.LEARNED_FILTERS)


def _held_rows(plan: PhysicalPlan) -> int | None:
    """Return the largest number of rows per task of `plan` by its LIMIT, or None if large or unknown."""
    if isinstance(plan, (LimitOperator, TopN)) and plan.count is not None and not plan.offset:
        return plan.count if plan.count <= MOST_ROWS else None
    return None


def _way(read: ExchangeRead) -> Hashable:
    """Return what a stage can have only once for an exchange: which task reads which rows, and a broadcast's names."""
    names = read.schema.names if isinstance(read.partitioning, BroadcastPartitioning) else ()
    return type(read.partitioning), read.dealt, tuple(names)


def _sampled(program: StageProgram) -> StageProgram:
    sql = program.sql or f"SELECT * FROM {program.inputs[0].relation}"
    sampled = f"SELECT * FROM ({sql}) USING SAMPLE reservoir({SAMPLE_ROWS} ROWS) REPEATABLE (42)"
    otherwise = None if program.otherwise is None else _sampled(program.otherwise)
    return replace(program, sql=sampled, otherwise=otherwise)


MOST_VALUES = 5000
"""Number of distinct keys up to which all are kept; above, only the least and the greatest."""


def key_values(read: ExchangeRead, key: Expr, rows: pa.Table, connection: DuckDBPyConnection) -> KeyValues | None:
    """Return the values of `key` in the `rows` of `read`, or None without order or Python values."""
    if is_nested(key.dtype) or key.dtype == NULL:
        return None
    bits = key_bits(rows.column(column_name(key.column_id))) if isinstance(key, ColumnRef) else None
    if isinstance(key, ColumnRef) and (few := _few_values(rows.column(column_name(key.column_id)))) is not None:
        return replace(few, bits=bits)
    number = max(column.column_id for column in read.columns) + 1
    single = replace(read, partitioning=SinglePartitioning())
    program = lower_stage(Project(single, (Alias(key, number, "key"),)), ResultSink()).program
    relation, name = program.inputs[0].relation, f'"{column_name(number)}"'
    source = f"({program.sql or f'SELECT * FROM {relation}'}) AS keys"
    connection.register(relation, rows)
    try:
        return replace(_read(source, name, connection), bits=bits)
    except (ValueError, OverflowError):
        # Python cannot represent the date or timestamp.
        return None
    finally:
        connection.unregister(relation)


def first_keys(batches: Sequence[pa.RecordBatch], key: ColumnRef | None) -> list[PythonValue] | None:
    """Return the values of a column, or None if some have no Python value."""
    if key is None:
        return None
    name = column_name(key.column_id)
    try:
        return [value for batch in batches for value in batch.column(name).to_pylist()]
    except (ValueError, OverflowError):
        return None


def _few_values(column: pa.ChunkedArray[Any]) -> KeyValues | None:
    """Return the values if they are few, without a query."""
    import pyarrow.compute as pc

    try:
        if column.num_chunks and len(pc.unique(column.chunk(0))) > MOST_VALUES + 1:
            return None
        distinct = pc.unique(column)
        if len(distinct) > MOST_VALUES + 1:
            return None
        found = distinct.to_pylist()
    except (pa.ArrowNotImplementedError, ValueError, OverflowError):
        return None
    values = sorted(value for value in found if value is not None)
    low, high = (values[0], values[-1]) if values else (None, None)
    return KeyValues(tuple(values), low, high, None in found)


def _read(source: str, name: str, connection: DuckDBPyConnection) -> KeyValues:
    totals = f"SELECT min({name}), max({name}), count(*) > count({name}) FROM {source}"
    low, high, has_null = _columns(totals, connection)
    if low[0] is None:
        return KeyValues((), None, None, bool(has_null[0]))
    distinct = f"SELECT DISTINCT {name} FROM {source} WHERE {name} IS NOT NULL LIMIT {MOST_VALUES + 1}"
    (values,) = _columns(distinct, connection)
    known = None if len(values) > MOST_VALUES else tuple(sorted(values))
    return KeyValues(known, low[0], high[0], bool(has_null[0]))


def _columns(sql: str, connection: DuckDBPyConnection) -> list[list[Any]]:
    return [column.to_pylist() for column in connection.sql(sql).to_arrow_table().columns]
