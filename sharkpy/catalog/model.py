"""Databases, tables and storage formats, as the catalog knows them: plain immutable data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from sharkpy.catalog.cache_policy import POLICY_KEY, POLICY_SIZE_KEY, CachePolicy
from sharkpy.catalog.continuous_query import EmitMode, EpochPoint
from sharkpy.values.types import DataType, Field, Schema

PURGE_PROPERTY = "external.table.purge"
CACHE_PROPERTY = "shark.cache"
EMIT_PROPERTIES = {EmitMode.APPEND: "shark.stream.appends", EmitMode.RECOMPUTE: "shark.stream.recomputes"}
"""Properties of continuous tables with state, and of their states, by what they say is emitted."""
GIVES_PROPERTY = "shark.stream.gives"
"""Property of a continuous insert or sink with state, and of its state: APPEND or UPDATE, the rows that it gives."""
EXPIRES_PROPERTY = "shark.stream.expires"
"""Property of a continuous table, and of its state, whose joins of streams keep rows as long as others may match."""
VIEW_DATABASE = "view.catalogAndNamespace.part.1"
"""Property with the database in which the names of a view's text are looked up, as Spark notes it."""
CLAUSE_PROPERTIES = frozenset((GIVES_PROPERTY, EXPIRES_PROPERTY, VIEW_DATABASE, *EMIT_PROPERTIES.values()))
"""Properties of continuous queries that tell what their clauses say; statements about properties leave them alone."""
STATE_PREFIX = "$state_"
"""Beginning of the names of tables with the state of others."""


class TableKind(Enum):
    MANAGED = "MANAGED_TABLE"
    EXTERNAL = "EXTERNAL_TABLE"
    VIEW = "VIRTUAL_VIEW"
    TEMPORARY = "TEMPORARY_TABLE"
    """Table of one session, gone with it. Its data may be blocks alone (MEMORY_ONLY)."""
    TEMPORARY_VIEW = "TEMPORARY_VIEW"
    STREAM = "STREAM"
    """Ordered input that grows: a query reads what is there now, a continuous query what comes."""
    CONTINUOUS_INSERT = "CONTINUOUS_INSERT"
    """Name of a continuous query that writes ordinary tables; it has no columns and no rows."""
    CONTINUOUS_SINK = "CONTINUOUS_SINK"
    """Continuous query that gives its rows to others, outside of the warehouse; it has columns and no rows."""


_STREAMING_KINDS = {
    TableKind.STREAM: "stream",
    TableKind.CONTINUOUS_INSERT: "continuous insert",
    TableKind.CONTINUOUS_SINK: "continuous sink",
}


class CacheMode(Enum):
    NONE = "NONE"
    MEMORY = "MEMORY"
    """Write-through: blocks are kept in the warehouse too and mapped back after a restart."""
    MEMORY_ONLY = "MEMORY_ONLY"
    """Blocks end with the session."""


@dataclass(frozen=True, slots=True)
class StorageFormat:
    """Format of a table's files.

    `name` is one of `sharkpy.catalog.hive_formats.FORMATS`. Properties are those of Hive's SerDes (field.delim,
    serialization.null.format, separatorChar, …); serialization.lib is the SerDe's class where a format has several.
    """

    name: str
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Database:
    """`owner` is a user or, by `owner_kind`, a ROLE or GROUP; nothing is checked against it."""

    name: str
    location: str
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    owner: str = ""
    owner_kind: str = "USER"


@dataclass(frozen=True, slots=True)
class BucketSpec:
    """CLUSTERED BY (columns) SORTED BY (sort_columns) INTO num_buckets BUCKETS: where each row of a table belongs.

    A row's bucket is the hash of `columns` among `num_buckets`, the one that exchanges use. Each write is sorted by
    `sort_columns` (name, ascending) within a bucket. `num_buckets` 0 means still to be chosen from the data.
    """

    columns: tuple[str, ...]
    num_buckets: int
    sort_columns: tuple[tuple[str, bool], ...] = ()

    def __str__(self) -> str:
        return f"[{', '.join(self.columns)}] into {self.num_buckets}"


