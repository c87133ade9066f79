"""Databases, tables and storage formats as the catalog stores them: immutable data."""

from __future__ import annotations

import re
from dataclasses import field, replace
from enum import Enum

from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.values.types import DataType, Field, Schema

PURGE_PROPERTY = "external.table.purge"
CACHE_PROPERTY = "shark.cache"
EMIT_PROPERTIES = {EmitMode.APPEND: "shark.stream.appends", EmitMode.RECOMPUTE: "shark.stream.recomputes"}
"""Properties of continuous tables with state, and of their state tables, by output mode."""
GIVES_PROPERTY = "shark.stream.gives"
"""Property of a continuous insert or sink with state, and of its state table: its output mode, APPEND or UPDATE."""
EXPIRES_PROPERTY = "shark.stream.expires"
"""Property of a continuous table, and of its state table, whose stream joins keep rows only while matches are
possible.
"""
VIEW_DATABASE = "view.catalogAndNamespace.part.1"
"""Property with the database in which a view's text is resolved, by Spark's name."""
CLAUSE_PROPERTIES = frozenset((GIVES_PROPERTY, EXPIRES_PROPERTY, VIEW_DATABASE, *EMIT_PROPERTIES.values()))
"""Properties that store clauses of continuous queries. Statements that list or change properties skip them."""
CHANGES = "changes"
"""Option of a stream FROM TABLE: true for the inserted and deleted rows of each commit."""
STATE_PREFIX = "$state_"
"""Prefix of the names of state tables."""


class TableKind(Enum):
    MANAGED = "MANAGED_TABLE"
    EXTERNAL = "EXTERNAL_TABLE"
    VIEW = "VIRTUAL_VIEW"
    TEMPORARY = "TEMPORARY_TABLE"
    """A table that ends with its session. Its data may exist only as blocks (MEMORY_ONLY)."""
    TEMPORARY_VIEW = "TEMPORARY_VIEW"
    STREAM = "STREAM"
    """Ordered, growing input. A query reads the current rows, a continuous query also the later ones."""
    CONTINUOUS_INSERT = "CONTINUOUS_INSERT"
    """The name of a continuous query that writes ordinary tables. It has no columns and no rows."""
    CONTINUOUS_SINK = "CONTINUOUS_SINK"
    """A continuous query that writes outside the warehouse. It has columns but no rows."""


_STREAMING_KINDS = {
    TableKind.STREAM: "stream",
    TableKind.CONTINUOUS_INSERT: "continuous insert",
    TableKind.CONTINUOUS_SINK: "continuous sink",
}


class CacheMode(Enum):
    NONE = "NONE"
    MEMORY = "MEMORY"
    """Write-through: the warehouse also stores the blocks, which are mapped again after a restart."""
    MEMORY_ONLY = "MEMORY_ONLY"
    """Blocks end with the session."""


@dataclass(frozen=True, slots=True)
class StorageFormat:
    """Format of a table's files.

    `name` is one of `sharkpy.catalog.hive_formats.FORMATS`. Properties are named as by Hive's SerDes: field.delim,
    serialization.null.format, separatorChar and so on. serialization.lib is the class of the SerDe if a format has
    several.
    """

    name: str
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Database:
    """A database. `owner` is a user or, by `owner_kind`, a ROLE or GROUP. It is not used for access checks."""

    name: str
    location: str
    comment: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    owner: str = ""
    owner_kind: str = "USER"


@dataclass(frozen=True, slots=True)
class BucketSpec:
    """CLUSTERED BY (columns) SORTED BY (sort_columns) INTO num_buckets BUCKETS: the bucket of each row of a table.

    The bucket is the hash of `columns` modulo `num_buckets`, the same as in exchanges. Each write is sorted by
    `sort_columns` (name, ascending) within a bucket. `num_buckets` 0 means that the number is still to be chosen from
    the data.
    """

    columns: tuple[str, ...]
    num_buckets: int
    sort_columns: tuple[tuple[str, bool], ...] = ()

    def __str__(self) -> str:
        return f"[{', '.join(self.columns)}] into {self.num_buckets}"


