"""ROW FORMAT DELIMITED: the delimiters of a text table, from Hive's SerDe properties."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sharkpy.errors import ConfigurationError, UnsupportedError

DEFAULT_SEPARATORS = tuple(range(1, 9))
NEWLINE, CARRIAGE_RETURN = 0x0A, 0x0D


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Delimiters as byte values. `separators[0]` parts fields; each level of nesting uses the next ones."""

    separators: tuple[int, ...] = DEFAULT_SEPARATORS
    line: int = NEWLINE
    escape: int | None = None
    null: bytes = b"\\N"
    header_lines: int = 0

    def separator(self, level: int) -> bytes:
        if level >= len(self.separators):
            raise UnsupportedError(f"text table with types nested deeper than {len(self.separators)} separators")
        return bytes([self.separators[level]])


def text_format(properties: Sequence[tuple[str, str]]) -> TextFormat:
    """ConfigurationError or UnsupportedError where a property cannot be obeyed."""
    values = dict(properties)
    field = values.get("field.delim", values.get("serialization.format", "\x01"))
    collection = values.get("collection.delim", values.get("colelction.delim", "\x02"))
    mapkey = values.get("mapkey.delim", "\x03")
    first = tuple(_delimiter(text) for text in (field, collection, mapkey))
    escape = values.get("escape.delim")
    return TextFormat(
        first + DEFAULT_SEPARATORS[3:],
        _delimiter(values.get("line.delim", "\n")),
        None if not escape else _delimiter(escape),
        values.get("serialization.null.format", "\\N").encode(),
        _count(values.get("skip.header.line.count", "0")),
    )


def _delimiter(text: str) -> int:
    """A character, an escape such as \\t or \\001, or (as in Hive) a byte's number in decimal."""
    if re.fullmatch(r"-?\d+", text) and -128 <= int(text) <= 127:
        return int(text) & 0xFF
    if len(text) > 1 and text.startswith("\\"):
        text = codecs.decode(text, "unicode_escape")
    if len(text) != 1 or ord(text) > 127:
        raise UnsupportedError(f"delimiter {text!r}: one ASCII character is supported")
    return ord(text)


def _count(text: str) -> int:
    try:
        return max(int(text), 0)
    except ValueError:
        raise ConfigurationError(f'"{text}" is not a value of skip.header.line.count', sqlstate="22023") from None
