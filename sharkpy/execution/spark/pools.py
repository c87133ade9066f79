"""Fair pools: each session has one, and the pools share the engine."""

from __future__ import annotations

import threading
from typing import Any

from sharkpy.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Pool:
    """Pool of statements. Pools share by weight, and statements of a pool run in order of arrival."""

    name: str
    weight: int = 1


DEFAULT_POOL = Pool("default")


class SparkPools:
    """Pools of Spark's fair scheduler, made at run time because its configuration file cannot list sessions."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._known: set[str] = set()

    def use(self, pool: Pool) -> str:
        """Return the name of Spark's pool, made if needed. A pool with another weight is another pool."""
        name = pool.name if pool.weight == 1 else f"{pool.name} x{pool.weight}"
        with self._lock:
            if name not in self._known:
                self._make(name, pool.weight)
                self._known.add(name)
        return name

    def _make(self, name: str, weight: int) -> None:
        scheduler = self._context._jvm.org.apache.spark.scheduler
        root = self._context._jsc.sc().taskScheduler().rootPool()
        if root is not None and root.getSchedulableByName(name) is None:
            root.addSchedulable(scheduler.Pool(name, scheduler.SchedulingMode.FAIR(), 0, weight))
