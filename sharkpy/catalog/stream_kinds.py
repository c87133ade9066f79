"""Kinds of streams and sinks: the words after FROM in CREATE STREAM, and after TO in CREATE CONTINUOUS SINK, with
the options and TBLPROPERTIES of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError, ConfigurationError, UnsupportedError, did_you_mean
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.records import dataclass
from sharkpy.catalog import kafka_options as kafka
from sharkpy.catalog.avro_schema import LITERAL, URL
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.kafka_options import CLIENT_PREFIX, FAIL_ON_LOSS
from sharkpy.catalog.model import CHANGES, StorageFormat
from sharkpy.catalog.system_tables import KEY
from sharkpy.values.types import BIGINT, TIMESTAMP, Field, Schema

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table

_MOST = 1 << 50


def count(least: int, most: int = _MOST) -> Callable[[str], bool]:
    """Return a check for a number within bounds."""

    def check(text: str) -> bool:
        number = whole_number(text)
        return number is not None and least <= number <= most

    return check


@dataclass(frozen=True, slots=True)
class StreamOption:
    """An option of a kind of streams. `check` returns False for an unsupported value."""

    name: str
    default: str
    check: Callable[[str], bool]
    doc: str
    is_needed: bool = False


def check_options(what: str, known: Sequence[StreamOption], given: Iterable[tuple[str, str]]) -> None:
    """Raise BindError for an unknown option of `what`, an unsupported value, or a missing option."""
    given, options = tuple(given), {one.name: one for one in known}
    for one in known:
        if one.is_needed and one.name not in dict(given):
            raise BindError(f"{what} needs the option {one.name}: {one.doc}", sqlstate="22023")
    for name, value in given:
        if name not in options:
            hint = did_you_mean(name, options) or f"there are {', '.join(options) or 'none'}"
            raise BindError(f'{what} has no option "{name}"', hint=hint, sqlstate="22023")
        if not options[name].check(value):
            raise BindError(f'"{value}" is not a value of the option {name}', sqlstate="22023")


SETTLE_MS = "settle.ms"
MAX_FILES = "max.files.per.epoch"
MAX_BYTES = "max.bytes"
FRAMES = "frames"
MAX_ROWS = "max.rows.per.epoch"
ROWS_PER_SECOND = "rowsPerSecond"
START_MS = "start.ms"
HISTORY = "history"
STARTING_VERSION = "startingVersion"
ANY_COLUMNS = Schema(())
SPANS = Schema((Field("$after", TIMESTAMP), Field("$until", TIMESTAMP)))
"""Columns of the files of a stream FROM a TABLE of windows that a watermark closes: how far the watermark has moved."""
SPANS_STORAGE = StorageFormat("parquet", (("shark.stream.spans", "true"),))
"""Format of such a stream."""


@dataclass(frozen=True, slots=True)
class StreamKind:
    """A kind of streams.

    1. `place`: the meaning of its quoted text, or of its name; empty if it takes none.
    2. `columns`: the columns of a stream that declares none, and the only types it supports. If empty, columns must be
       declared and may have any type.
    3. `takes_format`: its rows have a format that the statement may name. `is_spooled`: they are stored in a folder of
       the engine until they are read.
    """

    name: str
    place: str
    options: tuple[StreamOption, ...] = ()
    columns: Schema = ANY_COLUMNS
    takes_format: bool = True
    is_spooled: bool = False
    is_listed: bool = True
    """An ordinary query reads all files in its folder, if it has one. Otherwise it asks the stream's reader."""

    def check(self, options: Iterable[tuple[str, str]]) -> None:
        """Raise BindError for an unknown option, an unsupported value, or a missing option."""
        check_options(f"FROM {self.name}", self.options, options)

    def value(self, options: Iterable[tuple[str, str]], name: str) -> int:
        """Return the value of a numeric option, as given or by default."""
        default = next(one.default for one in self.options if one.name == name)
        return int(dict(options).get(name, default))


