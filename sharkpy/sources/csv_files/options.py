"""Options of USING csv, with Spark's names and defaults, and the date patterns among them.

Java's date patterns match whole fields, with the given widths and optional sections.
"""

from __future__ import annotations

import codecs
import datetime
import functools
import re

from sharkpy.base.errors import ConfigurationError, SharkError, UnsupportedError, did_you_mean
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.records import dataclass
from sharkpy.base.time_zone import time_zone
from sharkpy.sources.hadoop_codecs import CODECS, OUTPUT_CODEC, HadoopCodec, codec_of_class
from sharkpy.udf.java_datetime import format_time, parse_time, tokens
from sharkpy.values.types import STRING, Schema

Properties = tuple[tuple[str, str], ...]
CORRUPT_RECORD = "_corrupt_record"
"""Default name of the column with the text of malformed rows."""
PERMISSIVE, DROP_MALFORMED, FAIL_FAST = MODES = ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")
_NO_CODEC = ("none", "uncompressed")
_WIDE = ("utf-16", "utf-32")
_ESCAPES = {"\\t": "\t", "\\r": "\r", "\\b": "\b", "\\f": "\f", '\\"': '"', "\\'": "'", "\\\\": "\\"}
_OTHERS = (OUTPUT_CODEC, "mapreduce.output.fileoutputformat.compress.type", "shark.text.torn.rows")
"""Properties of written files that come from settings."""
_CHARACTERS = ("quote", "escape", "comment")
_FLAGS = (
    "header",
    "inferSchema",
    "ignoreLeadingWhiteSpace",
    "ignoreTrailingWhiteSpace",
    "multiLine",
    "quoteAll",
    "preferDate",
)


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """Layout of CSV files. An empty `quote`, `escape` or `comment` means that there is none."""

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    comment: str = ""
    newline: str = ""
    """If empty, any of \\n, \\r\\n and \\r ends a line."""
    encoding: str | None = None
    """Python's name of the encoding; None for UTF-8."""
    skip: int = 0
    """Number of lines to skip at the start of each file, before the header."""
    header: bool = False
    multi_line: bool = False
    trim_left: bool = False
    trim_right: bool = False
    null: str = ""
    empty: str | None = None
    """Text for an empty string in quotes. None: an empty text when reading, two quotes when writing."""
    nan: str = "NaN"
    positive_inf: str = "Inf"
    negative_inf: str = "-Inf"
    date_format: str | None = None
    timestamp_format: str | None = None
    time_zone: str = "UTC"
    """Zone to which times with a zone are converted."""
    mode: str = PERMISSIVE
    corrupt_record: str = CORRUPT_RECORD
    infer_schema: bool = False
    prefer_date: bool = True
    quote_all: bool = False
    codec: HadoopCodec | None = None

    @property
    def is_one_piece(self) -> bool:
        """True if a file has to be read from its start, since the start of a row cannot be found elsewhere."""
        return self.multi_line or (self.encoding or "").startswith(_WIDE)

    @property
    def line_end(self) -> str:
        return self.newline or "\n"

    def fields(self, schema: Schema) -> Schema:
        """Columns that have fields in the files."""
        return Schema(tuple(field for field in schema if not self.is_corrupt_record(field.name)))

    def is_corrupt_record(self, name: str) -> bool:
        return name == self.corrupt_record.lower()

    def check(self, schema: Schema) -> None:
        found = next((field for field in schema if self.is_corrupt_record(field.name)), None)
        if found is not None and found.dtype != STRING:
            message = f'the column "{found.name}" for malformed rows is {found.dtype}: it has to be STRING'
            raise ConfigurationError(message, sqlstate="42804")


