"""Functions of this process that take the rows of continuous sinks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sharkpy.catalog.stream_kinds import TO_CONSOLE, sink_kind
from sharkpy.streaming.lease import Lease

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table

BatchFunction: TypeAlias = Callable[[int, Any], object]
"""Takes the number of an epoch and its rows."""

Console: TypeAlias = "Callable[[Table, int, Any], None]"
"""Takes a sink, the number of an epoch, and a reader of its rows."""


@dataclass(frozen=True, slots=True)
class Program:
    """Function that takes the rows of each epoch: an Arrow table, or a reader of batches if it `reads` them."""

    function: BatchFunction
    reads: bool = False


class Programs:
    """Functions by the ids of the sinks' queries. Any thread may call it.

    A sink runs in a process that has its function. If several processes have one, the first to take the sink's lease
    runs it. When that process ends, another one takes over.
    """

    def __init__(self, folder: str, console: Callable[[], Console | None] = lambda: None) -> None:
        """`folder` contains the files of the leases. `console` returns the console of an interactive shell, or None."""
        self._folder = folder
        self._console = console
        self._programs: dict[str, Program] = {}
        self._leases: dict[str, Lease] = {}
        self._lock = threading.Lock()

    def add(self, sink: Table, program: Program) -> None:
        with self._lock:
            self._programs[sink.continuous] = program

    def of(self, sink: Table) -> Program | None:
        """Return this process's function for a sink, or None."""
        if sink_kind(sink) is TO_CONSOLE:
            console = self._console()
            return None if console is None else Program(partial(console, sink), reads=True)
        with self._lock:
            return self._programs.get(sink.continuous)

    def __bool__(self) -> bool:
        return bool(self._programs) or self._console() is not None

    def takes(self, sink: Table) -> bool:
        """Take a sink's lease if this process has the sink's function. Return True if it holds both."""
        if self.of(sink) is None:
            return False
        Path(self._folder).mkdir(parents=True, exist_ok=True)
        with self._lock:
            lease = self._leases.setdefault(sink.continuous, Lease(self._path(sink.continuous)))
            return lease.take()

    def is_missing(self, sink: Table) -> bool:
        """Return True if a sink needs a function, and no process has one that takes its rows."""
        if not sink_kind(sink).taker or self.of(sink) is not None:
            return False
        return not Lease(self._path(sink.continuous)).is_taken()

    def forget(self, query_id: str) -> None:
        """Forget the function of a dropped sink."""
        with self._lock:
            self._programs.pop(query_id, None)
            lease = self._leases.pop(query_id, None)
        if lease is not None:
            lease.release()
        Path(self._path(query_id)).unlink(missing_ok=True)

    def close(self) -> None:
        with self._lock:
            for lease in self._leases.values():
                lease.release()

    def _path(self, query_id: str) -> str:
        return str(Path(self._folder, f"{query_id}.lock"))
