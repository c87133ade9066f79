"""ROW FORMAT DELIMITED: the delimiters of a text table, from Hive's SerDe properties."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.records import dataclass
from sharkpy.udf.java_datetime import parse_time
from sharkpy.values.types import ArrayType, DataType, MapType, Schema, StructType

DEFAULT_SEPARATORS = tuple(range(1, 9))
_MORE_SEPARATORS = (11, *range(14, 27), *range(28, 32))
_MORE_SEPARATORS_KEY = "hive.serialization.extend.nesting.levels"
TORN_KEY = "shark.text.torn.rows"
"""Property of the written files, and the setting for it."""
NEWLINE, CARRIAGE_RETURN = 0x0A, 0x0D


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Delimiters as byte values. `separators[0]` separates fields; each level of nesting uses the next ones."""

    separators: tuple[int, ...] = DEFAULT_SEPARATORS
    line: int = NEWLINE
    escape: int | None = None
    null: bytes = b"\\N"
    header_lines: int = 0
    footer_lines: int = 0
    last_takes_rest: bool = False
    timestamp_formats: tuple[str, ...] = ()
    is_torn: bool = False
    """Strings with delimiters are written unchanged, as in Hive."""
    is_lined: bool = True
    """True if a row ends at a line end. Otherwise, as in a sequence file, strings may contain line ends."""
    time_zone: str | None = None
    """Zone to which times with a zone are converted; None if such texts are not times."""

    def separator(self, level: int) -> bytes:
        if level >= len(self.separators):
            raise UnsupportedError(f"text table with types nested deeper than {len(self.separators)} separators")
        return bytes([self.separators[level]])

    def check(self, schema: Schema) -> None:
        """Raise UnsupportedError if a column needs more levels of separators than there are; BindError for a bad
        pattern.
        """
        self.check_times()
        for field in schema:
            levels = 1 + _levels(field.dtype)
            if levels > len(self.separators):
                raise UnsupportedError(
                    f'column "{field.name}" takes {levels} levels of separators, there are {len(self.separators)}',
                    hint=f"SERDEPROPERTIES ('{_MORE_SEPARATORS_KEY}'='true') gives more",
                )

    def check_times(self) -> None:
        """Raise BindError for an invalid pattern."""
        for pattern in self.timestamp_formats:
            if pattern != "millis":
                parse_time("", pattern)


def timestamp_formats(properties: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Patterns of times in addition to Hive's own form."""
    text = dict(properties).get("timestamp.formats", "")
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _levels(dtype: DataType) -> int:
    match dtype:
        case ArrayType(element):
            return 1 + _levels(element)
        case MapType(key, value):
            return 2 + max(_levels(key), _levels(value))
        case StructType(_, types):
            return 1 + max(map(_levels, types), default=0)
    return 0


def text_format(properties: Sequence[tuple[str, str]]) -> TextFormat:
    """Layout from properties; ConfigurationError or UnsupportedError for an unsupported value."""
    values = dict(properties)
    field = values.get("field.delim", values.get("serialization.format", "\x01"))
    collection = values.get("collection.delim", values.get("colelction.delim", "\x02"))
    mapkey = values.get("mapkey.delim", "\x03")
    first = tuple(_delimiter(text) for text in (field, collection, mapkey))
    escape = values.get("escape.delim")
    more = _MORE_SEPARATORS if _is_true(values.get(_MORE_SEPARATORS_KEY)) else ()
    return TextFormat(
        first + DEFAULT_SEPARATORS[3:] + more,
        _delimiter(values.get("line.delim", "\n")),
        None if not escape else _delimiter(escape),
        values.get("serialization.null.format", "\\N").encode(),
        *header_and_footer(properties),
        _is_true(values.get("serialization.last.column.takes.rest")),
        timestamp_formats(properties),
        _is_true(values.get(TORN_KEY)),
    )


def header_and_footer(properties: Sequence[tuple[str, str]]) -> tuple[int, int]:
    """Number of lines to skip at the start and at the end of each file."""
    values = dict(properties)
    return _count(values, "skip.header.line.count"), _count(values, "skip.footer.line.count")


def _is_true(text: str | None) -> bool:
    return text is not None and text.lower() == "true"


def _delimiter(text: str) -> int:
    """A character, an escape such as \\t or \\001, or (as in Hive) a byte's number in decimal."""
    if (code := whole_number(text.removeprefix("-"))) is not None:
        signed = -code if text.startswith("-") else code
        if -128 <= signed <= 127:
            return signed & 0xFF
    if len(text) > 1 and text.startswith("\\"):
        text = codecs.decode(text, "unicode_escape")
    if len(text) != 1 or ord(text) > 127:
        raise UnsupportedError(f"delimiter {text!r}: one ASCII character is supported")
    return ord(text)


def _count(values: dict[str, str], key: str) -> int:
    text = values.get(key, "0")
    try:
        return max(int(text), 0)
    except ValueError:
        raise ConfigurationError(f'"{text}" is not a value of {key}', sqlstate="22023") from None
