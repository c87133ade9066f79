"""Options, columns and further paths that a query gives for the files it names, by Spark's or DuckDB's names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sharkpy.base.errors import ColumnNotFoundError, ConfigurationError, ParseError, UnsupportedError, did_you_mean
from sharkpy.base.parse_limits import shortened
from sharkpy.base.records import dataclass
from sharkpy.catalog.format_options import CSV, set_option
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import DataType, Field, Schema

_OTHER_NAMES = {"varchar": "string", "text": "string", "bool": "boolean", "hugeint": "decimal(38,0)"}
"""DuckDB's names of types, and Hive's types."""


@dataclass(frozen=True, slots=True)
class GivenColumns:
    """Columns given in a query. `names` are the names of the first columns. `types` are by column name, or by position
    from 0.

    If `is_whole`, there are no other columns.
    """

    names: tuple[str, ...] = ()
    types: tuple[tuple[str | int, str], ...] = ()
    is_whole: bool = False

    def schema(self) -> Schema:
        """Return all columns. Only if `is_whole`."""
        return Schema(tuple(Field(name, _type(text)) for name, (_, text) in zip(self.names, self.types, strict=True)))

    def applied(self, found: Schema) -> Schema:
        """Apply the given names and types to the columns of files.

        Raise ConfigurationError if the files have too few columns, or a different number than a whole list. Raise
        ColumnNotFoundError for a name that they do not have.
        """
        if len(self.names) > len(found) or (self.is_whole and len(self.names) != len(found)):
            raise _wrong_number("columns" if self.is_whole else "names", len(self.names), found)
        names = [*self.names, *found.names[len(self.names) :]]
        if len(set(names)) < len(names):
            raise ConfigurationError(f"several columns have one name: {shortened(', '.join(names))}", sqlstate="42701")
        types = [field.dtype for field in found]
        for key, text in self.types:
            types[_place(key, names, len(self.types), found)] = _type(text)
        return Schema(tuple(map(Field, names, types)))


def _place(key: str | int, names: Sequence[str], num_types: int, found: Schema) -> int:
    if isinstance(key, str):
        if key not in names:
            raise ColumnNotFoundError(f'the files have no column "{key}"', hint=did_you_mean(key, names))
        return names.index(key)
    if key >= len(names):
        raise _wrong_number("types", num_types, found)
    return key


def _wrong_number(what: str, num_given: int, found: Schema) -> ConfigurationError:
    names = shortened(", ".join(found.names))
    message = f"entries of the option {what}: {num_given}; columns of the files: {len(found)} ({names})"
    return ConfigurationError(message, sqlstate="42601")


def _type(text: str) -> DataType:
    try:
        return parse_type(_OTHER_NAMES.get(text.strip().lower(), text))
    except ParseError as error:
        raise ConfigurationError(error.message, hint=error.hint, sqlstate="42601") from None


Properties = tuple[tuple[str, str], ...]
_ANY: Mapping[str, str | None] = {}


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options of files in a query.

    `values` are options as written. `more` are further paths, in addition to the table's own. `columns` are the given
    names and types of columns.
    """

    values: Properties = ()
    more: tuple[str, ...] = ()
    columns: GivenColumns | None = None


