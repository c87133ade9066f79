"""Detects the layout of a CSV file from its first lines.

Lines are split into fields with each pair of separator and quote. The pair wins under which the most rows have the same
number of fields. Titles, footers and ragged rows have other numbers, and do not change the result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass
from sharkpy.sources.csv_files.column_types import InferredTypes
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.csv_files.records import Record, RecordReader, Token
from sharkpy.values.types import STRING

_SEPARATORS = (",", ";", "\t", "|")
"""Separators in order of preference."""
_NEVER = "\x1f"
"""Separator of a file without one, whose lines are single fields."""
_MOST_RECORDS = 1000
_LEAST_SHARE = 0.5
"""Least share of rows with the same number of fields."""
_LINE_END = re.compile(r"\r\n|\n|\r")
_TYPED = re.compile(
    r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T].*)?|true|false", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a sample under some options: their fields, and their offsets in the sample."""

    options: CsvOptions
    fields: list[list[Token]]
    places: list[int]
    num_fields: int
    is_torn: bool
    """True if a quote that is not closed in its line takes in following lines."""

    @property
    def share(self) -> float:
        return sum(len(row) == self.num_fields for row in self.fields) / max(len(self.fields), 1)

    @property
    def rank(self) -> tuple[bool, float, bool]:
        """Rank of a layout: the highest one wins."""
        if self.num_fields < 2 or self.share < _LEAST_SHARE:
            return False, 0.0, self.options.multi_line
        values = [token for row in self.fields for token in row if token]
        typed = sum(_TYPED.fullmatch(token) is not None for token in values) / max(len(values), 1)
        return self.share == 1, self.share * (1 - 1 / self.num_fields) * (0.1 + typed), self.options.multi_line


def detect_dialect(text: str, given: CsvOptions, fixed: frozenset[str], *, is_whole: bool) -> tuple[CsvOptions, int]:
    """Options of a file that begins with `text`, and the number of its columns. Options in `fixed` are taken from
    `given`.
    """
    ends = [end.end() for end in _LINE_END.finditer(text)]
    sample = text if is_whole or not ends else text[: ends[-1]]
    best = _best(sample, given, fixed, is_whole=is_whole)
    if "comment" not in fixed and best.options.comment and _are_rows(sample, best):
        best = _best(sample, given, fixed | {"comment"}, is_whole=is_whole)
    options, rows = best.options, best
    if "skip" not in fixed:
        rows = _without_titles(best)
        if rows is not best:
            options = replace(options, skip=len(_LINE_END.findall(sample[: rows.places[0]])))
    if rows.num_fields < 2 and "sep" not in fixed:
        options = replace(options, separator=_NEVER)
        rows = _rows(sample, options, is_whole=is_whole)
    if "header" not in fixed:
        options = replace(options, header=_has_header(rows, options))
    return options, rows.num_fields


def _best(sample: str, given: CsvOptions, fixed: frozenset[str], *, is_whole: bool) -> Rows:
    found: Rows | None = None
    for options in _candidates(sample, given, fixed):
        check_cancelled()
        rows = _rows(sample, options, is_whole=is_whole)
        if found is None or rows.rank > found.rank:
            found = rows
    assert found is not None  # there is at least one candidate
    return found


def _candidates(sample: str, given: CsvOptions, fixed: frozenset[str]) -> Iterator[CsvOptions]:
    has_comments = "comment" not in fixed and re.search(r"(?m)^#", sample) is not None
    given = replace(given, comment="#" if has_comments else given.comment)
    separators = [given.separator] if "sep" in fixed else [one for one in _SEPARATORS if one in sample] or [","]
    for separator in separators:
        options = replace(given, separator=separator)
        for quote in [given.quote] if "quote" in fixed else _quotes(sample, separator):
            escape = given.escape if "escape" in fixed else _escape(sample, quote)
            if len({separator, quote, options.comment} - {""}) == sum(map(bool, (separator, quote, options.comment))):
                trims = "ignoreLeadingWhiteSpace" not in fixed and _has_blanks(sample, separator, quote)
                yield replace(options, quote=quote, escape=escape, trim_left=trims or options.trim_left)


def _quotes(sample: str, separator: str) -> list[str]:
    """Possible quotes of a sample. No quote comes first if no field ends with a quote in its line."""
    found = [quote for quote in "\"'" if quote in sample and _closes_fields(sample, separator, quote)]
    return found or (["", '"'] if '"' in sample else ['"'])


def _closes_fields(sample: str, separator: str, quote: str) -> bool:
    sep, inside = re.escape(separator), f"(?:[^{quote}\\\\\\r\\n]|{quote}{quote}|\\\\.)*+"
    return re.search(rf"(?m)(?:^|{sep}) *{quote}{inside}{quote} *(?={sep}|\r?$)", sample) is not None


def _has_blanks(sample: str, separator: str, quote: str) -> bool:
    """True if there are blanks before the quotes of fields."""
    sep = re.escape(separator)
    field = rf"(?m){sep} +{quote}[^{quote}\r\n]*+{quote}(?={sep}|\r?$)"
    return bool(quote) and re.search(field, sample) is not None


