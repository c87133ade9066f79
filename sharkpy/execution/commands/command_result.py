"""Result of a command."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from datetime import datetime

import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.base.settings import TIME_ZONE, Conf
from sharkpy.base.time_zone import time_zone, zone_name
from sharkpy.values.few_values import few_values
from sharkpy.values.types import STRING, Field, Schema, arrow_schema


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Rows of SHOW, DESCRIBE and the like, in a `table` or a `stream`. Both are None for a command without rows.

    A stream's rows are made while they are read. A reader that stops early closes it.
    """

    schema: Schema
    table: pa.Table | None
    stream: Generator[pa.RecordBatch] | None = None


NOTHING = CommandResult(Schema(()), None)


def done() -> CommandResult:
    return NOTHING


def text_rows(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> CommandResult:
    """Make a result of string columns."""
    schema = Schema(tuple(Field(name, STRING) for name in names))
    return CommandResult(schema, table_of(schema, rows))


def table_of(schema: Schema, rows: Iterable[Sequence[str | float | bool | None]]) -> pa.Table:
    """Table of `schema` with few rows of texts, numbers and booleans."""
    target = arrow_schema(schema)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [few_values(values, field.type) for values, field in zip(columns, target, strict=True)]
    return pa.table(arrays, schema=target)


def time_text(time: datetime, conf: Conf) -> str:
    """Return a time as the text of a TIMESTAMP in the session's time zone."""
    return time.astimezone(time_zone(zone_name(conf.value(TIME_ZONE)))).strftime("%Y-%m-%d %H:%M:%S.%f")
