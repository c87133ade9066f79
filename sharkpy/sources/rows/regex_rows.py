"""RegexSerDe: the columns are the groups of a regular expression that matches a row."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from sharkpy.base.errors import BindError, ConfigurationError, ExecutionError, UnsupportedError
from sharkpy.sources.arrow import Array
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.rows.text_columns import TextColumnsReader
from sharkpy.sources.text_format import header_and_footer
from sharkpy.sources.text_write import hive_text
from sharkpy.udf.java_regex.matching import Matcher, matcher
from sharkpy.values.types import BINARY, Schema, is_nested

INPUT_REGEX = "input.regex"
OUTPUT_FORMAT = "output.format.string"
_PLACE = re.compile(r"%(\d{1,9})\$s", re.ASCII)


class RegexRows:
    def check(self, schema: Schema, properties: Properties) -> None:
        found = _pattern(properties)
        header_and_footer(properties)
        for field in schema:
            if is_nested(field.dtype) or field.dtype == BINARY:
                raise UnsupportedError(f'column "{field.name}" of type {field.dtype} in a table of the RegexSerDe')
        if found.pattern.groups < len(schema):
            raise ConfigurationError(
                f"{INPUT_REGEX} has {found.pattern.groups} groups, the table has {len(schema)} columns",
                sqlstate="22023",
            )

    def lines(self, properties: Properties) -> LineLayout:
        return LineLayout(b"\n", *header_and_footer(properties))

    def reader(
        self, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> TextColumnsReader:
        pattern = _pattern(properties)

        def part(row: str) -> Sequence[str | None] | None:
            match = pattern.fullmatch(row)
            return None if match is None else match.groups()

        return TextColumnsReader(part, schema, names, metrics)

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:
        """Rows by output.format.string, in which %1$s means the first column."""
        template = dict(properties).get(OUTPUT_FORMAT)
        if template is None:
            hint = f"SERDEPROPERTIES ('{OUTPUT_FORMAT}' = '%1$s …') tells how rows are written"
            raise ExecutionError("rows cannot be written by a regular expression", hint=hint, sqlstate="0A000")
        columns = [
            hive_text(column, field.dtype).cast(pa.string()).to_pylist()
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        rows = [
            _PLACE.sub(lambda match, row=row: _field(row, int(match[1])), template).encode()  # type: ignore[misc]
            for row in zip(*columns, strict=True)
        ]
        return pa.array(rows, pa.binary())


def _field(row: Sequence[str | None], number: int) -> str:
    value = row[number - 1] if 0 < number <= len(row) else ""
    return "null" if value is None else value


def _pattern(properties: Properties) -> Matcher:
    values = dict(properties)
    text = values.get(INPUT_REGEX)
    if text is None:
        raise ConfigurationError(f'a table of the RegexSerDe needs the property "{INPUT_REGEX}"', sqlstate="22023")
    ignores_case = values.get("input.regex.case.insensitive", "false").lower() == "true"
    try:
        return matcher(text, ignore_case=ignores_case)
    except BindError as error:
        raise ConfigurationError(f"{INPUT_REGEX}: {error.message}", sqlstate="22023") from None
