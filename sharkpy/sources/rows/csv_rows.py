"""OpenCSVSerde: fields between separators, quoted if necessary; all columns are strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, ExecutionError, did_you_mean
from sharkpy.sources.arrow import Array
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.rows.text_columns import TextColumnsReader
from sharkpy.sources.text_format import header_and_footer
from sharkpy.sources.text_write import hive_text
from sharkpy.values.types import Schema, is_nested

_READ_ESCAPE = "\\"
_CHARACTERS = ("separatorChar", "quoteChar", "escapeChar")


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """Layout of rows. If `escape` is None, as by default in OpenCSV, it is a backslash for reading and a second quote
    for writing.
    """

    separator: str = ","
    quote: str = '"'
    escape: str | None = None

    def part(self, row: str) -> list[str | None]:
        """Split a row by OpenCSV's rules: an escape only counts inside quotes; quoted text is literal."""
        escape = self.escape or _READ_ESCAPE
        if self.quote not in row and escape not in row:
            return list(row.split(self.separator))
        fields: list[str | None] = []
        field: list[str] = []
        is_quoted, place = False, 0
        while place < len(row):
            char, following = row[place], row[place + 1 : place + 2]
            if char == escape:
                if is_quoted and following and following in (self.quote, escape):
                    field.append(following)
                    place += 1
            elif char == self.quote:
                if is_quoted and following == self.quote:
                    field.append(following)
                    place += 1
                else:
                    self._toggle(row, place, field)
                    is_quoted = not is_quoted
            elif char == self.separator and not is_quoted:
                fields.append("".join(field))
                field = []
            else:
                field.append(char)
            place += 1
        return [*fields, "".join(field)]

    def _toggle(self, row: str, place: int, field: list[str]) -> None:
        """Handle a quote. In the middle of a field it belongs to the field; after only blanks it removes them."""
        is_inside = place > 2 and row[place - 1] != self.separator
        if not is_inside or place + 1 >= len(row) or row[place + 1] == self.separator:
            return
        if field and not "".join(field).strip():
            field.clear()
        else:
            field.append(self.quote)

    def join(self, fields: Sequence[str | None]) -> bytes:
        return self.separator.join("" if field is None else self._quoted(field) for field in fields).encode()

    def _quoted(self, field: str) -> str:
        if "\n" in field or "\r" in field or (self.escape is None and _READ_ESCAPE in field):
            found = "a backslash" if _READ_ESCAPE in field else "a line break"
            raise ExecutionError(
                f"a value holds {found}, which a CSV table would not give back",
                hint="give the table another escapeChar" if _READ_ESCAPE in field else "store it in another format",
                sqlstate="22000",
            )
        escape = self.escape or self.quote
        if self.escape is not None:
            field = field.replace(escape, escape * 2)
        return f"{self.quote}{field.replace(self.quote, escape + self.quote)}{self.quote}"


class CsvRows:
    def check(self, schema: Schema, properties: Properties) -> None:  # noqa: ARG002 - any column is a string
        csv_layout(properties)
        header_and_footer(properties)

    def lines(self, properties: Properties) -> LineLayout:
        return LineLayout(b"\n", *header_and_footer(properties))

    def reader(
        self, schema: Schema, names: Sequence[str], properties: Properties, metrics: ReadMetrics
    ) -> TextColumnsReader:
        return TextColumnsReader(csv_layout(properties).part, schema, names, metrics)

    def encode(self, batch: pa.RecordBatch, schema: Schema, properties: Properties) -> Array:
        layout = csv_layout(properties)
        columns = [
            hive_text(column, field.dtype).cast(pa.string()).to_pylist()
            for column, field in zip(batch.columns, schema, strict=True)
            if not is_nested(field.dtype)
        ]
        return pa.array([layout.join(row) for row in zip(*columns, strict=True)], pa.binary())


def csv_layout(properties: Properties) -> CsvLayout:
    """Layout from properties; ConfigurationError if a property is not one character, or two of them are equal."""
    values = dict(properties)
    _check_names(values)
    given = {key: values[key] for key in _CHARACTERS if values.get(key)}
    for key, text in given.items():
        if len(text) != 1:
            raise ConfigurationError(f'"{text}" is not a value of {key}: one character expected', sqlstate="22023")
    escape = given.get("escapeChar")
    layout = CsvLayout(given.get("separatorChar", ","), given.get("quoteChar", '"'), None if escape == '"' else escape)
    used = (layout.separator, layout.quote, layout.escape or _READ_ESCAPE)
    if len(set(used)) < len(used):
        hint = "separatorChar, quoteChar and escapeChar have to differ"
        raise ConfigurationError(f"two of the characters {' '.join(used)} of a CSV table are equal", hint=hint)
    return layout


def _check_names(properties: dict[str, str]) -> None:
    """Raise ConfigurationError for a property that is probably misspelled: it would have no effect."""
    for name in properties:
        if name not in _CHARACTERS and (hint := did_you_mean(name, _CHARACTERS)) is not None:
            raise ConfigurationError(f'OpenCSVSerde has no property "{name}"', hint=hint, sqlstate="22023")
