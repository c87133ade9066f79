"""Output formats: each writes a result's batches to a text stream and returns the number of rows."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TextIO, cast

from sharkpy.base.records import dataclass
from sharkpy.values.types import DataType, Schema, arrow_schema, distinct_names, is_numeric
from sharkpy.values.value_text import NULL_TEXT, dumps, format_column, optional_texts, readable_texts, to_json
from sharkpy.values.visible_text import visible, visible_lines

if TYPE_CHECKING:
    import io

    import pyarrow as pa

Batches = Iterable["pa.RecordBatch"]
TextsOf = Callable[["pa.Array[Any]", DataType, str], list[str]]
"""Function from a column, its type and the text of NULL to the texts of its values."""
BinaryWriter = Callable[[BinaryIO, Schema, Batches], int]


@dataclass(frozen=True, slots=True)
class Look:
    """Layout of text output, as chosen by the user."""

    null_text: str | None = None
    """Text of NULL; None for the default of the format."""
    width: int = 0
    """Width of the terminal that a table has to fit into, in cells; 0 for no limit."""

    def null(self, of_format: str = NULL_TEXT) -> str:
        return of_format if self.null_text is None else self.null_text


PLAIN = Look()


class Writer(Protocol):
    def __call__(self, stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int: ...


MEASURED_ROWS = 5_000
"""Number of first rows that set a table's column widths; later, wider cells stick out."""
MAX_WIDTH = 200
LEAST_WIDTH = 12
"""Width to which a table's columns are cut before some are left out."""
_CSV_NULL, _TSV_NULL = "", "\\N"
_CSV_SPECIAL = re.compile(r'[,"\r\n]')
_TSV_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})
_CELL_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


def text_rows(
    schema: Schema, batches: Batches, null_text: str = NULL_TEXT, texts_of: TextsOf = format_column
) -> Iterator[tuple[str, ...]]:
    for batch in batches:
        cells = zip(batch.columns, schema, strict=True)
        columns = [texts_of(column, field.dtype, null_text) for column, field in cells]
        yield from zip(*columns, strict=True)


def write_csv(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:
    """Write NULL without quotes, and quote a value that looks like NULL: an empty string, unless NULL has a text."""
    null = look.null(_CSV_NULL)
    stream.write(",".join(_csv_text(name, null) for name in schema.names) + "\n")
    count = 0
    for batch in batches:
        columns = [
            [null if text is None else _csv_text(text, null) for text in optional_texts(column, field.dtype)]
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        stream.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))
        count += batch.num_rows
    return count


def _csv_text(text: str, null: str) -> str:
    if text != null and _CSV_SPECIAL.search(text) is None:
        return text
    return '"' + text.replace('"', '""') + '"'