@functools.lru_cache(maxsize=64)
def csv_options(properties: Properties) -> CsvOptions:
    """Options from properties; ConfigurationError or UnsupportedError for an invalid value."""
    given = {key: value for key, value in properties if is_option(key)}
    flags = {name: _flag(name, given[name]) for name in _FLAGS if name in given}
    characters = {name: _character(name, given[name]) for name in _CHARACTERS if name in given}
    options = CsvOptions(
        separator=_separator(given.get("sep", ",")),
        **characters,
        newline=_newline(given.get("lineSep")),
        encoding=_encoding(given.get("encoding", "UTF-8")),
        skip=_count("skip", given.get("skip", "0")),
        header=flags.get("header", False),
        multi_line=flags.get("multiLine", False),
        trim_left=flags.get("ignoreLeadingWhiteSpace", False),
        trim_right=flags.get("ignoreTrailingWhiteSpace", False),
        null=given.get("nullValue", ""),
        empty=given.get("emptyValue"),
        nan=given.get("nanValue", "NaN"),
        positive_inf=given.get("positiveInf", "Inf"),
        negative_inf=given.get("negativeInf", "-Inf"),
        date_format=_pattern(given.get("dateFormat")),
        timestamp_format=_pattern(given.get("timestampFormat")),
        time_zone=_zone(given.get("timeZone", "UTC")),
        mode=_mode(given.get("mode", PERMISSIVE)),
        corrupt_record=given.get("columnNameOfCorruptRecord", CORRUPT_RECORD),
        infer_schema=flags.get("inferSchema", False),
        prefer_date=flags.get("preferDate", True),
        quote_all=flags.get("quoteAll", False),
        codec=_codec(given.get("compression"), dict(properties).get(OUTPUT_CODEC)),
    )
    _check_characters(options)
    return options


def is_option(key: str) -> bool:
    """True for options of the table, False for settings that are added when files are written."""
    return key not in _OTHERS


def _check_characters(options: CsvOptions) -> None:
    named = {
        "sep": options.separator,
        "quote": options.quote,
        "comment": options.comment,
        "lineSep": options.newline or "\n",
    }
    used: dict[str, str] = {}
    for name, text in named.items():
        if not text:
            continue
        if text in used:
            raise _invalid(f"the options {used[text]} and {name} of a CSV table are equal")
        used[text] = name


def _invalid(message: str, hint: str | None = None) -> ConfigurationError:
    return ConfigurationError(message, hint=hint, sqlstate="22023")


