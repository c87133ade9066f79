"""Streams and continuous queries are made, steered and listed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sharkpy.catalog.continuous_query import EmitMode, EpochPoint, Trigger
from sharkpy.catalog.model import ComputedColumn, StorageFormat, StreamSource, Table, Watermark
from sharkpy.plan.commands.command import Command, Listing, Properties
from sharkpy.plan.commands.tables import CreateTable
from sharkpy.plan.commands.writes import Insert, MultiInsert
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class CreateStream(Command):
    """CREATE STREAM; `place` is that of its source: the path of a folder; `table`: it has the rows that are appended to
    that one.
    """

    database: str
    name: str
    schema: Schema
    source: StreamSource
    if_not_exists: bool
    place: str | None = None
    storage: StorageFormat | None = None
    properties: Properties = ()
    comment: str | None = None
    table: Table | None = None
    watermark: Watermark | None = None
    computed: tuple[ComputedColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class DropStream(Command):
    """DROP STREAM; `stream` None: it does not exist, and IF EXISTS allows that."""

    stream: Table | None


@dataclass(frozen=True, slots=True)
class OnBadRow:
    """ON BAD ROW SKIP TO `table`, by its database and name, which may not be there yet; None: ON BAD ROW NULL."""

    table: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class StartFrom:
    """START FROM EARLIEST, where both are as by default; LATEST, or TIMESTAMP with a moment in ms since 1970. `words`:
    what stands behind FROM.
    """

    words: str = ""
    moment_ms: int | None = None
    history: History | None = None

    @property
    def is_earliest(self) -> bool:
        return not self.words


@dataclass(frozen=True, slots=True)
class History:
    """START FROM TABLE `table` THEN STREAM `stream`, FROM which of its items; None: those behind the table's rows, or
    the first ones where it does not tell.
    """

    table: Table
    stream: Table
    then: StartFrom | None = None


@dataclass(frozen=True, slots=True)
class LateRows:
    """Table to which rows go that come too late; `schema` has the columns of such rows."""

    database: str
    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class KeptState:
    """State that a continuous query keeps: rows with the columns of `schema`, to which an epoch adds those of `added`;
    `delta` are those of its first part.
    `labels`: what is kept, in words. `growth`: what lets it grow with the streams; None where something bounds it.
    `emit`: what readers, or others, get of it, where that was said. `expires`: rows go when no others may match them.
    """

    schema: Schema
    added: LogicalPlan
    delta: LogicalPlan
    labels: tuple[str, ...]
    growth: str | None
    emit: EmitMode | None = None
    late_rows: LateRows | None = None
    expires: bool = False


@dataclass(frozen=True, slots=True)
class CreateContinuousTable(Command):
    """CREATE CONTINUOUS TABLE: `table` has the columns of `query`, whose text is `text`, and no rows yet."""

    table: CreateTable
    query: LogicalPlan
    text: str
    trigger: Trigger
    on_bad_row: OnBadRow = OnBadRow()
    start: StartFrom = StartFrom()
    state: KeptState | None = None
    """None for a query that needs no state."""
    is_unbounded: bool = False


@dataclass(frozen=True, slots=True)
class CreateContinuousInsert(Command):
    """CREATE CONTINUOUS INSERT: `inserts`, whose text is `text`, go on epoch by epoch under a name."""

    database: str
    name: str
    if_not_exists: bool
    inserts: Insert | MultiInsert
    text: str
    trigger: Trigger
    on_bad_row: OnBadRow = OnBadRow()
    start: StartFrom = StartFrom()
    state: KeptState | None = None
    """State that the INSERTs have together; None where none of them needs any."""
    is_unbounded: bool = False


@dataclass(frozen=True, slots=True)
class CreateContinuousSink(Command):
    """CREATE CONTINUOUS SINK: the rows of `query`, with its `columns` and the text `text`, go to `sink`."""

    database: str
    name: str
    if_not_exists: bool
    sink: StreamSource
    storage: StorageFormat | None
    comment: str | None
    columns: Schema
    query: LogicalPlan
    text: str
    trigger: Trigger
    on_bad_row: OnBadRow = OnBadRow()
    start: StartFrom = StartFrom()
    state: KeptState | None = None
    is_unbounded: bool = False


class ContinuousAction(Enum):
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    DROP = "DROP"
    REFRESH = "REFRESH"


@dataclass(frozen=True, slots=True)
class ControlContinuous(Command):
    """PAUSE, RESUME, REFRESH or DROP CONTINUOUS TABLE, INSERT or SINK; `table` None: it does not exist, and IF EXISTS
    allows that.
    """

    action: ContinuousAction
    table: Table | None


@dataclass(frozen=True, slots=True)
class RollbackContinuous(Command):
    """ROLLBACK CONTINUOUS TABLE … TO EPOCH or TO TIMESTAMP."""

    table: Table
    to: EpochPoint


@dataclass(frozen=True, slots=True)
class AlterContinuous(Command):
    """ALTER CONTINUOUS TABLE, INSERT or SINK: another `query`, whose text is `text`, another trigger, or
    another place for bad rows.

    None: as it was.
    """

    table: Table
    query: LogicalPlan | Insert | MultiInsert | None = None
    text: str | None = None
    trigger: Trigger | None = None
    on_bad_row: OnBadRow | None = None


@dataclass(frozen=True, slots=True)
class ShowStreams(Listing):
    database: str
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ShowContinuousTables(Listing):
    """Continuous queries of a database; `as_views`: the tables alone, as Hive lists materialized views."""

    database: str
    pattern: str | None = None
    as_views: bool = False


@dataclass(frozen=True, slots=True)
class ShowEpochs(Listing):
    """Epochs of a continuous table, newest first."""

    table: Table
    limit: int | None = None
