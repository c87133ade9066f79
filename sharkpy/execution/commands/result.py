"""What a command gives back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sharkpy.types import STRING, Field, Schema, arrow_schema


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The rows of SHOW, DESCRIBE and the like; `table` None for a command that yields none."""

    schema: Schema
    table: pa.Table | None


NOTHING = CommandResult(Schema(()), None)


def text_rows(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> CommandResult:
    """A result of string columns."""
    schema = Schema(tuple(Field(name, STRING) for name in names))
    records = list(rows)
    columns = [_strings([record[index] for record in records]) for index in range(len(names))]
    return CommandResult(schema, pa.table(columns, schema=arrow_schema(schema)))


def _strings(values: list[str | None]) -> pa.Array[pa.StringScalar]:
    """A string column; `pa.array` of a list would import pandas, a quarter of a second."""
    builder = pa.lib.StringBuilder()
    builder.append_values(values)
    return builder.finish()