def _flag(name: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise _invalid(f'"{value}" is not a value of {name}: true or false expected')
    return value.lower() == "true"


def _count(name: str, value: str) -> int:
    if (found := whole_number(value)) is None:
        raise _invalid(f'"{value}" is not a value of {name}: a number of lines expected')
    return found


def _character(name: str, value: str) -> str:
    if value == "\0":
        return ""
    if len(value) > 1:
        raise _invalid(f'"{value}" is not a value of {name}: one character expected')
    return value


def _separator(value: str) -> str:
    """Separator of one or more characters, with Spark's escapes."""
    if value == "\\":
        raise _invalid("a single backslash is not a value of sep", "two of them mean one")
    parts: list[str] = []
    place = 0
    while place < len(value):
        pair = value[place : place + 2]
        if pair.startswith("\\") and pair not in _ESCAPES:
            raise _invalid(f'"{value}" is not a value of sep: the escape {pair} is not known')
        parts.append(_ESCAPES.get(pair, value[place]))
        place += 2 if pair in _ESCAPES else 1
    separator = "".join(parts)
    if not separator or "\n" in separator or separator == "\r":
        raise _invalid(f"{value!r} is not a value of sep: a separator of columns expected")
    return separator


def _newline(value: str | None) -> str:
    if value is None:
        return ""
    if not value:
        raise _invalid("an empty text is not a value of lineSep")
    if len(value) > 1 or not value.isascii():
        raise UnsupportedError(f"the lineSep {value!r}: one ASCII character is supported")
    return value


def _encoding(name: str) -> str | None:
    try:
        found = codecs.lookup(name).name
        "".encode(found)
    except (LookupError, ValueError, TypeError):
        raise _invalid(f'"{name}" is not a value of encoding: no such character set is known') from None
    return None if found in ("utf-8", "ascii") else found


def _pattern(value: str | None) -> str | None:
    if value is not None:
        check_pattern(value)
    return value


def _zone(value: str) -> str:
    if time_zone(value) is None:
        raise _invalid(f'"{value}" is not a value of timeZone: no such zone is known')
    return value


def _mode(value: str) -> str:
    if value.upper() not in MODES:
        raise _invalid(f'"{value}" is not a value of mode', did_you_mean(value, MODES) or f"one of {', '.join(MODES)}")
    return value.upper()


def _codec(compression: str | None, of_session: str | None) -> HadoopCodec | None:
    """Codec of new files: from the table's options, or else from the session's settings."""
    if compression is None:
        return None if of_session is None else codec_of_class(of_session)
    if compression.lower() in _NO_CODEC:
        return None
    known = {codec.name for codec in CODECS}
    if compression.lower() not in known and not compression.startswith("org."):
        raise _invalid(
            f'"{compression}" is not a value of compression', f"one of {', '.join(sorted({*known, _NO_CODEC[0]}))}"
        )
    return codec_of_class(compression)


_ZONES = frozenset("zZXxVOv")
_FIRST = datetime.datetime(2024, 1, 1)
"""First of the days that cover all months and weekdays."""
_MOST_SECTIONS = 4
_SECTION = re.compile(r"\[((?:[^'\[\]]|'[^']*')*)\]")
_SAMPLE = datetime.datetime(2024, 2, 29, 13, 14, 15, 123456)


def check_pattern(pattern: str) -> None:
    """Raise ConfigurationError for an invalid pattern."""
    try:
        format_time(_SAMPLE, variants(pattern)[0])
    except SharkError as error:
        message = f'"{pattern}" is not a date pattern: {error.message}'
        raise ConfigurationError(message, hint=error.hint, sqlstate="22007") from None


@functools.lru_cache(maxsize=64)
def variants(pattern: str) -> tuple[str, ...]:
    """Variants of a pattern with and without its optional sections; the one with all sections comes first."""
    found = [pattern]
    for _ in range(_MOST_SECTIONS):
        if not any(map(_SECTION.search, found)):
            break
        found = [one for text in found for one in _without_section(text)]
    if any("[" in text or "]" in text for text, _ in (part for one in found for part in tokens(one))):
        raise ConfigurationError(f'the sections of the date pattern "{pattern}" are too many or not closed')
    return tuple(found)


def _without_section(pattern: str) -> tuple[str, ...]:
    match = _SECTION.search(pattern)
    if match is None:
        return (pattern,)
    before, rest = pattern[: match.start()], pattern[match.end() :]
    return before + match[1] + rest, before + rest


def parse_in_pattern(text: str, pattern: str) -> datetime.datetime | None:
    """Time of a whole field; None if it does not match the pattern."""
    for one in variants(pattern):
        if _regular_expression(one).fullmatch(text) and (value := parse_time(text, one)) is not None:
            return value
    return None


def format_in_pattern(value: datetime.datetime, pattern: str) -> str:
    return format_time(value, variants(pattern)[0])


@functools.lru_cache(maxsize=64)
def _regular_expression(pattern: str) -> re.Pattern[str]:
    """Regular expression for a pattern: a single letter is any number, repeated letters are that many digits."""
    parts = (_field_form(text) if is_field else re.escape(text) for text, is_field in tokens(pattern))
    return re.compile("".join(parts), re.IGNORECASE)


def _field_form(text: str) -> str:
    letter, width = text[0], len(text)
    if letter == "S":
        return rf"[0-9]{{1,{width}}}"
    if letter in _ZONES:
        return r"(?:Z|[+-][0-9]{1,2}(?::?[0-9]{2})?|[A-Za-z_/]+)"
    names = {format_time(_FIRST + datetime.timedelta(days=days), text) for days in range(0, 366, 5)}
    if any(name.isalpha() for name in names):
        return f"(?:{'|'.join(sorted(names))})"
    return rf"[0-9]{{{width}}}" if width > 1 else "[0-9]+"


def names_zone(pattern: str) -> bool:
    """True if times in this pattern have a zone; `parse_in_pattern` then returns them in UTC."""
    return any(is_field and text[0] in _ZONES for text, is_field in tokens(variants(pattern)[0]))