NO_OPTIONS = FileOptions()
READERS: dict[str, tuple[str, Properties]] = {
    "read_csv": ("csv", ()),
    "read_csv_auto": ("csv", ()),
    "read_json": ("json", ()),
    "read_json_auto": ("json", ()),
    "read_ndjson": ("json", (("multiLine", "false"),)),
    "read_ndjson_auto": ("json", (("multiLine", "false"),)),
    "read_parquet": ("parquet", ()),
    "parquet_scan": ("parquet", ()),
    "read_orc": ("orc", ()),
    "read_avro": ("avro", ()),
}
"""Table functions of FROM, each with its format and options."""
_FLAG = {"true": "true", "false": "false"}
_OTHER_FLAG = {"true": "false", "false": "true"}
_EVERYWHERE: dict[str, tuple[str, Mapping[str, str | None]]] = {
    "hive_partitioning": ("", {"true": None}),
    "hive_types_autocast": ("", {"true": None}),
    "union_by_name": ("", {"true": None, "false": None}),
    "filename": ("", {"false": None}),
    "auto_detect": ("", {"true": None}),
    "compression": ("", {"auto": None, "auto_detect": None}),
}
_NAMES: dict[str, dict[str, tuple[str, Mapping[str, str | None]]]] = {
    "csv": {
        "delim": ("sep", _ANY),
        "nullstr": ("nullValue", _ANY),
        "new_line": ("lineSep", _ANY),
        "all_varchar": ("inferSchema", _OTHER_FLAG),
        "ignore_errors": ("mode", {"true": "DROPMALFORMED", "false": "PERMISSIVE"}),
        "null_padding": ("", {"true": None}),
        "strict_mode": ("", {"false": None}),
        "allow_quoted_nulls": ("", {"true": None}),
        "normalize_names": ("", {"false": None}),
        "sample_size": ("", _ANY),
        "parallel": ("", _ANY),
        "buffer_size": ("", _ANY),
        "max_line_size": ("", _ANY),
        "maximum_line_size": ("", _ANY),
    },
    "json": {
        "format": (
            "multiLine",
            {"auto": None, "array": "true", "unstructured": "true", "newline_delimited": "false", "nd": "false"},
        ),
        "records": ("", {"true": None, "auto": None}),
        "ignore_errors": ("", {"true": None}),
        "sample_size": ("", _ANY),
        "maximum_object_size": ("", _ANY),
        "maximum_depth": ("", _ANY),
    },
    "parquet": {"binary_as_string": ("", {"false": None}), "file_row_number": ("", {"false": None})},
}
"""DuckDB's options: the corresponding option here, by value; None if the engine always behaves so."""
_HINTS = {
    "filename": "INPUT__FILE__NAME is the file of each row",
    "columns": "read_csv('path', columns = {'a': 'INT'}) and read_json take it",
    **dict.fromkeys(("names", "column_names"), "read_csv('path', names = ['a', 'b']) takes it"),
    **dict.fromkeys(("types", "dtypes", "column_types"), "read_csv('path', types = {'a': 'INT'}) takes it"),
    "compression": "the name of a file tells its compression",
}
_STRFTIME = {"Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "I": "hh", "M": "mm", "S": "ss", "p": "a"}
_STRFTIME |= {"b": "MMM", "B": "MMMM", "a": "EEE", "A": "EEEE", "f": "SSSSSS", "g": "SSS", "z": "XXX", "%": "%"}
"""Letters of C's time patterns, and Java's."""


def file_properties(word: str, values: Properties) -> Properties:
    """Return the format properties that options of a query set. Raise ConfigurationError or UnsupportedError for an
    option that is not supported.
    """
    found: dict[str, str] = {}
    for name, value in values:
        known = {**_EVERYWHERE, **_NAMES.get(word, {})}.get(name.lower())
        if known is None:
            _set(word, found, name, _java_pattern(name, value))
            continue
        target, translated = known
        if translated and value.lower() not in translated:
            message = f"the option {name} '{value}' of {word} files is not supported"
            raise UnsupportedError(message, hint=_HINTS.get(name.lower()) or f"use one of {', '.join(translated)}")
        meant = translated[value.lower()] if translated else value
        if target and meant is not None:
            _set(word, found, target, meant)
    return tuple(found.items())


def _set(word: str, found: dict[str, str], name: str, value: str) -> None:
    try:
        set_option(CSV if word == "csv" else word, found, name, value)
    except ConfigurationError as error:
        if (hint := _HINTS.get(name.lower())) is None:
            raise
        raise UnsupportedError(f"the option {name} of {word} files is not supported", hint=hint) from error


def _java_pattern(name: str, value: str) -> str:
    """Convert a time pattern from C (with percent signs) to Java."""
    if name.lower() not in ("dateformat", "timestampformat") or "%" not in value:
        return value
    parts = re.findall(r"%-?(.)|([A-Za-z]+)|([^%A-Za-z]+)", value)
    if any(letter and letter not in _STRFTIME for letter, _, _ in parts):
        raise ConfigurationError(f'"{value}" is not a known pattern of times', sqlstate="22007")
    return "".join(_STRFTIME[letter] if letter else f"'{word}'" if word else rest for letter, word, rest in parts)