FOLDER = StreamKind(
    "FOLDER",
    "the path of a folder",
    (
        StreamOption(SETTLE_MS, "0", count(0), "milliseconds without a write after which a file is whole"),
        StreamOption(MAX_FILES, "10000", count(1), "files of an epoch"),
    ),
)
PROGRAM = StreamKind(
    "PROGRAM",
    "",
    (
        StreamOption(MAX_BYTES, str(1 << 30), count(1), "bytes that may wait to be read"),
        StreamOption(MAX_FILES, "10000", count(1), "pushes of an epoch"),
    ),
    takes_format=False,
    is_spooled=True,
)
RATE = StreamKind(
    "RATE",
    "",
    (
        StreamOption(ROWS_PER_SECOND, "1", count(1, 10**9), "rows that come in a second"),
        StreamOption(START_MS, "0", count(0), "time of the first row, in milliseconds since 1970; now by default"),
        StreamOption(MAX_ROWS, "1000000", count(1), "rows of an epoch"),
    ),
    Schema((Field("timestamp", TIMESTAMP), Field("value", BIGINT))),
    takes_format=False,
)
SOCKET = StreamKind(
    "SOCKET",
    "the address of a host and a port",
    (
        StreamOption(FRAMES, "lines", ("lines", "arrow").__contains__, "what comes: lines, or Arrow data with lengths"),
        StreamOption(MAX_BYTES, str(1 << 30), count(1), "bytes that may wait to be read"),
        StreamOption(MAX_FILES, "10000", count(1), "files of an epoch"),
    ),
    is_spooled=True,
)
KAFKA = StreamKind(
    "KAFKA",
    "",
    (
        StreamOption(kafka.SERVERS, "", kafka.is_address_list, "the brokers' hosts and ports", is_needed=True),
        StreamOption(kafka.TOPIC, "", bool, "the name of the topic", is_needed=True),
        StreamOption(kafka.START, kafka.EARLIEST, kafka.is_start, "earliest, latest, or offsets by partition in JSON"),
        StreamOption(kafka.START_TIME, "", count(0), "time in milliseconds since 1970 from which on records are read"),
        StreamOption(kafka.FAIL_ON_LOSS, "true", kafka.one_of("true", "false"), "false: lost records are left out"),
        StreamOption(kafka.HAS_SCHEMA_ID, "false", kafka.one_of("true", "false"), "true: values behind a schema's id"),
        StreamOption(MAX_ROWS, "1000000", count(1), "records of an epoch"),
        StreamOption(kafka.ZONE, "", kafka.is_zone, "zone of the times of records; the session's by default"),
        StreamOption(
            kafka.TIMES,
            kafka.TIMESTAMPS,
            kafka.one_of(kafka.TIMESTAMPS, kafka.MILLISECONDS),
            "milliseconds: __timestamp is a BIGINT, since 1970",
        ),
        *(StreamOption(kafka.CLIENT_PREFIX + one.name, "", lambda _: True, one.doc) for one in kafka.CLIENT_OPTIONS),
    ),
)
TABLE = StreamKind(
    "TABLE",
    "the name of a table",
    (
        StreamOption(HISTORY, "false", ("true", "false").__contains__, "true: the rows that the table has come first"),
        StreamOption(CHANGES, "false", ("true", "false").__contains__, "true: deleted rows come, too"),
        StreamOption(STARTING_VERSION, "", count(1), "first commit whose changes come"),
        StreamOption(MAX_FILES, "10000", count(1), "files of an epoch"),
    ),
    takes_format=False,
    is_spooled=True,
    is_listed=False,
)
KINDS = {kind.name: kind for kind in (FOLDER, KAFKA, PROGRAM, RATE, SOCKET, TABLE)}


def has_spans(stream: Table) -> bool:
    """Return True for a stream FROM a TABLE of windows that a watermark closes."""
    return stream.storage == SPANS_STORAGE


def is_listed(stream: Table) -> bool:
    """Return True if an ordinary query reads a stream from all files in its folder."""
    return stream.location is not None and stream.stream is not None and KINDS[stream.stream.kind].is_listed


Properties = tuple[tuple[str, str], ...]
_PREFIX = "stream."
"""Prefix of the engine's own properties."""


def options_among(properties: Properties, kind: StreamKind) -> tuple[Properties, Properties]:
    """Return the options of a kind of streams, under their own names, and the other properties. Raise BindError for a
    property that streams of the kind do not support.
    """
    names = {name.lower(): name for name in _names(kind)}
    options = []
    others = []
    for key, value in properties:
        is_clients = kind is KAFKA and key.lower().startswith(CLIENT_PREFIX)
        if key.lower() in names or is_clients:
            options.append((names.get(key.lower(), key), value))
        else:
            others.append((key, value))
    check_names(kind, (key for key, _ in others))
    return tuple(options), tuple(others)


def check_changed(kind: StreamKind, names: Iterable[str]) -> None:
    """Raise BindError for properties of a stream whose change would have no effect."""
    given = list(names)
    own = {name.lower() for name in _names(kind)}
    if found := next((name for name in given if name.lower() in own), None):
        message = f'"{found}" is an option of FROM {kind.name}: it cannot be changed'
        raise BindError(message, hint="drop the stream and create it again", sqlstate="42809")
    check_names(kind, given)


def check_names(kind: StreamKind, names: Iterable[str]) -> None:
    """Raise BindError for options of other kinds, unless they are plain words, and for unknown properties of the
    engine.
    """
    others = {name.lower(): one for one in KINDS.values() for name in _names(one) if not name.islower() or "." in name}
    for name in names:
        if (other := others.get(name.lower())) is not None:
            message = f'"{name}" is an option of FROM {other.name}, not of a stream FROM {kind.name}'
            raise BindError(message, sqlstate="22023")
        if name.lower().startswith(_PREFIX) and name.lower() != NEW_COLUMNS:
            hint = did_you_mean(name, [NEW_COLUMNS]) or f"there is {NEW_COLUMNS}"
            raise BindError(f'"{name}" is not a property of a stream', hint=hint, sqlstate="22023")


