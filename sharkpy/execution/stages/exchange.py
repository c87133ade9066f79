"""Exchanges: Arrow payloads through Spark's shuffle, measured before they are read.

The map stage is submitted separately; the bytes of its buckets are known before the reading stage is planned. Readers
take whole buckets, several small ones per task. The payloads of several exchanges (the sides of a join) reach the same
task bucket by bucket; the header of each names its exchange. Small outputs that the driver needs anyway (broadcasts,
LIMIT) are held there and never enter the shuffle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.execution.spark.jobs import SparkJobs
from sharkpy.optimizer.buckets import Packed, pack_buckets
from sharkpy.physical.plan import DealtBuckets


@dataclass(frozen=True, slots=True)
class MapOutput:
    """Output of a map stage: the shuffled RDD (Py4J) and its bytes per bucket."""

    exchange_id: int
    shuffled: Any
    shuffle_id: int
    bytes_per_bucket: tuple[int, ...]
    is_ordered: bool = False
    """Whether the buckets are consecutive ranges."""


@dataclass(frozen=True, slots=True)
class DriverOutput:
    """Payloads held in the driver: one bucket."""

    exchange_id: int
    payloads: tuple[pa.Buffer, ...]

    @property
    def bytes_per_bucket(self) -> tuple[int, ...]:
        return (sum(len(payload) for payload in self.payloads),)


ExchangeOutput = MapOutput | DriverOutput


@dataclass(frozen=True, slots=True)
class ExchangeInput:
    """Output as a stage reads it; with `is_single`, the first task reads all buckets.

    `dealt` says which planned task reads which bucket, if that is not bucket i by task i.
    """

    output: ExchangeOutput
    is_single: bool
    dealt: DealtBuckets | None = None

    def buckets(self, tasks: Packed) -> tuple[int, ...]:
        """Return the buckets that a task for the planned `tasks` reads, each once."""
        count = len(self.output.bytes_per_bucket)
        if self.is_single:
            return tuple(range(count)) if 0 in tasks else ()
        if self.dealt is None:
            return tuple(task for task in tasks if task < count)
        # Sibling joins of a stage may be dealt to different numbers of tasks.
        dealt = self.dealt.buckets
        return tuple(sorted({bucket for task in tasks if task < len(dealt) for bucket in dealt[task]}))

    def reads_again(self, task: int) -> bool:
        return self.dealt is not None and task in self.dealt.again


def run_map_stage(
    jobs: SparkJobs, frames: Any, exchange_id: int, num_buckets: int, *, is_ordered: bool = False
) -> MapOutput:
    """Run a map stage, whose output `frames` alternate buckets and payloads. Only sizes come back."""
    shuffled = jobs.shuffled(frames, num_buckets)
    dependency = shuffled.dependencies().head()
    statistics = jobs.scala_context.submitMapStage(dependency).get()
    # One round trip: each element of the array would take its own.
    sizes = tuple(json.loads(jobs.array_text(statistics.bytesByPartitionId())))
    return MapOutput(exchange_id, shuffled, int(dependency.shuffleId()), sizes, is_ordered)


def pack_tasks(
    inputs: Sequence[ExchangeInput], num_tasks: int, parallelism: int, scanned_bytes: Sequence[int] = ()
) -> list[Packed]:
    """Return the planned tasks of each task to run (see `pack_buckets`).

    `scanned_bytes` are the bytes that each planned task reads apart from the exchanges; above 0 if it reads anything.
    """
    sizes = task_sizes(inputs, num_tasks, scanned_bytes)
    if any(one.dealt and one.dealt.is_apart for one in inputs):
        return [(task,) for task, size in enumerate(sizes) if size] or [(0,)]
    again = [frozenset(i for i, one in enumerate(inputs) if one.reads_again(task)) for task in range(num_tasks)]
    is_ordered = any(isinstance(one.output, MapOutput) and one.output.is_ordered for one in inputs)
    return pack_buckets(sizes, parallelism, [group or None for group in again], is_ordered=is_ordered)


def task_sizes(inputs: Sequence[ExchangeInput], num_tasks: int, scanned_bytes: Sequence[int] = ()) -> list[int]:
    """Return the bytes that each planned task reads."""
    scanned = scanned_bytes or (0,) * num_tasks
    return [_task_bytes(inputs, task) + scanned[task] for task in range(num_tasks)]


def _task_bytes(inputs: Sequence[ExchangeInput], task: int) -> int:
    return sum(one.output.bytes_per_bucket[bucket] for one in inputs for bucket in one.buckets((task,)))


def payload_rdd(jobs: SparkJobs, inputs: Sequence[ExchangeInput], tasks: Sequence[Packed]) -> Any:
    """Return a JavaRDD of the payloads of all `inputs`, with one partition per task."""
    merged = _merged(inputs)
    if merged is not None and [*tasks] == [(bucket,) for bucket in range(len(merged.bytes_per_bucket))]:
        return jobs.values(merged.shuffled)
    parts = []
    for task in tasks:
        if merged is not None:
            pieces = [_buckets_of(jobs, merged, task)]
        else:
            pieces = [_buckets_of(jobs, one.output, buckets) for one in inputs if (buckets := one.buckets(task))]
        parts.append(_one_partition(jobs, pieces))
    return parts[0] if len(parts) == 1 else _append(jobs, parts)


def _merged(inputs: Sequence[ExchangeInput]) -> MapOutput | None:
    """Return all inputs as one shuffled RDD if every task reads the same buckets of each, else None."""
    outputs = [
        one.output for one in inputs if isinstance(one.output, MapOutput) and not one.is_single and one.dealt is None
    ]
    if len(outputs) != len(inputs) or len({len(output.bytes_per_bucket) for output in outputs}) != 1:
        return None
    first = outputs[0]
    # With equal partitioners, Spark's union combines partitions pairwise instead of appending them.
    shuffled = first.shuffled
    for output in outputs[1:]:
        shuffled = shuffled.union(output.shuffled)
    return replace(first, shuffled=shuffled)


def _buckets_of(jobs: SparkJobs, output: ExchangeOutput, buckets: Packed) -> Any:
    """Return a JavaRDD of the payloads of `buckets`, one partition each."""
    if isinstance(output, DriverOutput):
        return jobs.frames_rdd([bytes(payload) for payload in output.payloads])
    chosen = output.shuffled
    if len(buckets) < len(output.bytes_per_bucket):
        chosen = jobs.with_partitions(chosen, buckets)
    return jobs.values(chosen)


def _one_partition(jobs: SparkJobs, pieces: Sequence[Any]) -> Any:
    if not pieces:
        return jobs.slots(1)
    whole = pieces[0] if len(pieces) == 1 else _append(jobs, pieces)
    return whole if whole.getNumPartitions() == 1 else whole.coalesce(1)


def _append(jobs: SparkJobs, rdds: Sequence[Any]) -> Any:
    array = jobs.context._gateway.new_array(jobs.java_rdd, len(rdds))
    for index, rdd in enumerate(rdds):
        array[index] = rdd
    return jobs.context._jsc.union(array)


def collect_payloads(jobs: SparkJobs, output: ExchangeOutput) -> list[pa.Buffer]:
    """Return all payloads of an exchange to the driver; for broadcasts, which are small."""
    if isinstance(output, DriverOutput):
        return list(output.payloads)
    frames = jobs.values(output.shuffled)
    return jobs.collect(frames, range(len(output.bytes_per_bucket)), is_all=True)


def release(jobs: SparkJobs, outputs: Iterable[ExchangeOutput]) -> None:
    """Delete the shuffles' files in the background."""
    jobs.release_shuffles([output.shuffle_id for output in outputs if isinstance(output, MapOutput)])
