"""Chunks of CSV for which Arrow's reader gives the same result as Spark's parser, but much faster."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sharkpy.sources.arrow import Array, ChunkedArray, pc, reader_of
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.csv_files.records import BLANKS

_NEWLINE, _CARRIAGE_RETURN = 0x0A, 0x0D
_SPARE_ESCAPE, _SPARE_QUOTE = 0xFE, 0xFF
"""Bytes that UTF-8 never uses, for escaped characters inside quotes."""
_BLANK_LINE = re.compile(rb"^[\x00-\x20]+$", re.MULTILINE)


class QuickReader:
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
