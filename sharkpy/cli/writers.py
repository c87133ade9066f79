"""Output formats: each writes a result's batches to a text stream and returns the number of rows."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from sharkpy.cli.values import dumps, format_column, to_json
from sharkpy.types import DataType, Schema, is_numeric

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Iterable["pa.RecordBatch"]
Writer = Callable[[TextIO, Schema, Batches], int]

MEASURED_ROWS = 5_000
"""A table's column widths come from this many first rows; wider cells that follow stick out."""
MAX_WIDTH = 200
_TSV_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})
_CELL_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


def text_rows(schema: Schema, batches: Batches) -> Iterator[tuple[str, ...]]:
    for batch in batches:
        columns = [format_column(column, field.dtype) for column, field in zip(batch.columns, schema, strict=True)]
        yield from zip(*columns, strict=True)


def write_csv(stream: TextIO, schema: Schema, batches: Batches) -> int:
    return _write_separated(csv.writer(stream, lineterminator="\n").writerows, schema, batches)


def write_tsv(stream: TextIO, schema: Schema, batches: Batches) -> int:
    def write_rows(rows: Iterable[tuple[str, ...]]) -> None:
        stream.writelines("\t".join(text.translate(_TSV_ESCAPES) for text in row) + "\n" for row in rows)

    return _write_separated(write_rows, schema, batches)


def _write_separated(
    write_rows: Callable[[Iterable[tuple[str, ...]]], object], schema: Schema, batches: Batches
) -> int:
    write_rows([schema.names])
    count = 0
    for batch in batches:
        write_rows(text_rows(schema, [batch]))
        count += batch.num_rows
    return count


def write_json(stream: TextIO, schema: Schema, batches: Batches) -> int:
    """One JSON array; each row is an object on a line of its own."""
    stream.write("[")
    count = 0
    for batch in batches:
        columns = [
            [to_json(value, field.dtype) for value in column.to_pylist(maps_as_pydicts="lossy")]
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        for row in zip(*columns, strict=True):
            stream.write(",\n " if count else "\n ")
            stream.write(dumps(dict(zip(schema.names, row, strict=True))))
            count += 1
    stream.write("\n]\n" if count else "]\n")
    return count


def write_markdown(stream: TextIO, schema: Schema, batches: Batches) -> int:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").translate(_CELL_ESCAPES) for cell in cells) + " |\n"

    stream.write(line(schema.names))
    stream.write("|" + "|".join("---:" if is_numeric(field.dtype) else "---" for field in schema) + "|\n")
    count = 0
    for row in text_rows(schema, batches):
        stream.write(line(row))
        count += 1
    return count


def write_vertical(stream: TextIO, schema: Schema, batches: Batches) -> int:
    width = max((text_width(name) for name in schema.names), default=0)
    count = 0
    for row in text_rows(schema, batches):
        count += 1
        stream.write(f"-- row {count}\n")
        cells = zip(schema.names, row, strict=True)
        stream.writelines(f"{_pad(name, width, right=False)} | {text}\n" for name, text in cells)
    return count


def write_table(stream: TextIO, schema: Schema, batches: Batches) -> int:
    """A box with the names and types of the columns on top."""
    rows = text_rows(schema, batches)
    first = [_clean(row) for row in itertools.islice(rows, MEASURED_ROWS)]
    titles = [schema.names, tuple(_short_type(field.dtype) for field in schema)]
    widths = [
        min(MAX_WIDTH, max(text_width(cells[index]) for cells in itertools.chain(titles, first)))
        for index in range(len(schema))
    ]
    numeric = [is_numeric(field.dtype) for field in schema]

    def line(cells: Iterable[str]) -> str:
        padded = (_pad(cell, width, right=right) for cell, width, right in zip(cells, widths, numeric, strict=True))
        return "│ " + " │ ".join(padded) + " │\n"

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join("─" * (width + 2) for width in widths) + right + "\n"

    stream.write(rule("┌", "┬", "┐"))
    stream.writelines(line(cells) for cells in titles)
    stream.write(rule("├", "┼", "┤"))
    stream.writelines(map(line, first))
    count = len(first)
    for row in rows:
        stream.write(line(_clean(row)))
        count += 1
    stream.write(rule("└", "┴", "┘"))
    return count


def write_lines(stream: TextIO, schema: Schema, batches: Batches) -> int:
    """The first column alone, as it is."""
    count = 0
    for row in text_rows(schema, batches):
        stream.write(row[0] + "\n")
        count += 1
    return count


def _clean(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text if text.isprintable() else text.translate(_CELL_ESCAPES) for text in row)


def _short_type(dtype: DataType) -> str:
    text = str(dtype)
    return text if len(text) <= 24 else text.split("<", maxsplit=1)[0] + "<…>"


def text_width(text: str) -> int:
    """Cells that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    width = wcswidth(text)
    return width if width >= 0 else len(text)


def _pad(text: str, width: int, *, right: bool) -> str:
    fill = " " * (width - text_width(text))
    return fill + text if right else text + fill


WRITERS: dict[str, Writer] = {
    "table": write_table,
    "csv": write_csv,
    "tsv": write_tsv,
    "json": write_json,
    "markdown": write_markdown,
    "vertical": write_vertical,
}