@dataclass(frozen=True, slots=True)
class SkewSpec:
    """SKEWED BY (columns) ON (values): stored and shown. Plans do not use it, since skew is detected at run time."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    in_directories: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint of a table, stored and shown.

    1. `kind` is PRIMARY KEY, FOREIGN KEY, UNIQUE, NOT NULL, DEFAULT or CHECK.
    2. `text` is the value of a DEFAULT, or the condition of a CHECK, as written.
    3. If enabled, INSERT enforces NOT NULL and CHECK, and fills in DEFAULT.
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
    """The source of a stream's rows, or the destination of a sink's rows.

    `kind` is one of `sharkpy.catalog.stream_kinds.KINDS`, or of `sharkpy.catalog.stream_kinds.SINK_KINDS`.
    """

    kind: str
    options: tuple[tuple[str, str], ...] = ()
    place: str = ""
    """The place in the statement, if it is not the folder of the stream's files."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """WATERMARK FOR `column`: no row is expected whose time is more than `delay` before the latest time of its input.

    An input without rows for the time `idle` does not hold the watermark back. If `idle` is None, it does. Both are in
    microseconds.
    """

    column: str
    delay: int
    idle: int | None = None


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """A column of a stream that is not in its files: an expression over the other columns, as written. With
    `is_of_path`, it is the value of a `name=value` folder in the file's path.
    """

    name: str
    dtype: DataType
    text: str
    comment: str | None = None
    is_of_path: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view. Equal by its `table_id`, which is unique in the warehouse and never reused."""

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
    """The last columns of `schema`. Their values are in the names of Hive partitions, not in files."""
    buckets: BucketSpec | None = field(compare=False, default=None)
    owner: str = field(compare=False, default="")
    skew: SkewSpec | None = field(compare=False, default=None)
    constraints: tuple[Constraint, ...] = field(compare=False, default=())
    written_text: str | None = field(compare=False, default=None)
    """The query of a view as written. In `view_text` each `*` is replaced by columns. None if both are equal."""
    stream: StreamSource | None = field(compare=False, default=None)
    """The source of a stream."""
    watermark: Watermark | None = field(compare=False, default=None)
    """The watermark of a stream with a time column."""
    computed: tuple[ComputedColumn, ...] = field(compare=False, default=())
    """Further columns of a stream, after the columns of `schema`."""
    sink: StreamSource | None = field(compare=False, default=None)
    """The destination of a continuous sink, or None for a folder, which is its `location`."""
    as_of: VersionPoint | None = field(compare=False, default=None)
    """The version at which a query reads the table. Tables in the catalog have none."""
    state_of: str = field(compare=False, default="")
    """For a state table, which holds the state of a continuous query between epochs: the id of the table, insert or
    sink that has the query's name and no rows of its own.
    """
    continuous: str = field(compare=False, default="")
    """Id of the continuous query that writes this table exclusively, or that this table names. The catalog stores which
    generations in its folder are committed.
    """

    @property
    def is_partitioned(self) -> bool:
        return bool(self.partition_columns)

    @property
    def data_schema(self) -> Schema:
        """The columns in the files."""
        return Schema(self.schema.fields[: len(self.schema) - len(self.partition_columns)])

    @property
    def shown_schema(self) -> Schema:
        """The columns that queries see."""
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
    def follows_changes(self) -> bool:
        """True for a stream of a table WITH CHANGES."""
        return self.stream is not None and (CHANGES, "true") in self.stream.options

    @property
    def is_continuous_insert(self) -> bool:
        return self.kind is TableKind.CONTINUOUS_INSERT

    @property
    def is_continuous_sink(self) -> bool:
        return self.kind is TableKind.CONTINUOUS_SINK

    @property
    def has_no_rows(self) -> bool:
        """True for the name of a continuous query that writes elsewhere."""
        return self.is_continuous_insert or self.is_continuous_sink

    @property
    def streaming_kind(self) -> str:
        """The kind of an object that only statements about streams create and drop. Empty for tables and views."""
        if self.is_state:
            return "state"
        return _STREAMING_KINDS.get(self.kind, "continuous table" if self.continuous else "")

    @property
    def is_state(self) -> bool:
        return bool(self.state_of)

    @property
    def has_state(self) -> bool:
        """True for a continuous table whose rows are computed from its state when it is read, and for a continuous
        insert or sink whose epochs compute their output from a state.
        """
        return bool(self.continuous) and (self.is_view or (self.has_no_rows and self.gives))

    @property
    def gives(self) -> bool:
        """True for a continuous insert or sink with state, and for its state table. Epochs output new or changed rows,
        which the state may forget afterwards.
        """
        return GIVES_PROPERTY in dict(self.properties)

    @property
    def emit(self) -> EmitMode | None:
        """Output mode (EMIT …) of a continuous query, or of a state table's query. None if the definition does not set
        one.
        """
        properties = dict(self.properties)
        if (given := properties.get(GIVES_PROPERTY)) is not None:
            return EmitMode(given)
        return next((mode for mode, key in EMIT_PROPERTIES.items() if key in properties), None)

    @property
    def expires(self) -> bool:
        """True for a continuous query, or its state table, that keeps rows only while matches are possible."""
        return EXPIRES_PROPERTY in dict(self.properties)

    @property
    def state_name(self) -> str:
        """The name of this table's state table, which is in the same database."""
        return f"{STATE_PREFIX}{self.continuous}"

    @property
    def is_stored(self) -> bool:
        """True if the table has its own rows, in files or in memory."""
        return not (self.is_view or self.is_stream or self.has_no_rows)

    @property
    def view_database(self) -> str:
        """The database in which a view's text is resolved. Spark may store another one than the view's own."""
        return dict(self.properties).get(VIEW_DATABASE, self.database)

    @property
    def owns_data(self) -> bool:
        """True if DROP and TRUNCATE delete the table's files. External tables can request that with a property."""
        is_purged = dict(self.properties).get(PURGE_PROPERTY, "").lower() == "true"
        return self.kind is TableKind.MANAGED or (self.kind is TableKind.EXTERNAL and is_purged)

    @property
    def cache_mode(self) -> CacheMode:
        text = dict(self.properties).get(CACHE_PROPERTY, "NONE").upper()
        aliases = {"TRUE": "MEMORY", "FALSE": "NONE"}
        return CacheMode(aliases.get(text, text))

    @property
    def base_id(self) -> str:
        """The id in the catalog, also of a table at an earlier version."""
        return self.table_id.partition("@")[0]

    def from_files(self, mark: str) -> Table:
        """Return the table under another id, which ends in `mark`. Its rows are read from files, not from memory."""
        properties = tuple(pair for pair in self.properties if pair[0] != CACHE_PROPERTY)
        return replace(self, table_id=f"{self.table_id}{mark}", properties=properties)

    @property
    def cache_policy(self) -> CachePolicy:
        """The policy of the table's Hive partitions. A table without them is cached completely."""
        if not self.is_partitioned:
            return CachePolicy()
        properties = dict(self.properties)
        return CachePolicy.parse(properties.get(POLICY_KEY, "All"), properties.get(POLICY_SIZE_KEY))


