"""Waves of tasks whose rows the driver reads: one is read while the next runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sharkpy.execution.spark.jobs import SparkJobs, split_by_partition
from sharkpy.execution.stages.query_run import QueryRun

_WAVES_AHEAD = 4
"""Tasks per core in a wave; the driver holds at most two waves."""


def waves(count: int, parallelism: int, *, starts_small: bool) -> list[range]:
    """Divide the partitions into waves of some tasks per core, or of one per core and then growing."""
    found: list[range] = []
    size = parallelism if starts_small else parallelism * _WAVES_AHEAD
    start = 0
    while start < count:
        found.append(range(start, min(count, start + size)))
        start += size
        if starts_small:
            size *= _WAVES_AHEAD
    return found or [range(0)]


@dataclass(frozen=True, slots=True)
class WaveReader:
    """Reader of the frames of one run of a stage with `count` tasks."""

    run: QueryRun
    jobs: SparkJobs
    rdd: Any
    run_id: int
    count: int

    def frames(self, waves: Sequence[range]) -> Iterator[list[pa.Buffer]]:
        """Yield the frames of each wave in task order, one wave ahead of the reader."""
        if len(waves) == 1:
            yield self._ordered(self._collect(waves[0]), waves[0])
            return
        executor = ThreadPoolExecutor(1, thread_name_prefix="sharkpy-wave")
        ahead: Future[list[pa.Buffer]] | None = executor.submit(self._collect, waves[0])
        try:
            for wave, following in zip(waves, [*waves[1:], None], strict=True):
                if ahead is None:
                    break
                current = ahead.result()
                self.jobs.check_tasks(self.run_id)
                ahead = executor.submit(self._collect, following) if following is not None else None
                yield self._ordered(current, wave)
        finally:
            if ahead is not None and not ahead.done():
                self.run.end_jobs(self.jobs)
            executor.shutdown(wait=True, cancel_futures=True)

    def _collect(self, wave: range) -> list[pa.Buffer]:
        with self.jobs.job_group(self.run.group, self.run.description, self.run.pool, self.run_id):
            return self.jobs.collect(self.rdd, wave, is_all=wave == range(self.count))

    def _ordered(self, frames: list[pa.Buffer], wave: range) -> list[pa.Buffer]:
        self.jobs.check_tasks(self.run_id, wave)
        self.run.check()
        parts = split_by_partition(frames)
        return [frame for partition in sorted(parts) for frame in parts[partition]]
