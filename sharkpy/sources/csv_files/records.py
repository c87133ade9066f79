"""Records of CSV text one by one, by the rules of Spark's parser (univocity): slow, but complete."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ResourceError
from sharkpy.base.records import dataclass
from sharkpy.sources.csv_files.options import CsvOptions

BLANKS = "".join(map(chr, range(33)))
"""Characters that Java's `trim` removes."""
_MOST_FIELDS = 1_000_000
Token = str | None
"""Text of a field; None if it is empty without quotes."""


@dataclass(frozen=True, slots=True)
class Record:
    tokens: list[Token]
    text: str
    """The record's text, without its line end."""
    is_open: bool = False
    """True if a quote in it is not closed, or the one that closes it after a line end is not the end of a field."""


class RecordReader:
    """Reader of records in text.

    1. An escape only counts inside quotes, before a quote or an escape.
    2. A quote only counts at the start of a field. If something other than blanks follows the closing quote, the field
       is its literal text, including quotes, up to the next separator.
    3. A quote that is not closed reaches to the end of the text.
    """

    def __init__(self, options: CsvOptions) -> None:
        self._options = options
        self._is_open = False
        self._empty = "" if options.empty is None else options.empty
        newline = re.escape(options.newline) if options.newline else r"\r\n|\n|\r"
        separator = re.escape(options.separator)
        special = re.escape(options.quote) + (re.escape(options.escape) if options.escape else "")
        self._line_end = re.compile(newline)
        self._field_end = {False: re.compile(separator), True: re.compile(f"{separator}|{newline}")}
        self._special = re.compile(f"[{special}]") if options.quote else None
        ends = (*(options.newline or "\r\n"), options.separator)
        blanks = "".join(re.escape(char) for char in BLANKS if char not in ends)
        self._blanks = re.compile(f"[{blanks}]*")

    def line(self, text: str) -> Record:
        """Record of a line."""
        tokens, _, _ = self._tokens(text, 0, False)
        return Record(tokens, text, self._is_open)

    def is_skipped_line(self, line: str) -> bool:
        """True for a blank line and for a comment."""
        comment = self._options.comment
        return not line.strip(BLANKS) or bool(comment and line.startswith(comment))

    def records(self, text: str, *, is_last: bool) -> Iterator[tuple[Record | None, int]]:
        """Records that may span lines, each with the offset after it; None for blank lines and comments.

        Unless `is_last`, it stops before a record whose end is not in the text.
        """
        place = 0
        while place < len(text):
            check_cancelled()
            if self._is_skipped(text, place):
                end = self._line_end.search(text, place)
                if end is None and not is_last:
                    return
                place = len(text) if end is None else end.end()
                yield None, place
                continue
            tokens, end_of_record, following = self._tokens(text, place, True)
            is_torn = end_of_record == following or text[following - 1] == "\r"
            if not is_last and following == len(text) and is_torn:
                return
            yield Record(tokens, text[place:end_of_record], self._is_open), following
            place = following

    def _is_skipped(self, text: str, place: int) -> bool:
        """True at an empty line or a comment."""
        if self._options.comment and text.startswith(self._options.comment, place):
            return True
        start = self._blanks.match(text, place)
        first = start.end() if self._options.trim_left and start else place
        return first >= len(text) or self._line_end.match(text, first) is not None

    def _tokens(self, text: str, place: int, has_lines: bool) -> tuple[list[Token], int, int]:
        """Fields of the record at `place`, the offset of its end, and the offset after its line end."""
        self._is_open = False
        tokens: list[Token] = []
        field_end, separator = self._field_end[has_lines], self._options.separator
        while True:
            check_cancelled()
            if len(tokens) >= _MOST_FIELDS:
                raise ResourceError(f"a row of CSV has more than {_MOST_FIELDS:,} fields", sqlstate="54000")
            if self._options.trim_left and (blanks := self._blanks.match(text, place)):
                place = blanks.end()
            if self._special is not None and text.startswith(self._options.quote, place):
                token, place = self._quoted(text, place + 1, field_end)
                tokens.append(token)
                end = field_end.match(text, place)
            else:
                end = field_end.search(text, place)
                tokens.append(self._plain(text[place : len(text) if end is None else end.start()]))
            if end is None:
                return tokens, len(text), len(text)
            if end.group() != separator:
                return tokens, end.start(), end.end()
            place = end.end()

    def _plain(self, text: str) -> Token:
        return (text.rstrip(BLANKS) if self._options.trim_right else text) or None

    def _quoted(self, text: str, start: int, field_end: re.Pattern[str]) -> tuple[Token, int]:
        """Field after its opening quote, and the offset of its end."""
        quote, escape = self._options.quote, self._options.escape
        special = self._special
        assert special is not None  # the caller has seen a quote
        parts: list[str] = []
        place = start
        while found := special.search(text, place):
            check_cancelled()
            at, following = found.start(), text[found.end() : found.end() + 1]
            parts.append(text[place:at])
            if found.group() == escape and following in (quote, escape) and following:
                parts.append(following)
                place = at + 2
                continue
            if found.group() != quote:
                parts.append(escape if following else "")
                place = at + 1
                continue
            while following == quote:
                parts.append(quote)
                at, following = at + 1, text[at + 2 : at + 3]
            return self._closed("".join(parts), text, at + 1, field_end)
        parts.append(text[place:])
        # Not closed: take the remaining text; a single quote is a field itself.
        self._is_open = True
        return "".join(parts) or (quote if start == len(text) else self._empty), len(text)

    def _closed(self, inside: str, text: str, place: int, field_end: re.Pattern[str]) -> tuple[Token, int]:
        """Field whose closing quote ends at `place`."""
        blanks = self._blanks.match(text, place)
        behind = blanks.end() if blanks else place
        if behind >= len(text) or field_end.match(text, behind):
            return inside or self._empty, behind
        self._is_open = self._is_open or self._line_end.search(inside) is not None
        end = field_end.search(text, behind)
        stop = len(text) if end is None else end.start()
        quote = self._options.quote
        token = f"{quote}{inside}{quote}{text[place:stop]}"
        return (token.rstrip(BLANKS) if self._options.trim_right else token), stop
