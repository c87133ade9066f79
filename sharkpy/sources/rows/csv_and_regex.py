"""OpenCSVSerde and RegexSerDe: rows of text that are split one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from sharkpy.base.errors import BindError, ConfigurationError, ExecutionError, UnsupportedError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.lenient_conversion import lenient
from sharkpy.sources.line_chunks import LineLayout
from sharkpy.sources.rows.row_format import Properties
from sharkpy.sources.source import BATCH_ROWS, ReadMetrics
from sharkpy.sources.text_format import header_and_footer
from sharkpy.sources.text_write import hive_text
from sharkpy.udf.java_regex.python_engine import Matcher, matcher
from sharkpy.values.types import BINARY, Schema, arrow_schema, is_nested, is_string

Part = Callable[[str], Sequence[str | None] | None]
"""Returns the fields of a row; None if it does not fit the format. Missing fields are NULL."""


class TextColumnsReader:
    """A RowReader for a function that splits rows."""

    def __init__(self, part: Part, schema: Schema, names: Sequence[str], metrics: ReadMetrics) -> None:
        self._part = part
        self._schema = schema.select(names)
        self._places = [schema.names.index(name) for name in names]
        self._num_fields = len(schema)
        self._metrics = metrics

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        yield from self._read(data.decode("utf-8", "replace").removesuffix("\n").split("\n"))

    def read_rows(self, rows: Array) -> Iterator[pa.RecordBatch]:
        yield from self._read([row.decode("utf-8", "replace") for row in rows.to_pylist()])

    def _read(self, rows: list[str]) -> Iterator[pa.RecordBatch]:
        if not self._places:
            self._metrics.rows += len(rows)
            yield row_count_batch(len(rows))
            return
        for start in range(0, len(rows), BATCH_ROWS):
            part = rows[start : start + BATCH_ROWS]
            batch = self._batch([self._fields(number, row) for number, row in enumerate(part)])
            self._metrics.rows += len(part)
            yield batch

    def _fields(self, number: int, row: str) -> Sequence[str | None]:
        fields = self._part(row)
        if fields is None or len(fields) < self._num_fields:
            self._metrics.malformed_lines += 1
            self._metrics.mark([number], is_whole=True)
        return fields or ()

    def _batch(self, rows: list[Sequence[str | None]]) -> pa.RecordBatch:
        columns = []
        for place, field in zip(self._places, self._schema, strict=True):
            text: Array = pa.array([row[place] if place < len(row) else None for row in rows], pa.string())
            column = lenient(text, field.dtype)
            if not is_string(field.dtype):
                self._metrics.malformed_fields += column.null_count - text.null_count
                if column.null_count > text.null_count:
                    is_lost = pc.and_(pc.is_null(column), pc.is_valid(text))
                    self._metrics.mark(pc.indices_nonzero(is_lost).to_numpy())
            columns.append(column)
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self._schema))


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
