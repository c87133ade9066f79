"""Commands that create, control and list streams and continuous queries."""

from __future__ import annotations

from enum import Enum

from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode, Trigger
from sharkpy.catalog.model import ComputedColumn, StorageFormat, StreamSource, Table, Watermark
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.plan.commands.command import Command, Listing, Properties
from sharkpy.plan.commands.tables import CreateTable
from sharkpy.plan.commands.writes import Insert, MultiInsert
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class CreateStream(Command):
    """CREATE STREAM. `place` is the path of its source's folder. With `table`, it has the rows that are appended to
    that table.
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
    """DROP STREAM. `stream` None: it does not exist, and IF EXISTS allows that."""

    stream: Table | None


@dataclass(frozen=True, slots=True)
class OnBadRow:
    """ON BAD ROW SKIP TO `table`, by database and name, which may not exist yet. None: ON BAD ROW NULL."""

    table: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class StartFrom:
    """START FROM. The defaults mean EARLIEST. `words` are the words after FROM: LATEST, or TIMESTAMP with its time in
    ms since 1970 in `moment_ms`.
    """

    words: str = ""
    moment_ms: int | None = None
    history: History | None = None

    @property
    def is_earliest(self) -> bool:
        return not self.words


@dataclass(frozen=True, slots=True)
class History:
    """START FROM TABLE `table` THEN STREAM `stream`, with the first item of the stream in `then`.

    None: the items after the table's rows, or the first items if the table does not record its position.
    """

    table: Table
    stream: Table
    then: StartFrom | None = None


@dataclass(frozen=True, slots=True)
class LateRows:
    """Table for rows that come too late. `schema` has the columns of such rows."""

    database: str
    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class KeptState:
    """State that a continuous query keeps. It has the columns of `schema`, and an epoch adds the rows of `added`.

    - `delta` are the rows of its first part.
    - `labels` describe the state in words.
    - `growth` names the reason if the state grows with the streams, else it is None.
    - `emit` is the output mode, if it was given.
    - `expires`: rows are dropped when no match is possible any more.
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
    """CREATE CONTINUOUS TABLE. `table` has the columns of `query`, whose source is `text`, and no rows yet."""

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
    """CREATE CONTINUOUS INSERT. `inserts`, whose source is `text`, run in epochs under a name."""

    database: str
    name: str
    if_not_exists: bool
    inserts: Insert | MultiInsert
    text: str
    trigger: Trigger
    on_bad_row: OnBadRow = OnBadRow()
    start: StartFrom = StartFrom()
    state: KeptState | None = None
    """Common state of the INSERTs, or None if none of them needs any."""
    is_unbounded: bool = False


@dataclass(frozen=True, slots=True)
class CreateContinuousSink(Command):
    """CREATE CONTINUOUS SINK. The rows of `query`, with its `columns` and the source `text`, are written to `sink`."""

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
    """PAUSE, RESUME, REFRESH or DROP CONTINUOUS TABLE, INSERT or SINK. `table` None: it does not exist, and IF EXISTS
    allows that.
    """

    action: ContinuousAction
    table: Table | None


@dataclass(frozen=True, slots=True)
class RollbackContinuous(Command):
    """ROLLBACK CONTINUOUS TABLE … TO EPOCH or TO TIMESTAMP."""

    table: Table
    to: VersionPoint


@dataclass(frozen=True, slots=True)
class AlterContinuous(Command):
    """ALTER CONTINUOUS TABLE, INSERT or SINK: another `query`, whose source is `text`, another trigger, or another
    table for bad rows.

    None: unchanged.
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
    """Continuous queries of a database. `as_views`: only the tables, as Hive lists materialized views."""

    database: str
    pattern: str | None = None
    as_views: bool = False


@dataclass(frozen=True, slots=True)
class ShowEpochs(Listing):
    """Epochs of a continuous table, newest first."""

    table: Table
    limit: int | None = None
