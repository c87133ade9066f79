"""Continuous queries as the catalog stores them, and their positions in streams: immutable data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from itertools import zip_longest

from sharkpy.base.records import dataclass

Position = tuple[int, ...]
"""One number per partition, in order. Sources without partitions have one number. Partitions beyond the end of a
position are new and unread.
"""

Numbers = int | list[int]


def furthest_position(one: Position, other: Position) -> Position:
    """Return the greater number for each partition."""
    return tuple(max(pair) for pair in zip_longest(one, other, fillvalue=0))


def least_position(positions: Iterable[Position]) -> Position:
    """Return the smallest number for each partition that all positions have."""
    return tuple(min(numbers) for numbers in zip(*positions, strict=False))


def is_position_within(one: Position, other: Position) -> bool:
    """Return True if no partition is further in `one` than in `other`."""
    return all(first <= last for first, last in zip_longest(one, other, fillvalue=0))


def items_between(start: Position, end: Position) -> int:
    """Return the number of items from `start` up to but excluding `end`."""
    return sum(max(0, last - first) for first, last in zip_longest(start, end, fillvalue=0))


def position_to_numbers(position: Position) -> Numbers:
    """Return a position for texts: a number if there is one partition, else a list."""
    return position[0] if len(position) == 1 else list(position)


def position_from_numbers(numbers: Numbers) -> Position:
    """Return the position of a text."""
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


Offsets = tuple[tuple[str, Position], ...]
"""Ids of streams, each with the position up to which it has been read."""


class QueryState(Enum):
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    """An error stopped the query: RESUME retries the same epoch."""
    FINISHED = "FINISHED"
    """Its trigger has ended: all input that it asked for has been read."""


class TriggerKind(Enum):
    EVERY = "EVERY"
    ONCE = "ONCE"
    """One epoch with all available input."""
    AVAILABLE_NOW = "AVAILABLE NOW"
    """Epochs until the input that was available at the start has been read."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """When an epoch begins: `seconds` after the start of the previous one, once there is input."""

    kind: TriggerKind = TriggerKind.EVERY
    seconds: float = 0.0

    @property
    def ends(self) -> bool:
        return self.kind is not TriggerKind.EVERY

    def __str__(self) -> str:
        return self.kind.value if self.ends else f"EVERY {round(self.seconds * 1000)} MILLISECONDS"


class EmitMode(Enum):
    """Rows of a continuous table."""

    APPEND = "APPEND"
    """Only rows that will not change any more."""
    UPDATE = "UPDATE"
    """Rows of the input so far."""
    COMPLETE = "COMPLETE"
    """The same as UPDATE: a query of the table always sees all rows."""
    RECOMPUTE = "COMPLETE WITH RECOMPUTE"
    """The same. Operators that cannot be maintained are computed from all rows when the table is read."""


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """A continuous query: its definition and its progress.

    `text` is the query, resolved in `database` and under `settings`. The rows of all epochs up to `epoch`, which end at
    `offsets`, are in its table or its targets.
    """

    query_id: str
    table_id: str
    text: str
    database: str
    streams: tuple[str, ...]
    """Ids of the streams that the query reads."""
    trigger: Trigger = Trigger()
    settings: tuple[tuple[str, str], ...] = ()
    user: str = ""
    state: QueryState = QueryState.RUNNING
    epoch: int = 0
    offsets: Offsets = ()
    fault: str = ""
    """Error that stopped the query, or that it is retrying."""
    targets: tuple[str, ...] = ()
    """Ids of the tables that a continuous insert writes."""
    bad_rows: str = ""
    """Id of the table for records that cannot be parsed. If empty, such records become rows of NULLs."""
    start: Offsets = ()
    """Offsets at which the query began. A stream without one began at its first item."""
    start_words: str = ""
    """The start as in START FROM; empty for the first items."""
    history: str = ""
    """Id of a table whose rows are read before the stream `continued` (also an id); empty if there is none."""
    continued: str = ""
    is_unbounded: bool = False
    """True if the state may grow with the streams."""
    late_rows: str = ""
    """Id of the table for rows that come too late; empty if they are dropped."""
    bounds: tuple[str, ...] | None = None
    """Folders and remote locations that the query's author may use. Its epochs are limited to them too. None:
    no limit.
    """

    @property
    def definition(self) -> tuple[object, ...]:
        """The parts that ALTER may change. An epoch that was computed under another definition is discarded."""
        inputs = self.text, self.database, self.streams
        return *inputs, self.targets, self.bad_rows, self.late_rows, self.trigger, self.settings, self.user, self.bounds

    @property
    def named_tables(self) -> tuple[str, ...]:
        """Ids of the tables that the definition names outside its text, as input or output."""
        others = (self.bad_rows, self.late_rows)
        return tuple(dict.fromkeys((self.table_id, *self.streams, *self.targets, *filter(None, others))))

    @property
    def is_before_history(self) -> bool:
        """True if the rows of the table before a stream still have to be read."""
        return bool(self.history) and self.continued in self.streams and not self.offset(self.continued)

    def offset(self, stream: str) -> Position:
        """Return the position up to which a stream, by id, has been read; without partitions if nothing has
        been read.
        """
        return dict(self.offsets).get(stream, ())


def offsets_to_text(offsets: Offsets) -> str:
    return json.dumps([[stream, position_to_numbers(position)] for stream, position in offsets])


def offsets_from_text(text: str) -> Offsets:
    return tuple((stream, position_from_numbers(numbers)) for stream, numbers in json.loads(text))
