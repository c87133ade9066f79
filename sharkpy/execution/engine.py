"""The running parts of a session: DuckDB in this process, the block store, and Spark when a job needs it."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharkpy import conf as settings
from sharkpy.columnar.column_cache import column_cache
from sharkpy.conf import Conf
from sharkpy.execution.connection import ConnectionPool, ConnectionSettings
from sharkpy.execution.scratch import make_scratch
from sharkpy.execution.spark import SparkHandle, connect_spark, is_local_master
from sharkpy.execution.worker import TaskSettings

if TYPE_CHECKING:
    from sharkpy.columnar.store import BlockStore
    from sharkpy.execution.jobs import SparkJobs

_LOCAL_THREADS = re.compile(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?$")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]$")
_MIN_MEMORY = 256 << 20


class Engine:
    """Makes each part on first use; the JVM starts with the first RDD job. `stop` ends and frees all of them."""

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
        atexit.register(self.stop)

    @property
    def master(self) -> str:
        return self.conf.value(settings.MASTER)

    @property
    def is_local(self) -> bool:
        """Tasks run on this machine."""
        return self._spark.is_local if self._spark is not None else is_local_master(self.master)

    @property
    def parallelism(self) -> int:
        """Tasks that run at once; known without starting Spark for local masters."""
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
        """The session's folder for temporary files."""
        with self._lock:
            if self._scratch is None:
                self._scratch = make_scratch(self.conf.value(settings.TEMP_DIR) or None)
            return self._scratch

    @property
    def pool(self) -> ConnectionPool:
        """DuckDB in this process, with all cores."""
        with self._lock:
            if self._pool is None:
                memory = self.conf.value(settings.DRIVER_MEMORY) or machine_memory() * 2 // 5
                threads = os.cpu_count() or 1
                self._pool = ConnectionPool(ConnectionSettings(threads, memory, str(self.scratch / "duckdb")))
            return self._pool

    @property
    def store(self) -> BlockStore:
        with self._lock:
            if self._store is None:
                from sharkpy.columnar.store import BlockStore

                limit = self.conf.value(settings.STORE_MEMORY_LIMIT) or machine_memory() // 3
                local_dir = self.conf.value(settings.STORE_LOCAL_DIR) or str(self.warehouse / ".blocks")
                self._store = BlockStore(limit, self.conf.value(settings.STORE_SHM_DIR), local_dir)
                column_cache().limit = self.scan_cache_bytes
            return self._store

    @property
    def scan_cache_bytes(self) -> int:
        """Bytes of decoded columns that the driver keeps, and all tasks together."""
        return self.conf.value(settings.SCAN_CACHE_BYTES) or machine_memory() // 16

    @property
    def is_spark_started(self) -> bool:
        return self._jobs is not None

    @property
    def jobs(self) -> SparkJobs:
        """RDD jobs; starts Spark. ConfigurationError where there is no Java or Spark does not start."""
        with self._lock:
            if self._jobs is None:
                from sharkpy.execution.jobs import SparkJobs

                java_home = self.conf.value(settings.JAVA_HOME) or None
                heap = self.conf.value(settings.JVM_MEMORY) or max(1 << 30, machine_memory() // 8)
                overrides = {key: self.conf[key] for key in self.conf}
                self._spark = connect_spark(self.master, self.scratch, overrides, java_home, heap)
                self._jobs = SparkJobs(self._spark, self.scratch)
            return self._jobs

    def task_settings(self, writer: Any = None) -> TaskSettings:
        """What tasks in workers need to know; `writer` for stages that store blocks."""
        memory = self.conf.value(settings.TASK_MEMORY) or machine_memory() * 2 // 5 // max(1, self.parallelism)
        connection = ConnectionSettings(1, max(memory, _MIN_MEMORY), str(self.scratch / "duckdb-tasks"), True)
        return TaskSettings(
            connection,
            self.conf.value(settings.RESULT_BATCH_ROWS),
            self.conf.value(settings.BLOCK_BYTES),
            self.conf.value(settings.FORCE_ENCODING),
            writer,
            self.scan_cache_bytes // max(1, self.parallelism),
        )

    def stop(self) -> None:
        """End Spark (unless the user made it), close DuckDB and the store, remove temporary files. Idempotent."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
            atexit.unregister(self.stop)
            try:
                if self._jobs is not None:
                    self._jobs.close()
                if self._spark is not None:
                    self._spark.stop()
            finally:
                self._close_local()

    def _close_local(self) -> None:
        if self._pool is not None:
            self._pool.close()
        if self._store is not None:
            self._store.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._jobs = None
        self._spark = None


def machine_memory() -> int:
    """Bytes of physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
