"""Commands about tables in memory."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import Table
from sharkpy.plan.commands.command import Command


@dataclass(frozen=True, slots=True)
class CacheTable(Command):
    """CACHE [LAZY] TABLE t. CACHE TABLE t AS SELECT is bound as a MEMORY_ONLY temporary CreateTable."""

    table: Table
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class UncacheTable(Command):
    """UNCACHE TABLE. `table` None: it does not exist and IF EXISTS is given."""

    table: Table | None


@dataclass(frozen=True, slots=True)
class ClearCache(Command):
    pass