def write_tsv(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:
    """Write NULL as \\N, which no text is, as backslashes in texts are doubled."""
    null = look.null(_TSV_NULL)
    stream.write("\t".join(name.translate(_TSV_ESCAPES) for name in schema.names) + "\n")
    count = 0
    for batch in batches:
        columns = [
            [null if text is None else text.translate(_TSV_ESCAPES) for text in optional_texts(column, field.dtype)]
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        stream.writelines("\t".join(row) + "\n" for row in zip(*columns, strict=True))
        count += batch.num_rows
    return count


def write_json(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:  # noqa: ARG001
    """Write one JSON array; each row is an object on a line of its own."""
    stream.write("[")
    count = 0
    for text in _json_rows(schema, batches):
        stream.write(",\n " if count else "\n ")
        stream.write(text)
        count += 1
    stream.write("\n]\n" if count else "]\n")
    return count


def write_jsonl(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:  # noqa: ARG001
    """Write each row as a JSON object on a line of its own, without an enclosing array."""
    count = 0
    for text in _json_rows(schema, batches):
        stream.write(text + "\n")
        count += 1
    return count


def _json_rows(schema: Schema, batches: Batches) -> Iterator[str]:
    from sharkpy.values.python_values import python_values

    names = distinct_names(schema.names)
    for batch in batches:
        columns = [
            [to_json(value, field.dtype) for value in python_values(column)]
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        for row in zip(*columns, strict=True):
            yield dumps(dict(zip(names, row, strict=True)))


def write_markdown(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").translate(_CELL_ESCAPES) for cell in cells) + " |\n"

    stream.write(line(schema.names))
    stream.write("|" + "|".join("---:" if is_numeric(field.dtype) else "---" for field in schema) + "|\n")
    count = 0
    for row in text_rows(schema, batches, look.null()):
        stream.write(line(row))
        count += 1
    return count


def write_html(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:
    """Write an HTML table element."""

    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>\n"

    stream.write("<table>\n<thead>" + line(schema.names, "th").rstrip() + "</thead>\n<tbody>\n")
    count = 0
    for row in text_rows(schema, batches, look.null()):
        stream.write(line(row, "td"))
        count += 1
    stream.write("</tbody>\n</table>\n")
    return count


def write_vertical(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:
    names = _clean(schema.names)
    width = max(map(text_width, names), default=0)
    count = 0
    for row in text_rows(schema, batches, look.null(), readable_texts):
        count += 1
        stream.write(f"-- row {count}\n")
        cells = zip(names, row, strict=True)
        stream.writelines(f"{_pad(name, width, False)} | {visible_lines(text)}\n" for name, text in cells)
    return count


def write_table(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:
    """Write a box with the names and types of the columns on top."""
    rows = text_rows(schema, batches, look.null(), readable_texts)
    first = [_clean(row) for row in itertools.islice(rows, MEASURED_ROWS)]
    titles = [_clean(schema.names), _clean([_short_type(field.dtype) for field in schema])]
    natural = [
        min(MAX_WIDTH, max(text_width(cells[index]) for cells in itertools.chain(titles, first)))
        for index in range(len(schema))
    ]
    widths, shown = _fitted(natural, look.width)
    numeric = [is_numeric(field.dtype) for field in schema]

    def line(cells: tuple[str, ...]) -> str:
        padded = (
            _ELLIPSIS if index is None else _pad(_cut(cells[index], widths[index], look), widths[index], numeric[index])
            for index in shown
        )
        return "│ " + " │ ".join(padded) + " │\n"

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (3 if index is None else widths[index] + 2) for index in shown) + right + "\n"

    stream.write(rule("┌", "┬", "┐"))
    stream.writelines(line(cells) for cells in titles)
    stream.write(rule("├", "┼", "┤"))
    stream.writelines(map(line, first))
    count = len(first)
    for row in rows:
        stream.write(line(_clean(row)))
        count += 1
    stream.write(rule("└", "┴", "┘"))
    if None in shown:
        stream.write(f"{len(schema)} columns, {len(shown) - 1} shown; .mode vertical shows all\n")
    return count


_ELLIPSIS = "…"


def _fitted(natural: list[int], room: int) -> tuple[list[int], list[int | None]]:
    """Return widths within `room` cells, and the columns to show: cut wide ones, then leave out some in the middle."""
    widths, shown = list(natural), list[int | None](range(len(natural)))
    if not room:
        return widths, shown
    _cut_widest(widths, shown, room, LEAST_WIDTH)
    while _box_width(widths, shown) > room and len(shown) > 3:
        middle = len(shown) // 2
        shown = [*shown[:middle], None, *shown[middle + 1 :]] if None not in shown else _without_one(shown)
    _cut_widest(widths, shown, room, 1)
    return widths, shown


def _cut_widest(widths: list[int], shown: list[int | None], room: int, least: int) -> None:
    """Narrow the widest columns, again and again, until all fit or none is wider than `least`."""
    places = [index for index in shown if index is not None]
    while (excess := _box_width(widths, shown) - room) > 0:
        widest = max(places, key=widths.__getitem__)
        if widths[widest] <= least:
            return
        next_widest = max((widths[index] for index in places if widths[index] < widths[widest]), default=least)
        widths[widest] -= max(1, min(excess, widths[widest] - max(least, next_widest)))


def _without_one(shown: list[int | None]) -> list[int | None]:
    """Leave out one more column, on the longer side of the gap."""
    gap = shown.index(None)
    leave_out = gap - 1 if gap > len(shown) - gap - 1 else gap + 1
    return [index for place, index in enumerate(shown) if place != leave_out]


def _box_width(widths: list[int], shown: list[int | None]) -> int:
    return sum((1 if index is None else widths[index]) + 3 for index in shown) + 1


def _cut(text: str, width: int, look: Look) -> str:
    if not look.width or text_width(text) <= width:
        return text
    while text and text_width(text) >= width:
        text = text[: max(0, min(len(text) - 1, width - 1))]
    return text + _ELLIPSIS


def write_lines(stream: TextIO, schema: Schema, batches: Batches, look: Look = PLAIN) -> int:  # noqa: ARG001
    """Write only the first column, without quotes."""
    count = 0
    for row in text_rows(schema, batches):
        stream.write(row[0] + "\n")
        count += 1
    return count


def write_parquet(stream: BinaryIO, schema: Schema, batches: Batches) -> int:
    import pyarrow.parquet as pq

    count = 0
    names = distinct_names(schema.names)
    with pq.ParquetWriter(stream, _named(arrow_schema(schema), names), compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch.rename_columns(names))
            count += batch.num_rows
    return count


def _named(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])


def write_arrow(stream: BinaryIO, schema: Schema, batches: Batches) -> int:
    """Write an Arrow IPC file, which is Feather's format too."""
    import pyarrow as pa

    count = 0
    with pa.ipc.new_file(pa.PythonFile(cast("io.IOBase", stream), "w"), arrow_schema(schema)) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _clean(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(visible, row))


def _short_type(dtype: DataType) -> str:
    text = str(dtype)
    return text if len(text) <= 24 else text.split("<", maxsplit=1)[0] + "<…>"


def text_width(text: str) -> int:
    """Return the number of terminal cells that `text` takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    width = wcswidth(text)
    return width if width >= 0 else len(text)


def _pad(text: str, width: int, is_right: bool) -> str:
    fill = " " * (width - text_width(text))
    return fill + text if is_right else text + fill


WRITERS: dict[str, Writer] = {
    "table": write_table,
    "csv": write_csv,
    "tsv": write_tsv,
    "json": write_json,
    "jsonl": write_jsonl,
    "markdown": write_markdown,
    "vertical": write_vertical,
    "html": write_html,
}
BINARY_WRITERS: dict[str, BinaryWriter] = {"parquet": write_parquet, "arrow": write_arrow}
FOR_READING = ("table", "markdown", "vertical")
"""Formats for reading on a terminal: there, they have a row limit and a pager."""
OF_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".html": "html",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""Format of a file, by its suffix."""
