"""Runner of physical plans without Spark: real tasks, payloads, statistics, replanning and packing, in this process."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa

from sharkpy.base.settings import Conf
from sharkpy.execution.stages.exchange import ExchangeInput, MapOutput, pack_tasks
from sharkpy.execution.tasks.buckets import bucket_count
from sharkpy.execution.tasks.exchange_statistics import merge_collected
from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.sinks import Payload, SinkContext
from sharkpy.execution.tasks.task import run_task
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import ExchangeRead
from sharkpy.physical.plan import ExchangeStatistics, PhysicalPlan, SinglePartitioning
from sharkpy.physical.replan import replan
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange, sink_of
from sharkpy.physical.stage import merged_inputs
from sharkpy.physical.stage_program import RangeSink, ResultSink, StageSink
from sharkpy.values.types import arrow_schema

PARALLELISM = 2


@dataclass
class LocalStages:
    """Stages of one query: its exchanges, decisions, and the rows that each task of the last stage returned."""

    connection: duckdb.DuckDBPyConnection
    conf: Conf
    is_packed: bool = False
    """True if tasks that the spreading of heavy keys keeps apart under `shark.test.skew` are packed like other tasks.
    """
    outputs: dict[int, MapOutput] = field(default_factory=dict)
    payloads: dict[int, dict[int, list[pa.Buffer]]] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    rows_per_task: list[int] = field(default_factory=list)

    def run(self, plan: PhysicalPlan) -> pa.Table:
        plan, _ = replan(plan, {}, self.conf)
        while (exchange := next_exchange(plan)) is not None:
            observed = self._exchange(exchange.exchange_id, exchange.child, sink_of(exchange))
            plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, observed))
            plan, decisions = replan(plan, {exchange.exchange_id: observed}, self.conf)
            self.decisions += decisions
        tasks = self._stage(plan, ResultSink(), 0)
        schema = arrow_schema(plan.schema)
        tables = [
            pa.ipc.open_stream(one.data.slice(8)).read_all().rename_columns(schema.names)
            for task, _ in tasks
            for one in task
        ]
        self.rows_per_task = [sum(one.num_rows for one in task) for task, _ in tasks]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def _exchange(self, exchange_id: int, child: PhysicalPlan, sink: StageSink) -> ExchangeStatistics:
        buckets: dict[int, list[pa.Buffer]] = defaultdict(list)
        collected: list[bytes] = []
        rows = 0
        for payloads, metrics in self._stage(child, sink, exchange_id):
            rows += metrics.rows_out
            collected += [metrics.collected] if metrics.collected else []
            for one in payloads:
                buckets[one.bucket].append(one.data)
        sizes = tuple(sum(map(len, buckets[bucket])) for bucket in range(bucket_count(sink)))
        self.payloads[exchange_id] = buckets
        self.outputs[exchange_id] = MapOutput(exchange_id, None, 0, sizes, is_ordered=isinstance(sink, RangeSink))
        return ExchangeStatistics(rows, sizes, **merge_collected(collected))

    def _stage(self, plan: PhysicalPlan, sink: StageSink, exchange_id: int) -> list[tuple[list[Payload], TaskMetrics]]:
        stage = lower_stage(plan, sink, PARALLELISM)
        reads = [node for node in plan.walk() if isinstance(node, ExchangeRead)]
        inputs = [self._input(read, len(stage.tasks) == 1) for read in reads]
        scanned = [1] * len(stage.tasks) if len(set(stage.tasks)) > 1 else []
        planned = range(len(stage.tasks))
        tasks = pack_tasks(inputs, len(planned), PARALLELISM, scanned) if reads else [(task,) for task in planned]
        return [
            self._task(
                stage.program,
                TaskData(merged_inputs([stage.tasks[one] for one in task]), self._read(inputs, task)),
                context,
            )
            for task, context in ((task, SinkContext(number, exchange_id)) for number, task in enumerate(tasks))
        ]

    def _task(self, program, data, context) -> tuple[list[Payload], TaskMetrics]:
        metrics = TaskMetrics()
        return list(run_task(program, data, self.connection, context, metrics)), metrics

    def _input(self, read: ExchangeRead, is_single: bool) -> ExchangeInput:
        is_single = is_single or isinstance(read.partitioning, SinglePartitioning)
        dealt = replace(read.dealt, is_apart=False) if read.dealt and self.is_packed else read.dealt
        return ExchangeInput(self.outputs[read.exchange_id], is_single, dealt)

    def _read(self, inputs: list[ExchangeInput], task: tuple[int, ...]) -> dict[int, list[pa.Buffer]]:
        return {
            one.output.exchange_id: [
                payload for bucket in one.buckets(task) for payload in self.payloads[one.output.exchange_id][bucket]
            ]
            for one in inputs
        }
