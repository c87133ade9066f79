"""Runs physical plans: map stage by map stage, replanning with what each one showed, then the result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.settings import Conf
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.pools import DEFAULT_POOL, Pool
from sharkpy.execution.stages.build_keys import first_keys
from sharkpy.execution.stages.prepared_stage import PreparedStage
from sharkpy.execution.stages.profile import QueryProfile
from sharkpy.execution.stages.progress import ProgressListener, ignore_progress
from sharkpy.execution.stages.query_run import Repair
from sharkpy.execution.stages.stage_runner import StageRunner
from sharkpy.execution.tasks.buckets import bucket_count
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.physical.co_partition import spared_exchanges
from sharkpy.physical.distribution import (
    BroadcastPartitioning,
    ExchangeStatistics,
    RangePartitioning,
    Single,
    SinglePartitioning,
)
from sharkpy.physical.early_build_side import with_early_build_side
from sharkpy.physical.first_rows import MOST_ROWS, Waves, satisfied_limits
from sharkpy.physical.first_rows import waves as first_row_waves
from sharkpy.physical.key_filters import filter_by_keys
from sharkpy.physical.learned_filters import KeyValues, learn_filters
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import Exchange, ExchangeRead, LimitOperator, TopN, is_given_here
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.planned_decisions import planned_decisions
from sharkpy.physical.range_bounds import SAMPLE_ROWS, range_bounds, sample_plan
from sharkpy.physical.replan import replan
from sharkpy.physical.sinks import ResultSink, StageSink
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange, replace_node, sink_of
from sharkpy.physical.stage import Stage
from sharkpy.plan.expr import Expr


class PlanRunner:
    """Runs one plan for a session. `placement` is "driver", "rdd" or None: the driver where the plan is one task.

    `profile` is filled as the plan runs; `cancel` may be called from any thread.
    """

    def __init__(
        self,
        engine: Engine,
        conf: Conf | None = None,
        progress: ProgressListener = ignore_progress,
        description: str = "query",
        placement: str | None = None,
        *,
        is_profiled: bool = False,
        repair: Repair | None = None,
        pool: Pool = DEFAULT_POOL,
    ) -> None:
        self.engine = engine
        self.conf = engine.conf if conf is None else conf
        self.placement = placement
        self.stages = StageRunner(
            engine,
            progress,
            description,
            self.conf,
            is_profiled=is_profiled,
            repair=repair,
            pool=pool,
            memory_limit=self.conf.value(settings.QUERY_MEMORY),
        )
        self._known_keys: dict[tuple[int, Expr], KeyValues | None] = {}
        self._last_exchange_id = 0

    @property
    def profile(self) -> QueryProfile:
        return self.stages.profile

    @property
    def pool(self) -> Pool:
        return self.stages.pool

    @property
    def statement(self) -> Cancellation:
        """What ends the plan from outside."""
        return self.stages.statement

    def cancel(self) -> None:
        self.stages.cancel()

    def only_stage(self, physical: PhysicalPlan) -> Stage | None:
        """The stage that a plan without exchanges is."""
        return self._stage(physical, ResultSink()) if next_exchange(physical) is None else None

    def batches(self, physical: PhysicalPlan, only_stage: Stage | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of `physical`, streamed; closing the iterator early ends the query."""
        start = time.perf_counter()
        try:
            plan = self._run_exchanges(physical)
            # What early build sides said has made another plan of it.
            stage = only_stage if only_stage and plan is physical else self._stage(plan, ResultSink())
            yield from self.stages.driver_batches(stage) if self._in_driver(plan) else self.stages.batches(stage)
        finally:
            self.stages.close()
            self.profile.seconds = time.perf_counter() - start

    def to_sink(
        self, physical: PhysicalPlan, sink: StageSink, only_tasks: frozenset[int] | None = None
    ) -> list[BlockResult | FileResult]:
        """Run `physical` into a block or file sink; what its tasks stored, in the order of tasks.

        `only_tasks`: of the last stage no others run.
        """
        start = time.perf_counter()
        try:
            plan = self._run_exchanges(physical)
            stage = self._stage(plan, sink)
            run = self.stages.driver_results if self._in_driver(plan) else self.stages.results
            return run(stage, only_tasks)
        finally:
            self.stages.close()
            self.profile.seconds = time.perf_counter() - start

    def prepared(self, physical: PhysicalPlan, num_buckets: int | None = None) -> PreparedStage:
        """The last stage of `physical`, not run: its exchanges have, and are kept until `stages.close()`.

        With `num_buckets` task i reads bucket i of the tables in that many buckets, empty ones too.
        """
        plan = self._run_exchanges(physical)
        return self.stages.prepared(self._stage(plan, ResultSink(), num_buckets))

    def _run_exchanges(self, plan: PhysicalPlan) -> PhysicalPlan:
        """`plan` with every Exchange run and replaced by its read."""
        observed: dict[int, ExchangeStatistics] = {}
        self.profile.decisions += planned_decisions(plan, self.conf, self.engine.parallelism, self.placement)
        self.profile.decisions += spared_exchanges(plan)
        plan = self._run_early(plan)
        if next_exchange(plan) is not None:
            # What a map stage is told before it runs.
            plan, _ = replan(plan, observed, self.conf)
        while (exchange := next_exchange(plan)) is not None:
            statistics = self._run_exchange(exchange)
            observed[exchange.exchange_id] = statistics
            plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, statistics))
            plan, decisions = replan(satisfied_limits(plan), observed, self.conf)
            self.profile.decisions += decisions
            plan = self._learn(plan)
        self.profile.physical = plan.explain()
        return plan

    def _run_early(self, plan: PhysicalPlan) -> PhysicalPlan:
        """`plan` with what small build sides without an exchange say of the scans that are joined to them."""
        plan = self._run_early_first_rows(plan)
        while self._learns:
            exchange_id = self._new_exchange_id(plan)
            early = with_early_build_side(plan, exchange_id)
            if early is None:
                break
            wrapped, exchange = early
            stage = self._stage(exchange.child, ResultSink())
            is_here = self._in_driver(exchange.child)
            hold = self.stages.hold_in_driver if is_here else self.stages.hold_exchange
            statistics = hold(stage, exchange_id)
            plan = self._learn(replace_exchange(wrapped, exchange_id, read_of(exchange, statistics)))
        return plan

    def _run_early_first_rows(self, plan: PhysicalPlan) -> PhysicalPlan:
        """`plan` with what each TopN and Limit over scans of one task gives, found in a few blocks."""
        while True:
            early = ((node, self._waves(node)) for node in plan.walk() if isinstance(node.distribution, Single))
            found, waves = next(((node, waves) for node, waves in early if waves is not None), (None, None))
            if found is None or waves is None:
                return plan
            exchange = Exchange(self._new_exchange_id(plan), found, SinglePartitioning())
            read = read_of(exchange, self._run_waves(waves, exchange))
            plan = satisfied_limits(replace_node(plan, found, found.with_children(read)))

    def _waves(self, plan: PhysicalPlan) -> Waves | None:
        """The blocks of a TopN or Limit in order of promise, where it is worth while to open some before others."""
        if not self.conf.value(settings.PRUNING):
            return None
        return first_row_waves(plan, self.engine.parallelism)

    def _run_waves(self, waves: Waves, exchange: Exchange) -> ExchangeStatistics:
        """Open block after block until none is left that could have one of the first rows."""
        kept: list[pa.RecordBatch] = []
        opened, number = 0, 0
        while waves.num_blocks:
            plan, rest = waves.next_wave()
            opened, number = opened + waves.num_blocks - rest.num_blocks, number + 1
            stage = self._stage(plan, ResultSink())
            is_here = self._in_driver(plan)
            batches = self.stages.driver_batches(stage) if is_here else self.stages.batches(stage)
            kept += batches
            waves = rest.after(sum(batch.num_rows for batch in kept), first_keys(kept, waves.key))
        self.profile.decisions.append(waves.decision(opened, number))
        return self.stages.hold(exchange.schema, exchange.exchange_id, kept)

    def _new_exchange_id(self, plan: PhysicalPlan) -> int:
        """A number that no exchange of the query has had."""
        ids = (node.exchange_id for node in plan.walk() if isinstance(node, (Exchange, ExchangeRead)))
        self._last_exchange_id = max(self._last_exchange_id, *ids, 0) + 1
        return self._last_exchange_id

    @property
    def _learns(self) -> bool:
        return self.conf.value(settings.PRUNING) and self.conf.value(settings.LEARNED_FILTERS)

    def _learn(self, plan: PhysicalPlan) -> PhysicalPlan:
        """`plan` with its scans restricted by the keys of the exchanges that have run."""
        if not self._learns:
            return plan
        plan, learned = learn_filters(plan, self._key_values)
        limit = self.conf.value(settings.BROADCAST_BYTES)
        plan, by_keys = filter_by_keys(plan, limit, lambda: self._new_exchange_id(plan))
        self.profile.decisions += (*learned, *by_keys)
        return plan

    def _key_values(self, read: ExchangeRead, key: Expr) -> KeyValues | None:
        """From rows that lie in the driver, or must come there in any case."""
        if not (isinstance(read.partitioning, BroadcastPartitioning) or self.stages.is_held(read.exchange_id)):
            return None
        if (read.exchange_id, key) not in self._known_keys:
            self._known_keys[read.exchange_id, key] = self.stages.key_values(read, key)
        return self._known_keys[read.exchange_id, key]

    def _run_exchange(self, exchange: Exchange) -> ExchangeStatistics:
        match exchange.partitioning:
            case BroadcastPartitioning():
                return self.stages.hold_exchange(self._stage(exchange.child, ResultSink()), exchange.exchange_id)
            case SinglePartitioning() if (waves := self._waves(exchange.child)) is not None:
                return self._run_waves(waves, exchange)
            case SinglePartitioning() if (wanted := _held_rows(exchange.child)) is not None:
                stage = self._stage(exchange.child, ResultSink())
                # All the rows of a TopN's tasks compete: only a plain LIMIT is satisfied early.
                limit = wanted if isinstance(exchange.child, LimitOperator) else None
                return self.stages.hold_exchange(stage, exchange.exchange_id, limit)
            case RangePartitioning() as partitioning:
                bounds = range_bounds(self._sample(exchange), partitioning)
                stage = self._stage(exchange.child, sink_of(exchange, bounds))
            case _:
                stage = self._stage(exchange.child, sink_of(exchange))
        return self.stages.run_exchange(stage, exchange.exchange_id, bucket_count(stage.program.sink))

    def _sample(self, exchange: Exchange) -> pa.Table:
        """Sort keys of some rows of each task, the same ones on every run."""
        stage = self._stage(sample_plan(exchange), ResultSink())
        sql = stage.program.sql or f'SELECT * FROM "{stage.program.inputs[0].relation}"'
        sampled = f"SELECT * FROM ({sql}) USING SAMPLE reservoir({SAMPLE_ROWS} ROWS) REPEATABLE (42)"
        stage = replace(stage, program=replace(stage.program, sql=sampled), label=f"Sample for {exchange.label}")
        batches = list(self.stages.batches(stage))
        if not batches:
            from sharkpy.values.types import arrow_schema

            return arrow_schema(stage.program.output).empty_table()
        return pa.Table.from_batches(batches)

    def _stage(self, fragment: PhysicalPlan, sink: StageSink, num_tasks: int | None = None) -> Stage:
        return lower_stage(fragment, sink, self.engine.parallelism, num_tasks)

    def _in_driver(self, plan: PhysicalPlan) -> bool:
        """One task over nothing that lies in Spark's shuffle, where the session allows it."""
        if is_given_here(plan):
            return True
        if self.placement == "rdd" or not isinstance(plan.distribution, Single):
            return False
        if self.placement is None and not self.conf.value(settings.DRIVER_PLACEMENT):
            return False
        reads = [node for node in plan.walk() if isinstance(node, ExchangeRead)]
        return all(self.stages.is_held(read.exchange_id) for read in reads)


def _held_rows(plan: PhysicalPlan) -> int | None:
    """The most rows a task of `plan` gives, where LIMIT says so and they are few."""
    if isinstance(plan, (LimitOperator, TopN)) and plan.count is not None and not plan.offset:
        return plan.count if plan.count <= MOST_ROWS else None
    return None
