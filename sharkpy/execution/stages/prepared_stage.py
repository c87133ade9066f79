"""Stages prepared to run as RDDs: the exchanges' payloads packed by task, and each task's own inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sharkpy.base.records import dataclass
from sharkpy.execution.spark.jobs import SparkJobs
from sharkpy.execution.stages.exchange import pack_tasks, payload_rdd, task_sizes
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.stage_outputs import StageOutputs
from sharkpy.execution.stages.stage_recorder import Payloads
from sharkpy.execution.tasks.parquet_scan import for_workers
from sharkpy.execution.workers.frames import FrameBuffer
from sharkpy.execution.workers.stage_task import StageTask, TaskSettings, payloads_by_exchange
from sharkpy.optimizer.buckets import Packed, packing_decision
from sharkpy.physical.stage import Stage, merged_inputs, preferred_host
from sharkpy.physical.stage_program import BlockColumns, FileSink, StageSink, TaskInput
from sharkpy.sources.storage.access import ACCESSES, StorageAccess

if TYPE_CHECKING:
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.plan.arrow_data import GivenRows

_UNLIMITED = 1 << 62


@dataclass(frozen=True, slots=True)
class PreparedStage:
    """Stage before a run: the JavaRDD of its tasks' exchange payloads, and the function over it."""

    frames: Any
    task: StageTask
    tasks: tuple[TaskInput, ...]
    given: GivenRows | None = None
    """Rows of a Python program's RDD, which the tasks read instead of frames."""

    @property
    def blocks(self) -> tuple[BlockHandle, ...]:
        """Blocks that its tasks read."""
        return tuple(handle for part in self.tasks for _, handles in part.blocks for handle in handles)

    @property
    def run_id(self) -> int:
        return self.task.run_id

    @property
    def num_tasks(self) -> int:
        return len(self.tasks)

    def rdd(self, jobs: SparkJobs) -> Any:
        """Return a JavaRDD of the frames that the tasks make."""
        if self.given is not None:
            return jobs.given_rdd(self.given.rdd, self.task)
        return jobs.stage_rdd(self.frames, self.task)


def prepare(
    run: QueryRun,
    outputs: StageOutputs,
    stage: Stage,
    exchange_id: int | None,
    run_id: int,
    settings: TaskSettings,
) -> PreparedStage:
    """Prepare the stage for run `run_id`. Its rows go to `exchange_id`. Its tasks have `settings`."""
    jobs, engine = run.engine.jobs, run.engine
    base, packed = _input_frames(run, outputs, jobs, stage)
    tasks = tuple(for_workers(merged_inputs([stage.tasks[planned] for planned in task])) for task in packed)
    run.observer.rdd_tasks(stage, tasks, lambda task: _payloads(jobs, base, task), outputs.table)
    broadcasts = tuple((spec.exchange_id, outputs.source(jobs, spec)) for spec in stage.broadcasts)
    if engine.is_local:
        engine.recipes.save()
    accesses = _accesses(tasks, stage.program.sink)
    settings = replace(settings, is_profiled=run.is_profiled, accesses=accesses)
    parts = _pickled_parts(tasks)
    task = StageTask(run_id, stage.program, parts, broadcasts, exchange_id, settings, engine.stop_dir)
    return PreparedStage(base, task, tasks, stage.given_rdd)


def _input_frames(run: QueryRun, outputs: StageOutputs, jobs: SparkJobs, stage: Stage) -> tuple[Any, list[Packed]]:
    """Return the RDD of the exchanges' payloads, and the planned tasks of each of its tasks."""
    inputs = outputs.exchange_inputs(stage)
    planned = len(stage.tasks)
    if not inputs:
        if stage.given:
            return None, [(task,) for task in range(planned)]
        hosts = () if run.engine.is_local else tuple(map(preferred_host, stage.tasks))
        base = jobs.placed_slots(hosts) if any(hosts) else jobs.slots(planned)
        return base, [(task,) for task in range(planned)]
    scanned = _scanned_bytes(stage)
    tasks = pack_tasks(inputs, planned, run.engine.parallelism, scanned)
    if planned > 1:
        ids = [one.output.exchange_id for one in inputs]
        run.profile.decisions.append(packing_decision(ids, task_sizes(inputs, planned, scanned), tasks))
    return payload_rdd(jobs, inputs, tasks), tasks


def _payloads(jobs: SparkJobs, base: Any, task: int) -> Payloads:
    if base is None:
        return {}
    frames = map(bytes, jobs.collect(base, range(task, task + 1)))
    return payloads_by_exchange(frames, FrameBuffer(_UNLIMITED, ""))


def _scanned_bytes(stage: Stage) -> list[int]:
    """Return the encoded bytes of the blocks and files that only one planned task reads, by task."""
    if all(part == stage.tasks[0] for part in stage.tasks):
        return [0] * len(stage.tasks)
    inputs = [spec for spec in stage.program.data_inputs if isinstance(spec, BlockColumns)]
    names = {spec.relation: frozenset(spec.names) for spec in inputs}
    return [
        sum(one.bytes_of(names[relation]) for relation, handles in part.blocks for one in handles)
        + sum(split.length for _, splits in part.splits for split in splits)
        + any(items for _, items in (*part.blocks, *part.splits))
        for part in stage.tasks
    ]


def _accesses(tasks: Sequence[TaskInput], sink: StageSink) -> tuple[StorageAccess, ...]:
    """Return the accesses to the remote files that tasks read and write."""
    ids = {split.access for part in tasks for _, splits in part.splits for split in splits}
    if isinstance(sink, FileSink):
        ids.add(sink.access)
    return tuple(ACCESSES.find(one) for one in sorted(ids) if one)


def _pickled_parts(tasks: Sequence[TaskInput]) -> tuple[bytes, ...]:
    """Return each task's inputs, pickled; equal inputs are one object, which is sent once."""
    if not any(part.blocks or part.splits for part in tasks):
        return ()
    if all(part == tasks[0] for part in tasks[1:]):
        return (_pickled(tasks[0]),) * len(tasks)
    return tuple(map(_pickled, tasks))


def _pickled(part: TaskInput) -> bytes:
    from pyspark.serializers import CPickleSerializer

    return bytes(CPickleSerializer().dumps(part.shipped()))  # type: ignore[no-untyped-call]