def _escape(sample: str, quote: str) -> str:
    """Escape of quotes within quotes: another quote, unless only backslashes occur."""
    if not quote or f"\\{quote}" not in sample:
        return quote
    other = f"[^,;\t|\\s\\\\{quote}]"
    is_doubled = re.search(f"{other}{quote}{quote}|{quote}{quote}{other}", sample) is not None
    return quote if is_doubled else "\\"


def _rows(sample: str, options: CsvOptions, *, is_whole: bool) -> Rows:
    """Rows of single lines, unless quotes contain line breaks."""
    several = _split_rows(sample, replace(options, multi_line=True), is_whole=is_whole) if options.quote else None
    if several is None or several.is_torn or not several.options.multi_line:
        return _split_rows(sample, replace(options, multi_line=False), is_whole=is_whole)
    return several


def _split_rows(sample: str, options: CsvOptions, *, is_whole: bool) -> Rows:
    start = 0
    for _ in range(options.skip):
        found = _LINE_END.search(sample, start)
        start = len(sample) if found is None else found.end()
    records, places, place = list[Record](), list[int](), start
    for record, end in _records(sample, start, options):
        if record is not None:
            records.append(record)
            places.append(place)
        place = end
        if len(records) > _MOST_RECORDS:
            break
    if not is_whole and len(records) > 1:
        # The last one may be incomplete.
        records, places = records[:-1], places[:-1]
    num_fields = _most_fields(Counter(len(record.tokens) for record in records))
    spans = [record for record in records if _LINE_END.search(record.text)]
    is_torn = any(record.is_open or len(record.tokens) != num_fields for record in spans)
    options = replace(options, multi_line=bool(spans))
    return Rows(options, [record.tokens for record in records], places, num_fields, is_torn)


def _most_fields(counts: Counter[int]) -> int:
    """The most frequent number of fields, if at least half of the rows have it; otherwise 1."""
    several = {count: times for count, times in counts.items() if count > 1}
    most = max(several, key=lambda count: (several[count], count), default=1)
    return most if several.get(most, 0) >= _LEAST_SHARE * counts.total() else 1


def _records(sample: str, start: int, options: CsvOptions) -> Iterator[tuple[Record | None, int]]:
    """Rows with their end offsets; None for blank and comment lines."""
    reader = RecordReader(options)
    if options.multi_line:
        for record, end in reader.records(sample[start:], is_last=True):
            yield record, start + end
        return
    while start < len(sample):
        found = _LINE_END.search(sample, start)
        stop, end = (len(sample), len(sample)) if found is None else found.span()
        line = sample[start:stop]
        yield None if reader.is_skipped_line(line) else reader.line(line), end
        start = end


def _are_rows(sample: str, rows: Rows) -> bool:
    """True if lines that begin with the comment character have as many fields as rows."""
    reader = RecordReader(replace(rows.options, comment=""))
    lines = [line for line in _LINE_END.split(sample) if line.startswith("#") and not line.startswith(("# ", "##"))]
    alike = sum(len(reader.line(line).tokens) == rows.num_fields for line in lines)
    return rows.num_fields < 2 or 2 * alike > len(lines)


def _without_titles(rows: Rows) -> Rows:
    """Rows after leading lines with other numbers of fields. A header may lack the name of one column."""
    first = next((place for place, fields in enumerate(rows.fields) if len(fields) == rows.num_fields), 0)
    if rows.num_fields < 2 or not first:
        return rows
    is_header = len(rows.fields[first - 1]) >= max(rows.num_fields - 1, 2)
    first -= is_header
    return replace(rows, fields=rows.fields[first:], places=rows.places[first:]) if first else rows


def _has_header(rows: Rows, options: CsvOptions) -> bool:
    """True if the first row has names: a value that does not fit its column's type, or texts that no other row has."""
    first = rows.fields[0] if rows.fields else []
    body = [row for row in rows.fields[1:] if row != first or rows.num_fields < 2]
    if not first or not any(first):
        return False
    if len(first) < rows.num_fields:
        return True
    if len(rows.fields) == 1:
        return all(token and not _TYPED.fullmatch(token) for token in first) and len(set(first)) == len(first)
    columns = [[row[place] for row in body if place < len(row)] for place in range(len(first))]
    typed = False
    for name, values in zip(first, columns, strict=True):
        told = _common_type(values, options)
        if told is None:
            continue
        typed = True
        if name and name != options.null and _common_type([*values, name], options) is None:
            return True
    if typed:
        return False
    return not any(name in values for name, values in zip(first, columns, strict=True) if name)


def _common_type(values: Sequence[Token], options: CsvOptions) -> str | None:
    """Type of some values; None for texts, or if there are none."""
    guess = InferredTypes(options)
    guess.add(pa.array([None if value == options.null else value for value in values], pa.string()))
    return None if guess.dtype == STRING else str(guess.dtype)
