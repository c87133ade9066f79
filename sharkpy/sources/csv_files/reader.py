"""CSV rows: texts of fields to batches of the wanted columns, and the handling of malformed rows.

Arrow's reader takes the chunks for which it gives the same result as Spark's parser. It is much faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sharkpy.base.errors import SourceError
from sharkpy.sources.arrow import Array, ChunkedArray, pc, reader_of
from sharkpy.sources.column_conversion import batches_of, row_count_batch
from sharkpy.sources.csv_files.options import DROP_MALFORMED, FAIL_FAST, PERMISSIVE, CsvOptions
from sharkpy.sources.csv_files.records import BLANKS, Record, RecordReader
from sharkpy.sources.csv_files.values import values_of
from sharkpy.sources.source import BATCH_ROWS, ReadMetrics
from sharkpy.values.types import Schema, arrow_schema, is_string

_LEAST_BYTES = 1 << 16
"""Most bytes of lines that are parsed one by one after Arrow has refused them."""
_SHOWN_CHARACTERS = 200
_MALFORMED = "22P04"


class CsvRowReader:
    """Reader of whole lines (`read_lines`), or of records one by one (`read_records`)."""

    def __init__(
        self, options: CsvOptions, schema: Schema, names: Sequence[str], metrics: ReadMetrics, path: str
    ) -> None:
        self._options, self._metrics, self._path = options, metrics, path
        self._wanted = schema.select(names)
        fields = options.fields(schema)
        self._num_fields = len(fields)
        # Whether a row is malformed must not depend on the wanted columns.
        is_strict = options.mode != PERMISSIVE or any(map(options.is_corrupt_record, names))
        read = fields.names if is_strict else [name for name in names if not options.is_corrupt_record(name)]
        self._read = fields.select(read)
        self._places = [fields.names.index(name) for name in read]
        self._records = RecordReader(options)
        self._quick = ArrowCsvReader(options, self._num_fields, self._places) if self._num_fields else None

    def read_lines(self, data: bytes) -> Iterator[pa.RecordBatch]:
        """Read `data`: whole lines in UTF-8."""
        newline = self._options.newline
        if not newline and b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        is_plain = newline in ("", "\n") or not (b"\n" in data or b"\r" in data)
        if is_plain and newline not in ("", "\n"):
            data, newline = data.replace(newline.encode(), b"\n"), "\n"
        yield from self._read_part(data, newline or "\n", is_quick=is_plain)

    def _read_part(self, data: bytes, newline: str, *, is_quick: bool) -> Iterator[pa.RecordBatch]:
        """Read by Arrow. Parts that it cannot read are halved, down to a few lines that are parsed one by one."""
        if is_quick and (batches := self.quickly(data)) is not None:
            yield from batches
        elif is_quick and 0 < (cut := _middle(data)) < len(data):
            yield from self._read_part(data[:cut], newline, is_quick=True)
            yield from self._read_part(data[cut:], newline, is_quick=True)
        else:
            lines, records = data.decode("utf-8", "replace").removesuffix(newline).split(newline), self._records
            yield from self.read_records([records.line(line) for line in lines if not records.is_skipped_line(line)])

    def quickly(self, data: bytes) -> list[pa.RecordBatch] | None:
        """Batches of whole records, if Arrow can read them."""
        table = self._quick.read(data) if self._quick is not None else None
        if table is None:
            return None
        texts = [self._text(_whole(column)) for column in table.columns[: len(self._places)]]
        columns, is_good, lost = self._values(texts)
        if lost and self._needs_texts():
            return None
        self._count(table.num_rows, lost, is_good)
        return list(self._batches(columns, is_good, table.num_rows, None))

    def _count(self, num_rows: int, lost: int, is_good: Array | None) -> None:
        self._metrics.malformed_fields += lost
        if is_good is not None and self._metrics.marks is not None:
            self._metrics.mark(pc.indices_nonzero(pc.invert(is_good)).to_numpy())
        self._metrics.rows += num_rows

    def _needs_texts(self) -> bool:
        """True if the text of malformed rows is needed."""
        return self._options.mode == FAIL_FAST or any(map(self._options.is_corrupt_record, self._wanted.names))

    def read_records(self, records: Sequence[Record]) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(records), BATCH_ROWS):
            part = records[start : start + BATCH_ROWS]
            texts = [
                self._text(
                    pa.array([r.tokens[place] if place < len(r.tokens) else None for r in part], pa.string()),
                    has_empty=False,
                )
                for place in self._places
            ]
            is_whole = [len(record.tokens) == self._num_fields for record in part]
            self._metrics.malformed_lines += len(part) - sum(is_whole)
            self._metrics.torn_rows += sum(map(_is_torn, part, is_whole))
            self._metrics.mark([row for row, whole in enumerate(is_whole) if not whole], is_whole=True)
            columns, is_good, lost = self._values(texts)
            is_good = pa.array(is_whole) if is_good is None else pc.and_(is_good, pa.array(is_whole))
            self._count(len(part), lost, is_good)
            yield from self._batches(columns, is_good, len(part), part)

    def _text(self, text: Array, *, has_empty: bool = True) -> Array:
        """Texts of fields, with NULL for the NULL text. `has_empty`: "" is an empty field in quotes."""
        empty, null = self._options.empty or "", pa.scalar(None, pa.string())
        if has_empty and empty:
            text = pc.if_else(pc.equal(text, ""), pa.scalar(empty), text)
        return pc.if_else(pc.equal(text, self._options.null), null, text)

    def _values(self, texts: Sequence[Array]) -> tuple[list[Array], Array | None, int]:
        """Columns, the rows whose fields all have their types (None: all rows), and the number of other fields."""
        is_good: Array | None = None
        columns, num_lost = [], 0
        for text, field in zip(texts, self._read, strict=True):
            column = values_of(text, field.dtype, self._options)
            if lost := 0 if is_string(field.dtype) else column.null_count - text.null_count:
                num_lost += lost
                kept = pc.or_(pc.is_valid(column), pc.is_null(text))
                is_good = kept if is_good is None else pc.and_(is_good, kept)
            columns.append(column)
        return columns, is_good, num_lost

    def _batches(
        self, columns: Sequence[Array], is_good: Array | None, num_rows: int, records: Sequence[Record] | None
    ) -> Iterator[pa.RecordBatch]:
        is_bad = is_good is not None and not pc.all(is_good, min_count=0).as_py()
        if is_bad and self._options.mode == FAIL_FAST and records is not None:
            self._fail(records[pc.index(is_good, False).as_py()])
        by_name = dict(zip(self._read.names, columns, strict=True))
        for name in self._wanted.names:
            if self._options.is_corrupt_record(name):
                by_name[name] = self._corrupt_texts(is_good, num_rows, records)
        keeps = is_good if is_bad and self._options.mode == DROP_MALFORMED else None
        if not len(self._wanted):
            yield row_count_batch(num_rows if keeps is None else pc.sum(keeps).as_py() or 0)
            return
        table = pa.table([by_name[name] for name in self._wanted.names], schema=arrow_schema(self._wanted))
        yield from batches_of(table if keeps is None else table.filter(keeps))

    @staticmethod
    def _corrupt_texts(is_good: Array | None, num_rows: int, records: Sequence[Record] | None) -> Array:
        if records is None or is_good is None:
            return pa.nulls(num_rows, pa.string())
        pairs = zip(records, is_good.to_pylist(), strict=True)
        return pa.array([None if good else record.text for record, good in pairs], pa.string())

    def _fail(self, record: Record) -> None:
        text = record.text if len(record.text) <= _SHOWN_CHARACTERS else f"{record.text[:_SHOWN_CHARACTERS]}…"
        raise SourceError(
            f'malformed row in "{self._path}": {text}',
            hint="mode PERMISSIVE reads NULL for what is malformed, DROPMALFORMED leaves such rows out",
            sqlstate=_MALFORMED,
        )


def _is_torn(record: Record, is_whole: bool) -> bool:
    return record.is_open or (not is_whole and ("\n" in record.text or "\r" in record.text))


def _middle(data: bytes) -> int:
    """Offset after a line end near the middle; 0 if there are few bytes."""
    return data.find(b"\n", len(data) // 2) + 1 if len(data) > _LEAST_BYTES else 0


def _whole(column: ChunkedArray) -> Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])


_NEWLINE, _CARRIAGE_RETURN = 0x0A, 0x0D
_SPARE_ESCAPE, _SPARE_QUOTE = 0xFE, 0xFF
"""Bytes that UTF-8 never uses, for escaped characters inside quotes."""
_BLANK_LINE = re.compile(rb"^[\x00-\x20]+$", re.MULTILINE)


class ArrowCsvReader:
    """Reader of chunks by Arrow; `places` are the numbers of the wanted fields.

    It only reads chunks for which both parsers agree. Quotes open at the start of a field and close at its end, escapes
    are only inside them, no line is blank or a comment, and each line has all fields.
    """

    def __init__(self, options: CsvOptions, num_fields: int, places: list[int]) -> None:
        self._options = options
        self._num_fields = num_fields
        self._names = [f"f{place}" for place in places] or ["f0"]
        quote, escape = options.quote, options.escape
        has_newlines = not options.multi_line or options.line_end == "\n"
        self._is_possible = (
            has_newlines and len(options.separator) == 1 and (options.separator + quote + escape).isascii()
        )
        self._separator, self._quote = ord(options.separator[0]) & 0xFF, ord(quote or "\0") & 0xFF
        self._has_blank_rows = num_fields == 1 or options.separator in BLANKS
        comment = options.comment.encode()
        self._comment = re.compile(rb"^" + re.escape(comment), re.MULTILINE) if comment else None

    def read(self, chunk: bytes) -> pa.Table | None:
        """Texts of the fields, NULL if they are empty without quotes. None if the parsers could differ.

        `chunk`: whole lines that end with newlines.
        """
        if not self._is_possible or not self._is_regular(chunk):
            return None
        if not chunk.endswith(b"\n"):
            # If the data end with an empty field after a quoted one, Arrow takes it for a quoted one, too.
            chunk += b"\n"
        is_masked = self._has_escapes(chunk)
        if is_masked:
            chunk = self._masked(chunk)
        if self._options.quote and not self._has_regular_quotes(chunk):
            return None
        try:
            columns = self._parsed(chunk, pa.binary() if is_masked else pa.string())
            if is_masked:
                columns = [self._unmasked(column) for column in columns]
        except pa.ArrowException:
            return None
        if self._options.trim_left or self._options.trim_right:
            columns = [self._trimmed(column) for column in columns]
        return pa.table(columns, names=self._names)

    def _is_regular(self, chunk: bytes) -> bool:
        options = self._options
        if options.newline and b"\r" in chunk:
            return False
        if self._comment is not None and self._comment.search(chunk):
            return False
        if self._has_blank_rows and _BLANK_LINE.search(chunk):
            return False
        if not options.quote or self._quote not in chunk:
            return True
        has_spares = _SPARE_ESCAPE in chunk or _SPARE_QUOTE in chunk
        return not (options.trim_left or options.trim_right or has_spares)

    def _has_escapes(self, chunk: bytes) -> bool:
        quote, escape = self._options.quote, self._options.escape
        return bool(quote and escape and quote != escape) and escape.encode() in chunk and self._quote in chunk

    def _masked(self, chunk: bytes) -> bytes:
        """`chunk` with spare bytes instead of escaped escapes and quotes."""
        quote, escape = self._options.quote.encode(), self._options.escape.encode()
        return chunk.replace(escape * 2, bytes([_SPARE_ESCAPE])).replace(escape + quote, bytes([_SPARE_QUOTE]))

    def _unmasked(self, column: ChunkedArray) -> ChunkedArray:
        for spare, char in ((_SPARE_QUOTE, self._options.quote), (_SPARE_ESCAPE, self._options.escape)):
            column = pc.replace_substring(column, bytes([spare]), char.encode())
        return column.cast(pa.string())

    def _has_regular_quotes(self, chunk: bytes) -> bool:
        """True if quotes alternately open and close a field. If the quote is also the escape, doubled quotes inside are
        allowed.
        """
        data = np.frombuffer(chunk, np.uint8)
        spares = np.flatnonzero(data >= _SPARE_ESCAPE)
        places = np.flatnonzero(data == self._quote)
        if len(places) % 2:
            return False
        opening, closing = places[::2], places[1::2]
        before = np.where(opening > 0, data[opening - 1], _NEWLINE)
        after = np.where(closing + 1 < len(data), data[np.minimum(closing + 1, len(data) - 1)], _NEWLINE)
        bounds = [self._separator, _NEWLINE, _CARRIAGE_RETURN]
        if self._options.escape == self._options.quote:
            bounds.append(self._quote)
        if not (np.isin(before, bounds).all() and np.isin(after, bounds).all()):
            return False
        # Outside of quotes an escape is an ordinary character.
        if not (np.searchsorted(places, spares) % 2).all():
            return False
        newlines = np.flatnonzero(data == _NEWLINE)
        return self._options.multi_line or not (np.searchsorted(places, newlines) % 2).any()

    def _parsed(self, chunk: bytes, column_type: pa.DataType) -> list[ChunkedArray]:
        options = self._options
        return pa.csv.read_csv(
            reader_of(chunk),
            pa.csv.ReadOptions(
                column_names=[f"f{place}" for place in range(self._num_fields)],
                block_size=len(chunk) + 1,
                use_threads=False,
            ),
            pa.csv.ParseOptions(
                delimiter=options.separator,
                quote_char=options.quote or False,
                double_quote=bool(options.quote) and options.escape == options.quote,
                escape_char=False,
                newlines_in_values=True,
            ),
            pa.csv.ConvertOptions(
                include_columns=self._names,
                column_types=dict.fromkeys(self._names, column_type),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        ).columns

    def _trimmed(self, column: Array) -> Array:
        """Fields without blanks around them, in a chunk without quotes."""
        if self._options.trim_left:
            column = pc.ascii_ltrim(column, characters=BLANKS)
        if self._options.trim_right:
            column = pc.ascii_rtrim(column, characters=BLANKS)
        return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
