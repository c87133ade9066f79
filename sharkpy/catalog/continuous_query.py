"""Continuous queries, as the catalog knows them: plain immutable data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sharkpy.catalog.position import Position

Offsets = tuple[tuple[str, Position], ...]
"""Ids of streams, each with the position up to which it was read."""


class QueryState(Enum):
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    """An error stopped it: RESUME tries the same epoch again."""
    FINISHED = "FINISHED"
    """Its trigger asked for what was there."""


class TriggerKind(Enum):
    EVERY = "EVERY"
    ONCE = "ONCE"
    """One epoch with all that is there."""
    AVAILABLE_NOW = "AVAILABLE NOW"
    """Epochs until all has been read that was there at the beginning."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """When an epoch begins: `seconds` after the last one began, and not before there are rows."""

    kind: TriggerKind = TriggerKind.EVERY
    seconds: float = 0.0

    @property
    def ends(self) -> bool:
        return self.kind is not TriggerKind.EVERY

    def __str__(self) -> str:
        return self.kind.value if self.ends else f"EVERY {round(self.seconds * 1000)} MILLISECONDS"


class EmitMode(Enum):
    """Rows that a continuous table has."""

    APPEND = "APPEND"
    """Those that do not change any more."""
    UPDATE = "UPDATE"
    """Those of what has come so far."""
    COMPLETE = "COMPLETE"
    """The same: whoever reads the table has all of them."""
    RECOMPUTE = "COMPLETE WITH RECOMPUTE"
    """The same; operators that cannot be kept up to date are computed of all rows when the table is read."""


@dataclass(frozen=True, slots=True)
class EpochPoint:
    """Epoch that a statement names: its number, or the last one that was written by a moment, in milliseconds since
    1970; one of both is None.
    """

    epoch: int | None = None
    moment_ms: int | None = None

    def __str__(self) -> str:
        return f"epoch {self.epoch}" if self.epoch is not None else "the epoch of that moment"


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """Continuous query: its definition, and how far it is.

    `text` is the query, in the `database` and under the `settings` that it was written with. The rows of epochs up to
    `epoch`, all before `offsets`, are in its table or its targets.
    """

    query_id: str
    table_id: str
    text: str
    database: str
    streams: tuple[str, ...]
    """Ids of the streams that it reads."""
    trigger: Trigger = Trigger()
    settings: tuple[tuple[str, str], ...] = ()
    user: str = ""
    state: QueryState = QueryState.RUNNING
    epoch: int = 0
    offsets: Offsets = ()
    fault: str = ""
    """Error that stopped it, or that it waits to get over."""
    targets: tuple[str, ...] = ()
    """Ids of the tables that a continuous insert writes."""
    bad_rows: str = ""
    """Id of the table to which records go that do not parse; empty where they are rows of NULLs."""
    start: Offsets = ()
    """Offsets at which it began; the first items of streams without one."""
    start_words: str = ""
    """Where that was, as in START FROM; empty for the first items."""
    history: str = ""
    """Id of the table whose rows come before those of the stream `continued`, also by its id; empty for none."""
    continued: str = ""
    is_unbounded: bool = False
    """True if its state may grow with the streams."""
    late_rows: str = ""
    """Id of the table to which rows go that come too late; empty where they are left out."""
    bounds: tuple[str, ...] | None = None
    """Folders and remote locations that whoever wrote it might name: its epochs stay there too. None: anywhere."""

    @property
    def definition(self) -> tuple[object, ...]:
        """What ALTER may change. An epoch that was computed by another definition does not count."""
        inputs = self.text, self.database, self.streams
        return *inputs, self.targets, self.bad_rows, self.late_rows, self.trigger, self.settings, self.user, self.bounds

    @property
    def named_tables(self) -> tuple[str, ...]:
        """Ids of the tables that the definition names, besides those of its text: where rows come from and go to."""
        others = (self.bad_rows, self.late_rows)
        return tuple(dict.fromkeys((self.table_id, *self.streams, *self.targets, *filter(None, others))))

    @property
    def is_before_history(self) -> bool:
        """True if the rows of the table that comes before a stream have still to be read."""
        return bool(self.history) and self.continued in self.streams and not self.offset(self.continued)

    def offset(self, stream: str) -> Position:
        """Position up to which a stream, by id, was read; without partitions where nothing was."""
        return dict(self.offsets).get(stream, ())
