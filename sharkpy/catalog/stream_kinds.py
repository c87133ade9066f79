"""Kinds of streams: the words after FROM in CREATE STREAM, and the options of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.catalog import kafka_options as kafka
from sharkpy.catalog.model import StorageFormat
from sharkpy.catalog.stream_options import StreamOption, check_options, count
from sharkpy.values.types import BIGINT, TIMESTAMP, Field, Schema

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table

SETTLE_MS = "settle.ms"
MAX_FILES = "max.files.per.epoch"
MAX_BYTES = "max.bytes"
FRAMES = "frames"
MAX_ROWS = "max.rows.per.epoch"
ROWS_PER_SECOND = "rowsPerSecond"
START_MS = "start.ms"
HISTORY = "history"
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
