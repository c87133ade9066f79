"""Runs physical plans: map stage by map stage, replanning with what each one showed, then the result."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from sharkpy import conf as settings
from sharkpy.conf import Conf
from sharkpy.execution.engine import Engine
from sharkpy.execution.profile import QueryProfile
from sharkpy.execution.progress import ProgressListener, ignore_progress
from sharkpy.execution.report import BlockResult, FileResult
from sharkpy.execution.stage_runner import Repair, Stage, StageRunner
from sharkpy.expr import Expr
from sharkpy.physical.distribution import (
    BroadcastPartitioning,
    ExchangeStatistics,
    RangePartitioning,
    Single,
    SinglePartitioning,
)
from sharkpy.physical.early_build_side import with_early_build_side
from sharkpy.physical.learned_filters import KeyValues, learn_filters
from sharkpy.physical.operators import Exchange, ExchangeRead, LimitOperator, TopN
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.range_bounds import SAMPLE_ROWS, range_bounds, sample_plan
from sharkpy.physical.stage import ResultSink, StageSink
from sharkpy.physical.stages import lower_stage, next_exchange, read_of, replace_exchange, replan, sink_of

HELD_ROWS = 100_000
"""LIMIT up to which the rows of all tasks are gathered in the driver, so that no task runs in vain."""


class Runner:
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
    ) -> None:
        self.engine = engine
        self.conf = engine.conf if conf is None else conf
        self.placement = placement
        self.stages = StageRunner(engine, progress, description, is_profiled=is_profiled, repair=repair)
        self._known_keys: dict[tuple[int, Expr], KeyValues | None] = {}

    @property
    def profile(self) -> QueryProfile:
        return self.stages.profile

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

    def to_sink(self, physical: PhysicalPlan, sink: StageSink) -> list[BlockResult | FileResult]:
        """Run `physical` into a block or file sink; what its tasks stored, in the order of tasks."""
        start = time.perf_counter()
        try:
            plan = self._run_exchanges(physical)
            stage = self._stage(plan, sink)
            return self.stages.driver_results(stage) if self._in_driver(plan) else self.stages.results(stage)
        finally:
            self.stages.close()
            self.profile.seconds = time.perf_counter() - start

    def _run_exchanges(self, plan: PhysicalPlan) -> PhysicalPlan:
        """`plan` with every Exchange run and replaced by its read."""
        observed: dict[int, ExchangeStatistics] = {}
        plan = self._run_early(plan)
        while (exchange := next_exchange(plan)) is not None:
            statistics = ExchangeStatistics(*self._run_exchange(exchange))
            observed[exchange.exchange_id] = statistics
            plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, statistics))
            plan, decisions = replan(plan, observed, self.conf)
            self.profile.decisions += map(str, decisions)
            plan = self._learn(plan)
        self.profile.physical = plan.explain()
        return plan

    def _run_early(self, plan: PhysicalPlan) -> PhysicalPlan:
        """`plan` with what small build sides without an exchange say of the scans that are joined to them."""
        if not self._learns:
            return plan
        ids = [node.exchange_id for node in plan.walk() if isinstance(node, (Exchange, ExchangeRead))]
        for exchange_id in itertools.count(max(ids, default=0) + 1):
            early = with_early_build_side(plan, exchange_id)
            if early is None:
                break
            wrapped, exchange = early
            stage = self._stage(exchange.child, ResultSink())
            is_here = self._in_driver(exchange.child)
            hold = self.stages.hold_in_driver if is_here else self.stages.hold_exchange
            statistics = ExchangeStatistics(*hold(stage, exchange_id))
            plan = self._learn(replace_exchange(wrapped, exchange_id, read_of(exchange, statistics)))
        return plan

    @property
    def _learns(self) -> bool:
        return self.conf.value(settings.PRUNING) and self.conf.value(settings.LEARNED_FILTERS)

    def _learn(self, plan: PhysicalPlan) -> PhysicalPlan:
        """`plan` with its scans restricted by the keys of the exchanges that have run."""
        if not self._learns:
            return plan
        plan, decisions = learn_filters(plan, self._key_values)
        self.profile.decisions += map(str, decisions)
        return plan

    def _key_values(self, read: ExchangeRead, key: Expr) -> KeyValues | None:
        """From rows that lie in the driver, or must come there in any case."""
        if not (isinstance(read.partitioning, BroadcastPartitioning) or self.stages.is_held(read.exchange_id)):
            return None
        if (read.exchange_id, key) not in self._known_keys:
            self._known_keys[read.exchange_id, key] = self.stages.key_values(read, key)
        return self._known_keys[read.exchange_id, key]

    def _run_exchange(self, exchange: Exchange) -> tuple[int, tuple[int, ...]]:
        match exchange.partitioning:
            case BroadcastPartitioning():
                return self.stages.hold_exchange(self._stage(exchange.child, ResultSink()), exchange.exchange_id)
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
        return self.stages.run_exchange(stage, exchange.exchange_id, exchange.partitioning.num_buckets)

    def _sample(self, exchange: Exchange) -> pa.Table:
        """Sort keys of some rows of each task, the same ones on every run."""
        stage = self._stage(sample_plan(exchange), ResultSink())
        sql = stage.program.sql or f'SELECT * FROM "{stage.program.inputs[0].relation}"'
        sampled = f"SELECT * FROM ({sql}) USING SAMPLE reservoir({SAMPLE_ROWS} ROWS) REPEATABLE (42)"
        stage = replace(stage, program=replace(stage.program, sql=sampled), label=f"Sample for {exchange.label}")
        batches = list(self.stages.batches(stage))
        if not batches:
            from sharkpy.types import arrow_schema

            return arrow_schema(stage.program.output).empty_table()
        return pa.Table.from_batches(batches)

    def _stage(self, fragment: PhysicalPlan, sink: StageSink) -> Stage:
        lowered = lower_stage(fragment, sink, self.engine.parallelism)
        singles = frozenset(
            node.exchange_id
            for node in fragment.walk()
            if isinstance(node, ExchangeRead) and isinstance(node.partitioning, SinglePartitioning)
        )
        return Stage(lowered.program, lowered.tasks, fragment.label, singles, fragment, lowered.leaves)

    def _in_driver(self, plan: PhysicalPlan) -> bool:
        """One task over nothing that lies in Spark's shuffle, where the session allows it."""
        if self.placement == "rdd" or not isinstance(plan.distribution, Single):
            return False
        if self.placement is None and not self.conf.value(settings.DRIVER_PLACEMENT):
            return False
        reads = [node for node in plan.walk() if isinstance(node, ExchangeRead)]
        return all(self.stages.is_held(read.exchange_id) for read in reads)


def _held_rows(plan: PhysicalPlan) -> int | None:
    """The most rows a task of `plan` gives, where LIMIT says so and they are few."""
    if isinstance(plan, (LimitOperator, TopN)) and plan.count is not None and not plan.offset:
        return plan.count if plan.count <= HELD_ROWS else None
    return None
