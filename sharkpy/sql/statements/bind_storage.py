"""ROW FORMAT, STORED AS and USING: the format of a new table's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.base.errors import SharkError
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.records import dataclass
from sharkpy.catalog import hive_formats
from sharkpy.catalog.format_options import CSV, set_option
from sharkpy.catalog.hive_formats import (
    WORDS,
    format_of_classes,
    format_of_provider,
    format_of_serde,
    format_of_word,
)
from sharkpy.catalog.model import StorageFormat
from sharkpy.sql.grammar.syntax_errors import place
from sharkpy.sql.grammar.token_reader import TokenReader

_UNSUPPORTED_FORMATS = ("DELTA", "ICEBERG", "JDBC", "HIVE")
_DELIMITERS = (
    (("FIELDS", "TERMINATED", "BY"), "field.delim"),
    (("ESCAPED", "BY"), "escape.delim"),
    (("COLLECTION", "ITEMS", "TERMINATED", "BY"), "collection.delim"),
    (("MAP", "KEYS", "TERMINATED", "BY"), "mapkey.delim"),
    (("LINES", "TERMINATED", "BY"), "line.delim"),
    (("NULL", "DEFINED", "AS"), "serialization.null.format"),
)
_LAST_CODE = 255
Properties = tuple[tuple[str, str], ...]


def row_format(reader: TokenReader) -> StorageFormat:
    """Read the format after ROW FORMAT."""
    if reader.match("SERDE"):
        return _serde(reader)
    reader.expect("DELIMITED")
    properties: dict[str, str] = {}
    while found := next(((words, key) for words, key in _DELIMITERS if reader.peek(*words)), None):
        words, key = found
        reader.match(*words)
        properties[key] = _delimiter(reader.string())
    return StorageFormat("text", tuple(properties.items()))


def _delimiter(text: str) -> str:
    """Convert a delimiter, which may be a character's code: '9' is a digit, '009' or '124' a code."""
    code = whole_number(text) if len(text) > 1 else None
    return text if code is None or code > _LAST_CODE else chr(code)


def _serde(reader: TokenReader) -> StorageFormat:
    name = reader.string("the class of a SerDe")
    start = reader.position - 1
    properties = serde_properties(reader)
    return _required(format_of_serde(name, properties), reader, start, f"the SerDe {name}")


def serde_properties(reader: TokenReader) -> Properties:
    """Read WITH SERDEPROPERTIES (…), if it comes next."""
    return reader.properties() if reader.match("WITH", "SERDEPROPERTIES") else ()


def format_serde_properties(reader: TokenReader, storage: StorageFormat) -> Properties:
    """Read ('key' = 'value', …) of SET SERDEPROPERTIES. With USING csv, they are options of the format."""
    given = reader.properties()
    if storage.name != CSV:
        return given
    known: dict[str, str] = {}
    for name, value in given:
        set_option(CSV, known, name, value)
    return tuple(known.items())


def with_serde(reader: TokenReader, storage: StorageFormat, name: str, properties: Properties) -> StorageFormat:
    """Return `storage` with the SerDe that was just read. Its container stays the same."""
    found = hive_formats.with_serde(storage, name, properties)
    return _required(found, reader, reader.position - 1, f"the SerDe {name} for files that are {storage.name}")


def stored_as(reader: TokenReader) -> StorageFormat:
    """Read the format after STORED AS or SET FILEFORMAT."""
    if reader.match("INPUTFORMAT"):
        return _of_classes(reader)
    word = reader.word()
    if word in _UNSUPPORTED_FORMATS:
        raise reader.unsupported(f"the format {word}")
    if word == "CSV":
        raise reader.unsupported("the format CSV (write USING csv, or ROW FORMAT SERDE with OpenCSVSerde)")
    storage = format_of_word(word)
    if storage is None:
        raise reader.error(f"a file format ({', '.join(WORDS)}) expected")
    reader.take()
    return storage


def provider(reader: TokenReader) -> StorageFormat:
    """Read the format after USING."""
    word = reader.word()
    if word in _UNSUPPORTED_FORMATS:
        raise reader.unsupported(f"the format {word}")
    storage = format_of_provider(word)
    if storage is None:
        raise reader.error(f"a file format (CSV, {', '.join(WORDS)}) expected")
    reader.take()
    return storage


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a format, as written, with the place of its name."""

    name: str
    value: str
    position: int


def options(reader: TokenReader) -> tuple[Option, ...]:
    """Read (key [=] value, …), in Spark's syntax."""
    reader.expect("(")
    found: list[Option] = []
    while True:
        position, key = reader.position, reader.key("an option")
        reader.match("=")
        found.append(Option(key, str(reader.take().text), position))
        if reader.match(")"):
            return tuple(found)
        reader.expect(",")


def with_options(reader: TokenReader, storage: StorageFormat, given: Sequence[Option]) -> StorageFormat:
    """Return `storage` with its options. Errors are placed at the option they concern."""
    properties: dict[str, str] = {}
    for one in given:
        try:
            set_option(storage.name, properties, one.name, one.value)
        except SharkError as error:
            error.line, error.column = place(reader.text, reader.tokens[one.position].start)
            raise
    properties = dict(storage.properties) | properties
    return replace(storage, properties=tuple(properties.items()))


def _of_classes(reader: TokenReader) -> StorageFormat:
    """Read 'class' OUTPUTFORMAT 'class' [SERDE 'class'] [INPUTDRIVER 'class' OUTPUTDRIVER 'class']."""
    start = reader.position
    names: dict[bool, str] = {True: reader.string("the class of an input format")}
    reader.expect("OUTPUTFORMAT")
    places = {True: start, False: reader.position}
    names[False] = reader.string("the class of an output format")
    for is_input, name in names.items():
        if name not in hive_formats.known_classes(is_input):
            reader.position = places[is_input]
            raise reader.unsupported(f"the {'input' if is_input else 'output'} format {name}")
    found = format_of_classes(names[True], names[False])
    storage = _required(found, reader, start, f"the input format {names[True]} with the output format {names[False]}")
    if reader.match("SERDE"):
        storage = with_serde(reader, storage, reader.string("the class of a SerDe"), ())
    if reader.match("INPUTDRIVER"):
        reader.string()
        reader.expect("OUTPUTDRIVER")
        reader.string()
    return storage


def _required(found: StorageFormat | None, reader: TokenReader, position: int, what: str) -> StorageFormat:
    if found is None:
        reader.position = position
        raise reader.unsupported(what)
    return found


def combined(reader: TokenReader, row: StorageFormat | None, file: StorageFormat | None) -> StorageFormat | None:
    """Combine ROW FORMAT and STORED AS: the files of STORED AS with the SerDe of ROW FORMAT.

    ROW FORMAT DELIMITED has no effect on files without delimiters.
    """
    if row is None or file is None:
        return row or file
    serde = hive_formats.serde_of(row)
    stored = hive_formats.with_serde(file, serde, row.properties)
    if stored is not None:
        return stored
    if serde == hive_formats.LAZY_SIMPLE and file.name == "rcfile":
        return hive_formats.with_serde(file, hive_formats.COLUMNAR, row.properties)
    if serde == hive_formats.LAZY_SIMPLE or row.name == file.name:
        return file
    if file.name == "text":
        return row
    raise reader.unsupported(f"the SerDe {serde} in files that are {file.name}")