@dataclass(frozen=True, slots=True)
class SkewSpec:
    """SKEWED BY (columns) ON (values): kept and shown. No plan uses it: skew is found while queries run."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    in_directories: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint of a table, kept and shown.

    1. `kind` is PRIMARY KEY, FOREIGN KEY, UNIQUE, NOT NULL, DEFAULT or CHECK.
    2. `text` is a DEFAULT's value, or a CHECK's condition, as written.
    3. NOT NULL and CHECK are enforced by INSERT, DEFAULT is filled in by it, if enabled.
    """

    kind: str
    name: str
    columns: tuple[str, ...]
    text: str = ""
    parent: str = ""
    """`database.table` that a FOREIGN KEY refers to."""
    parent_columns: tuple[str, ...] = ()
    is_enabled: bool = False
    is_relied_on: bool = False


@dataclass(frozen=True, slots=True)
class StreamSource:
    """Where the rows of a stream come from, or those of a sink go to. `kind` is one of
    `sharkpy.catalog.stream_kinds.KINDS`, or of `sharkpy.catalog.sink_kinds.SINK_KINDS`.
    """

    kind: str
    options: tuple[tuple[str, str], ...] = ()
    place: str = ""
    """Place that the statement has named, where it is not the folder of the stream's files."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """WATERMARK FOR `column`: no row is expected with a time that is more than the delay before the latest one of its
    input. An input without rows for the idle time holds nothing back; None: it does. Both are in microseconds.
    """

    column: str
    delay: int
    idle: int | None = None


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """Column of a stream that no file holds: the value of an expression over its other columns, as written, or with
    `is_of_path` that of a `name=value` folder in the path of its file.
    """

    name: str
    dtype: DataType
    text: str
    comment: str | None = None
    is_of_path: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Table or view. Equal by its `table_id`, which is unique in the warehouse and never reused."""

    table_id: str
    database: str = field(compare=False)
    name: str = field(compare=False)
    kind: TableKind = field(compare=False)
    schema: Schema = field(compare=False)
    storage: StorageFormat = field(compare=False, default=StorageFormat("parquet"))
    location: str | None = field(compare=False, default=None)
    properties: tuple[tuple[str, str], ...] = field(compare=False, default=())
    comment: str | None = field(compare=False, default=None)
    view_text: str | None = field(compare=False, default=None)
    created_at: float = field(compare=False, default=0.0)
    partition_columns: tuple[str, ...] = field(compare=False, default=())
    """Last columns of `schema`, whose values are in the names of Hive partitions and not in files."""
    buckets: BucketSpec | None = field(compare=False, default=None)
    owner: str = field(compare=False, default="")
    skew: SkewSpec | None = field(compare=False, default=None)
    constraints: tuple[Constraint, ...] = field(compare=False, default=())
    is_plain: bool = field(compare=False, default=False)
    """True if files lie directly in the folder of the table or Hive partition, where Hive reads and writes too."""
    written_text: str | None = field(compare=False, default=None)
    """Query of a view as it was written; `view_text` has the columns that each `*` stood for. None: they are equal."""
    stream: StreamSource | None = field(compare=False, default=None)
    """Source of a stream."""
    watermark: Watermark | None = field(compare=False, default=None)
    """Of a stream with a column of times."""
    computed: tuple[ComputedColumn, ...] = field(compare=False, default=())
    """Columns of a stream behind those of `schema`."""
    sink: StreamSource | None = field(compare=False, default=None)
    """Outside end of a continuous sink; None for one into a folder, which is its `location`."""
    as_of: EpochPoint | None = field(compare=False, default=None)
    """Epoch at which a query reads a continuous table; the catalog holds no such table."""
    state_of: str = field(compare=False, default="")
    """Of the rows that a continuous query keeps from epoch to epoch, as its state: the id of its table, insert or sink,
    which has the name, and no rows.
    """
    continuous: str = field(compare=False, default="")
    """Id of the continuous query that makes the table's rows, and nobody else does; or of that which has the name. The
    catalog knows which of the generations in its folder count.
    """

    @property
    def is_partitioned(self) -> bool:
        return bool(self.partition_columns)

    @property
    def data_schema(self) -> Schema:
        """Columns that the files hold."""
        return Schema(self.schema.fields[: len(self.schema) - len(self.partition_columns)])

    @property
    def shown_schema(self) -> Schema:
        """Columns that queries see."""
        return Schema((*self.schema, *self.computed_fields)) if self.computed else self.schema

    @property
    def computed_fields(self) -> tuple[Field, ...]:
        return tuple(Field(one.name, one.dtype, one.comment) for one in self.computed)

    @property
    def partition_schema(self) -> Schema:
        return self.schema.select(self.partition_columns)

    @property
    def qualified_name(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def is_view(self) -> bool:
        return self.kind in (TableKind.VIEW, TableKind.TEMPORARY_VIEW)

    @property
    def is_stream(self) -> bool:
        return self.kind is TableKind.STREAM

    @property
    def is_continuous_insert(self) -> bool:
        return self.kind is TableKind.CONTINUOUS_INSERT

    @property
    def is_continuous_sink(self) -> bool:
        return self.kind is TableKind.CONTINUOUS_SINK

    @property
    def has_no_rows(self) -> bool:
        """True for a continuous query that writes elsewhere, and merely has its name here."""
        return self.is_continuous_insert or self.is_continuous_sink

    @property
    def streaming_kind(self) -> str:
        """Kind of what statements about streams define and drop, and no others do; empty for tables and views."""
        if self.is_state:
            return "state"
        return _STREAMING_KINDS.get(self.kind, "continuous table" if self.continuous else "")

    @property
    def is_state(self) -> bool:
        return bool(self.state_of)

    @property
    def has_state(self) -> bool:
        """True for a continuous table whose rows are computed from its state when they are read, and for a continuous
        insert or sink whose epochs compute from it what they give.
        """
        return bool(self.continuous) and (self.is_view or (self.has_no_rows and self.gives))

    @property
    def gives(self) -> bool:
        """True for a continuous insert or sink with state, and for the table of its state: epochs give others what has
        come or changed, and it may be forgotten then.
        """
        return GIVES_PROPERTY in dict(self.properties)

    @property
    def emit(self) -> EmitMode | None:
        """Rows that a continuous query has or gives, or that of the table of a state; None where the definition has not
        said it, or need not.
        """
        properties = dict(self.properties)
        if (given := properties.get(GIVES_PROPERTY)) is not None:
            return EmitMode(given)
        return next((mode for mode, key in EMIT_PROPERTIES.items() if key in properties), None)

    @property
    def expires(self) -> bool:
        """True for a continuous query, or the table of a state, that keeps rows as long as others may match them."""
        return EXPIRES_PROPERTY in dict(self.properties)

    @property
    def state_name(self) -> str:
        """Name in the same database of the table with the state of this one."""
        return f"{STATE_PREFIX}{self.continuous}"

    @property
    def is_stored(self) -> bool:
        """True if it has rows of its own, in files or in memory."""
        return not (self.is_view or self.is_stream or self.has_no_rows)

    @property
    def view_database(self) -> str:
        """Database in which names of a view's text are looked up: Spark may note another one than the view's own."""
        return dict(self.properties).get(VIEW_DATABASE, self.database)

    @property
    def owns_data(self) -> bool:
        """True if DROP and TRUNCATE delete the table's files; external tables may ask for that, too."""
        is_purged = dict(self.properties).get(PURGE_PROPERTY, "").lower() == "true"
        return self.kind is TableKind.MANAGED or (self.kind is TableKind.EXTERNAL and is_purged)

    @property
    def cache_mode(self) -> CacheMode:
        text = dict(self.properties).get(CACHE_PROPERTY, "NONE").upper()
        aliases = {"TRUE": "MEMORY", "FALSE": "NONE"}
        return CacheMode(aliases.get(text, text))

    def from_files(self, mark: str) -> Table:
        """The table under another id, which ends in `mark`: its rows are read from files, and not from memory."""
        properties = tuple(pair for pair in self.properties if pair[0] != CACHE_PROPERTY)
        return replace(self, table_id=f"{self.table_id}{mark}", properties=properties)

    @property
    def cache_policy(self) -> CachePolicy:
        """Policy of the table's Hive partitions; a table without them is held whole."""
        if not self.is_partitioned:
            return CachePolicy()
        properties = dict(self.properties)
        return CachePolicy.parse(properties.get(POLICY_KEY, "All"), properties.get(POLICY_SIZE_KEY))