def _names(kind: StreamKind) -> Sequence[str]:
    """Return the names of options. The option for lost items may be a property of any stream."""
    return [one.name for one in kind.options if one.name != FAIL_ON_LOSS]


NEW_COLUMNS = "stream.new.columns"
IGNORE, ADD, STOP = POLICIES = ("ignore", "add", "stop")
"""New columns are ignored, are added to the stream, or stop the queries that would read the file."""
FORMATS = ("json", CSV, "parquet", "avro", "orc")
"""Formats whose files contain their columns."""
_NAMES = {CSV: "CSV with a header"}


def new_columns_of(stream: Table) -> str:
    """Return the handling of columns that a stream does not have."""
    return dict(stream.properties).get(NEW_COLUMNS, IGNORE).lower()


def check_new_columns(stream: Table) -> None:
    """Check the property. Raise ConfigurationError for an invalid value, UnsupportedError for a stream whose items do
    not name columns.
    """
    given = new_columns_of(stream)
    if stream.stream is None:
        return
    if given not in POLICIES:
        message = f'"{dict(stream.properties)[NEW_COLUMNS]}" is not a value of {NEW_COLUMNS}'
        raise ConfigurationError(message, hint=f"use one of {', '.join(POLICIES)}", sqlstate="22023")
    if given == IGNORE:
        return
    what, storage = f"{NEW_COLUMNS} '{given}'", stream.storage
    if stream.stream.kind != FOLDER.name:
        raise UnsupportedError(
            f"{what} of a stream FROM {stream.stream.kind} is not supported", hint="use a stream FROM FOLDER"
        )
    is_without_header = storage.name == CSV and dict(storage.properties).get("header", "").lower() != "true"
    if storage.name not in FORMATS or is_without_header:
        hint = f"formats: {', '.join(_NAMES.get(one, one) for one in FORMATS)}"
        raise UnsupportedError(
            f"{what} in the format {storage.name}, whose files do not name columns, is not supported", hint=hint
        )
    if given == ADD and {LITERAL, URL} & {key for key, _ in (*storage.properties, *stream.properties)}:
        raise UnsupportedError(
            f"{what} of a stream whose columns come from an Avro schema is not supported", hint=f"{LITERAL} names them"
        )


@dataclass(frozen=True, slots=True)
class SinkKind:
    """A kind of sinks.

    1. `place`: the meaning of its quoted text; empty if it takes none.
    2. `seconds`: time between two epochs of a sink without TRIGGER.
    3. `takes_format`: its rows are written in a format that the statement may name.
    4. `taker`: the owner of a function that takes the rows in a process; the sink runs in that process. Empty for other
       kinds.
    5. `why_kept`: why written epochs cannot be written again.
    6. `takes_changes`: EMIT UPDATE may send it changed groups. If it has a `key`, the query needs a column that
       identifies them.
    """

    name: str
    place: str = ""
    options: tuple[StreamOption, ...] = ()
    seconds: float = 0.0
    takes_format: bool = True
    taker: str = ""
    why_kept: str = ""
    takes_changes: bool = True
    key: str = ""

    def check(self, options: Iterable[tuple[str, str]]) -> None:
        """Raise BindError for an unknown option, an unsupported value, or a missing option."""
        check_options(f"TO {self.name}", self.options, options)


# A minute: the files of this sink are not compacted, so they must not be tiny.
TO_FOLDER = SinkKind(
    "FOLDER", "a path", seconds=60.0, why_kept="its files may have been read already", takes_changes=False
)
TO_KAFKA = SinkKind(
    "KAFKA",
    options=(
        StreamOption(kafka.SERVERS, "", kafka.is_address_list, "the brokers' hosts and ports", is_needed=True),
        StreamOption(kafka.TOPIC, "", bool, "the name of the topic", is_needed=True),
        StreamOption(kafka.ZONE, "", kafka.is_zone, "zone of the times of records; the session's by default"),
        *(StreamOption(kafka.CLIENT_PREFIX + one.name, "", lambda _: True, one.doc) for one in kafka.PRODUCER_OPTIONS),
    ),
    why_kept="its records may have been read already",
    key=KEY,
)
TO_PROGRAM = SinkKind(
    "PROGRAM", takes_format=False, taker="its program", why_kept="its program has received the rows already"
)
TO_CONSOLE = SinkKind("CONSOLE", takes_format=False, taker="a shell", why_kept="a shell has shown the rows already")
SINK_KINDS = {kind.name: kind for kind in (TO_CONSOLE, TO_FOLDER, TO_KAFKA, TO_PROGRAM)}


def sink_kind(sink: Table) -> SinkKind:
    """Return the kind of a continuous sink."""
    return TO_FOLDER if sink.sink is None else SINK_KINDS[sink.sink.kind]
