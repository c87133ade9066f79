"""Samples of the engine's load over the last half hour, taken by a task of the web server, and looks at its workers."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharkpy.base import settings
from sharkpy.base.records import dataclass

if TYPE_CHECKING:
    from sharkpy.columnar.store import StoreUsage
    from sharkpy.execution.spark.jobs import ExecutorLoad
    from sharkpy.thrift.server import ServerParts

_PERIOD_SECONDS = 2.0
_MOST_SHARE = 200
"""A sample may take one part of these of a core: with very many blocks, samples are rarer."""
_MOST_SAMPLES = 900
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sample:
    """Load of the engine at one moment.

    `process_bytes`: memory of the server's process without blocks. `block_bytes`: blocks in shared memory.
    `local_bytes`: blocks moved to a disk. `cores`: CPU seconds of the process in each second since the sample before.
    """

    time: datetime
    process_bytes: int
    block_bytes: int
    local_bytes: int
    cores: float
    running: int
    waiting: int
    sessions: int


@dataclass(frozen=True, slots=True)
class Disk:
    """File system of a folder of the engine, and what the folder is for."""

    use: str
    path: str
    total_bytes: int
    free_bytes: int


class EngineSamples:
    """Ring of samples. `take` is called by one thread at a time; the rest by any."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self._samples: deque[Sample] = deque(maxlen=_MOST_SAMPLES)
        self._last = time.monotonic(), time.process_time()
        self.usage: StoreUsage | None = None
        """Usage of the block store at the last sample; None if there is none yet."""

    async def run(self, in_thread: Callable[..., Awaitable[Any]]) -> None:
        """Take samples until the task is cancelled."""
        while True:
            spent = 0.0
            try:
                spent = await in_thread(self.take)
            except Exception:  # noqa: BLE001 - the next sample may succeed
                _log.exception("the engine's load could not be sampled")
            await asyncio.sleep(max(_PERIOD_SECONDS, _MOST_SHARE * spent))

    def take(self) -> float:
        """Take a sample. Return the CPU seconds for it."""
        began = time.thread_time()
        session, engine = self._parts.engine_session, self._parts.engine_session.started_engine
        usage = self.usage = None if engine is None else engine.store.usage()
        (then, cpu_then), now, cpu = self._last, time.monotonic(), time.process_time()
        # Clients name a sample by its time, which has milliseconds in answers.
        moment = datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, UTC)
        self._last = now, cpu
        self._samples.append(
            Sample(
                time=moment,
                process_bytes=self._parts.memory.held,
                block_bytes=0 if usage is None else usage.memory_bytes,
                local_bytes=0 if usage is None else usage.local_bytes,
                cores=(cpu - cpu_then) / max(now - then, 1e-3),
                running=session.admission.num_running,
                waiting=session.admission.num_waiting,
                sessions=len(self._parts.sessions.sessions()),
            )
        )
        return time.thread_time() - began

    def since(self, moment: datetime | None) -> list[Sample]:
        """Return the samples after a moment, in order; all if it is None."""
        return [one for one in list(self._samples) if moment is None or one.time > moment]

    def disks(self) -> list[Disk]:
        """Return the file systems of the warehouse, of temporary files, of blocks on disk, and in shared memory."""
        session, engine = self._parts.engine_session, self._parts.engine_session.started_engine
        folders = {"warehouse": session.catalog.home, "temporary files": session.conf.value(settings.TEMP_DIR)}
        if engine is not None:
            folders |= {"shared memory": engine.store.memory_dir, "blocks on disk": engine.store.local_dir}
        found = dict[int, Disk]()
        for use, folder in folders.items():
            path = folder or os.environ.get("TMPDIR", "/tmp")
            try:
                device, usage = Path(path).stat().st_dev, shutil.disk_usage(path)
            except OSError:
                continue
            known = found.get(device)
            found[device] = Disk(
                use if known is None else f"{known.use}, {use}",
                path if known is None else known.path,
                usage.total,
                usage.free,
            )
        return list(found.values())


@dataclass(frozen=True, slots=True)
class Executor:
    host: str
    running_tasks: int


@dataclass(frozen=True, slots=True)
class Workers:
    """Workers of RDD stages. Spark starts with the first one. `lost`: Spark's JVMs that have ended by themselves."""

    master: str
    parallelism: int
    is_started: bool
    lost: int
    executors: list[Executor]


class WorkerLooks:
    """Looks at Spark's executors. Only one thread asks the JVM. Other threads get the earlier answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executors: list[ExecutorLoad] = []

    def look(self, parts: ServerParts) -> Workers | None:
        engine = parts.engine_session.started_engine
        if engine is None:
            return None
        if self._lock.acquire(blocking=False):
            try:
                self._executors = engine.executors()
            finally:
                self._lock.release()
        executors = [Executor(one.host, one.running_tasks) for one in self._executors]
        return Workers(engine.master, engine.parallelism, engine.is_spark_started, engine.lost_sparks, executors)