POLICY_KEY = "shark.cache.policy"
POLICY_SIZE_KEY = "shark.cache.policy.maxSize"
_POLICY = re.compile(
    r"(?:shark\.memstore2\.)?(All|CacheAll|LRU|FIFO)(?:CachePolicy|Policy)?(?:\((\d+)\))?", re.IGNORECASE
)
DEFAULT_POLICY_LIMIT = 10
"""Shark's shark.cache.policy.maxSize, for policies without their own limit."""


class PolicyKind(Enum):
    ALL = "All"
    LRU = "LRU"
    FIFO = "FIFO"


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """Bound on the Hive partitions in memory: at most `limit`, or all of them with ALL."""

    kind: PolicyKind = PolicyKind.ALL
    limit: int = 0

    def __str__(self) -> str:
        return self.kind.value if self.kind is PolicyKind.ALL else f"{self.kind.value}({self.limit})"

    @classmethod
    def parse(cls, text: str, limit: str | None) -> CachePolicy:
        """Parse 'All', 'LRU(n)', 'FIFO(n)', or one of Shark's class names with `limit`. Raise ValueError for other
        text.
        """
        match = _POLICY.fullmatch(text.strip())
        if match is None:
            raise ValueError(text)
        kind = PolicyKind({"all": "All", "cacheall": "All"}.get(match[1].lower(), match[1].upper()))
        if kind is PolicyKind.ALL:
            return cls()
        size = int(match[2] or limit or DEFAULT_POLICY_LIMIT)
        if size < 1:
            raise ValueError(text)
        return cls(kind, size)
