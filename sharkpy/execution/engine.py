"""Running parts of an engine: DuckDB in this process, the block store, and Spark if a job needs it."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError
from sharkpy.base.settings import Conf
from sharkpy.columnar.block_cache import column_cache
from sharkpy.columnar.host import machine_memory
from sharkpy.execution.scratch import blocks_folder, make_scratch
from sharkpy.execution.spark.start import SparkHandle, active_master, connect_spark, is_local_master
from sharkpy.execution.tasks.block_rebuild import RecipeRegistry
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings
from sharkpy.execution.workers.stage_task import TaskSettings
from sharkpy.optimizer.optimized_plan_cache import OptimizedPlanCache
from sharkpy.physical.stage_cache import StageCache

if TYPE_CHECKING:
    from sharkpy.columnar.block_writer import BlockWriter, ExecutorWriter
    from sharkpy.columnar.store import BlockStore
    from sharkpy.execution.spark.jobs import ExecutorLoad, SparkJobs

_LOCAL_THREADS = re.compile(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?$")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]$")
_MIN_MEMORY = 256 << 20
_THREAD_MEMORY = 64 << 20
_log = logging.getLogger("sharkpy")


class Engine:
    """Parts of an engine, each made on first use. The JVM starts with the first RDD job. `stop` frees all."""

    def __init__(self, conf: Conf, warehouse: Path | str) -> None:
        self.conf = conf
        self.warehouse = Path(warehouse)
        self._lock = threading.RLock()
        self._scratch: Path | None = None
        self._pool: ConnectionPool | None = None
        self._store: BlockStore | None = None
        self._spark: SparkHandle | None = None
        self._jobs: SparkJobs | None = None
        self._is_stopped = False
        self._lost_sparks = 0
        """Number of lost Sparks that were replaced."""
        self.recipes = RecipeRegistry(lambda: self._recipes_folder)
        self.optimized_plan_cache = OptimizedPlanCache()
        self.stage_cache = StageCache()
        atexit.register(self.stop)

    @property
    def master(self) -> str:
        return self.conf.value(settings.MASTER)

    @property
    def is_local(self) -> bool:
        """True if tasks run on this machine."""
        return self._spark.is_local if self._spark is not None else is_local_master(active_master() or self.master)

    @property
    def parallelism(self) -> int:
        """Number of tasks that run at once; for local masters, known without starting Spark."""
        if self._spark is not None:
            return self._spark.parallelism
        cores = os.cpu_count() or 1
        if match := _LOCAL_CLUSTER.match(self.master):
            return int(match.group(1)) * int(match.group(2))
        match = _LOCAL_THREADS.match(self.master)
        if match is None or match.group(1) == "*":
            return cores
        return int(match.group(1) or 1)

    @property
    def scratch(self) -> Path:
        """Folder of the engine for temporary files."""
        with self._lock:
            if self._scratch is None:
                self._scratch = make_scratch(self.conf.value(settings.TEMP_DIR) or None)
            return self._scratch

    @property
    def pool(self) -> ConnectionPool:
        """Connections to DuckDB in this process, with all cores."""
        with self._lock:
            if self._pool is None:
                memory = self.conf.value(settings.DRIVER_MEMORY) or machine_memory() * 2 // 5
                # Each thread of DuckDB needs memory that it cannot spill.
                threads = max(1, min(os.cpu_count() or 1, memory // _THREAD_MEMORY))
                self._pool = ConnectionPool(
                    ConnectionSettings(
                        threads,
                        memory,
                        str(self.scratch / "duckdb"),
                        temp_limit=self.conf.value(settings.TEMP_BYTES),
                        value_bytes=self.conf.value(settings.VALUE_BYTES),
                    )
                )
            return self._pool

    @property
    def store(self) -> BlockStore:
        with self._lock:
            if self._store is None:
                self._store = self._new_store()
                column_cache().limit = self.scan_cache_bytes
            return self._store

    def _new_store(self) -> BlockStore:
        from sharkpy.columnar.store import BlockStore

        limit = self.conf.value(settings.STORE_MEMORY_LIMIT) or machine_memory() // 3
        shm_dir, local_dir = self.conf.value(settings.STORE_SHM_DIR), str(blocks_folder(self.conf, self.warehouse))
        try:
            return BlockStore(limit, shm_dir, local_dir, is_shared=not self.is_local)
        except ConfigurationError:
            if self.conf.value(settings.STORE_LOCAL_DIR) or not self.is_local:
                raise
            # A read-only warehouse can still be read.
            return BlockStore(limit, shm_dir, str(self.scratch / "blocks"))

    @property
    def scan_cache_bytes(self) -> int:
        """Limit on the bytes of decoded columns in the driver's cache, and in all tasks' caches together."""
        return self.conf.value(settings.SCAN_CACHE_BYTES) or machine_memory() // 16

    @property
    def is_spark_started(self) -> bool:
        return self._jobs is not None and self._jobs.spark.is_alive

    def runs(self, jobs: SparkJobs) -> bool:
        """True if `jobs` are the engine's and their Spark runs."""
        return self._jobs is jobs and jobs.spark.is_alive

    @property
    def jobs(self) -> SparkJobs:
        """Jobs on Spark, which starts if it does not run or its JVM was killed.

        Raise ConfigurationError if there is no Java or Spark does not start.
        """
        with self._lock:
            if self._jobs is not None and self._jobs.spark.is_lost:
                _log.warning("the JVM of the session has ended by itself: another one is started")
                self._lost_sparks += 1
                self._end_spark()
            if self._jobs is None:
                from sharkpy.execution.spark.jobs import SparkJobs

                java_home = self.conf.value(settings.JAVA_HOME) or None
                heap = self.conf.value(settings.JVM_MEMORY) or max(1 << 30, machine_memory() // 8)
                given = {key: self.conf.given(key) for key in self.conf if key.startswith("spark.")}
                overrides = {key: text.reveal() for key, text in given.items() if text is not None}
                self._spark = connect_spark(self.master, self.scratch, overrides, java_home, heap)
                self._jobs = SparkJobs(self._spark, self.scratch)
            return self._jobs

    def executors(self) -> list[ExecutorLoad]:
        """Return Spark's executors; an empty list if Spark does not run."""
        jobs = self._jobs
        return jobs.executors() if jobs is not None and jobs.spark.is_alive else []

    @property
    def lost_sparks(self) -> int:
        """Number of Sparks so far whose JVM has ended by itself."""
        spark = self._spark
        return self._lost_sparks + (spark is not None and spark.is_lost)

    def await_lost_spark(self) -> None:
        """Wait until the process of a lost JVM has ended, which takes a while on a busy machine."""
        spark = self._spark
        if spark is not None and spark.jvm is not None:
            spark.jvm.await_end()

    @property
    def jvm(self) -> Any:
        """Spark's JVM through Py4J; starts Spark."""
        return self.jobs.jvm

    def task_writer(self) -> BlockWriter | ExecutorWriter:
        """Writer with which tasks store blocks, in the memory of this machine or of the task's host."""
        if self.is_local:
            return self.store.writer()
        from sharkpy.columnar.block_writer import ExecutorWriter

        shm_dir, limit = self.conf.value(settings.STORE_SHM_DIR), self.conf.value(settings.STORE_MEMORY_LIMIT)
        return ExecutorWriter(shm_dir, self.store.local_dir, limit)

    def task_settings(self, writer: Any = None, *, is_alone: bool = False) -> TaskSettings:
        """Return the settings of tasks in workers; stages that store blocks pass a `writer`.

        If a task `is_alone` in its stage, it uses all cores of this machine. It sees all rows, so DuckDB orders its
        joins. Its rows may come in another order in each attempt.
        """
        share = machine_memory() * 2 // 5 // max(1, self.parallelism)
        memory = self.conf.value(settings.TASK_MEMORY) or max(share, _MIN_MEMORY)
        spilled, value_bytes = self.conf.value(settings.TEMP_BYTES), self.conf.value(settings.VALUE_BYTES)
        connection = ConnectionSettings(
            1,
            memory,
            str(self.scratch / "duckdb-tasks"),
            keeps_join_order=True,
            temp_limit=spilled,
            value_bytes=value_bytes,
        )
        if not self.is_local:
            # The memory and temporary folder of the worker's machine are not known here.
            connection = replace(connection, memory_limit=self.conf.value(settings.TASK_MEMORY), temp_directory="")
        elif is_alone:
            threads = max(1, min(self.parallelism, memory // _THREAD_MEMORY))
            connection = replace(connection, threads=threads, keeps_join_order=False)
        return TaskSettings(
            connection,
            self.conf.value(settings.RESULT_BATCH_ROWS),
            self.conf.value(settings.BLOCK_BYTES),
            self.conf.value(settings.FORCE_ENCODING),
            writer,
            self.scan_cache_bytes // max(1, self.parallelism),
            results_dir=self.results_dir if self.is_local else "",
            recipes_dir=str(self._recipes_folder) if self.is_local else "",
        )

    @property
    def results_dir(self) -> str:
        """Folder in which local tasks put large results for the driver."""
        return str(self.scratch / "results")

    @property
    def stop_dir(self) -> str:
        """Folder of the files that tell local tasks that their job was cancelled; "" for tasks on other machines."""
        return str(self.scratch) if self.is_local else ""

    @property
    def recipes_dir(self) -> Path:
        """Folder of the recipes for rebuilding blocks, all written, for local tasks."""
        return self.recipes.save()

    @property
    def _recipes_folder(self) -> Path:
        return self.scratch / "recipes"

    def stop(self) -> None:
        """Stop Spark (unless the user started it), close DuckDB and the store, remove temporary files. Idempotent."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
            atexit.unregister(self.stop)
            try:
                self._end_spark()
            finally:
                self._close_local()

    def _end_spark(self) -> None:
        jobs, spark, self._jobs, self._spark = self._jobs, self._spark, None, None
        if jobs is not None:
            jobs.close()
        if spark is not None:
            spark.stop()

    def _close_local(self) -> None:
        if self._pool is not None:
            self._pool.close()
        if self._store is not None:
            self._store.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
