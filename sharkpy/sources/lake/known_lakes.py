"""The lake formats of an engine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from sharkpy.base.cancellation import cancellable_lock
from sharkpy.base.errors import ConfigurationError
from sharkpy.catalog.model import Table
from sharkpy.sources.lake.lake_format import LakeFormat, LakeHome


def _iceberg(home: LakeHome) -> LakeFormat:
    from sharkpy.sources.lake.iceberg.iceberg_format import IcebergFormat

    return IcebergFormat(home)


def _delta(home: LakeHome) -> LakeFormat:  # noqa: ARG001 - it has no catalogs
    from sharkpy.sources.lake.delta.delta_format import DeltaFormat

    return DeltaFormat()


_FORMATS: dict[str, Callable[[LakeHome], LakeFormat]] = {"iceberg": _iceberg, "delta": _delta}
"""Formats by name. Their packages are large, so they are imported by the first statement that needs them."""

_COMMITS = 64
"""Number of locks: at most this many tables are committed to at a time."""


class KnownLakes:
    """Formats of an engine, each made when it is first needed. Safe to use from several threads."""

    def __init__(self, home: LakeHome) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._made: dict[str, LakeFormat] = {}
        self._commits = tuple(threading.Lock() for _ in range(_COMMITS))

    def committing(self, table: Table) -> AbstractContextManager[None]:
        """Hold the lock for commits to a table, to save sessions of one engine from conflicts and retries."""
        return cancellable_lock(self._commits[hash(table.table_id) % _COMMITS])

    def format(self, name: str) -> LakeFormat:
        """Format of a name; ConfigurationError if the package that it needs is not installed."""
        with self._lock:
            if name not in self._made:
                try:
                    self._made[name] = _FORMATS[name](self._home)
                except ImportError as error:
                    message = f"tables of the format {name} need the package {error.name}"
                    hint = f"pip install 'sharkpy[{name}]'"
                    raise ConfigurationError(message, hint=hint, sqlstate="F0000") from None
            return self._made[name]

    def close(self) -> None:
        with self._lock:
            for made in self._made.values():
                made.close()
            self._made.clear()
