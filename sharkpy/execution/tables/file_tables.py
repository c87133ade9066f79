"""Tables over files that queries name: FROM parquet.`/data/x`, FROM 'x.csv'."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base.errors import NotAllowedError, SourceError, UnsupportedError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.file_options import FileOptions, GivenColumns, file_properties
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.model import StorageFormat, TableKind
from sharkpy.catalog.path_gate import local_path
from sharkpy.sources.csv_files.detection import detect_csv
from sharkpy.sources.folders.logged_folder import files_in
from sharkpy.sources.formats import source
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.json_source import MULTI_LINE, found_properties
from sharkpy.sources.named_files import Access, FileTable, NamedFiles, named_files, partition_columns
from sharkpy.sources.source import Properties
from sharkpy.sources.undeclared_columns import columns_of_files
from sharkpy.values.types import STRING, Field, Schema

if TYPE_CHECKING:
    from sharkpy.catalog.file_log import FileLog
    from sharkpy.catalog.path_gate import PathGate

_FORMATS = {
    "parquet": StorageFormat("parquet"),
    "orc": StorageFormat("orc"),
    "avro": StorageFormat("avro"),
    "json": StorageFormat("json"),
    "csv": StorageFormat(CSV),
    # Each whole line is one value.
    "text": StorageFormat(
        "text", (("serialization.last.column.takes.rest", "true"), ("serialization.null.format", "\0"))
    ),
}
"""Formats by the word before the path, as in Spark."""
_OTHERS = ("hudi",)
"""Words of unsupported formats."""
_SUFFIXES = {
    **dict.fromkeys((".parquet", ".parq", ".pq"), "parquet"),
    ".orc": "orc",
    ".avro": "avro",
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
}
_TEXT = Schema((Field("value", STRING),))
_INFER = "inferSchema"
_MOST_TABLES = 64


class FileTables:
    """Cache of tables over files; a table is reused until its files change. Thread-safe."""

    def __init__(self, log: FileLog) -> None:
        """`log` knows the files of the catalog's tables, whose folders may be named."""
        self._files_in = partial(files_in, log=log)
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str, FileOptions, str], FileTable] = OrderedDict()
        """Tables by word, place, options and access id."""

    def find(self, word: str, place: str, given: FileOptions, gate: PathGate, access: Access) -> FileTable | None:
        """Return the table of the files at `place`, a path or pattern, or None if there is no such name.

        `word` names the format; if it is empty, the files' names tell it. Raise NotAllowedError if `gate` forbids the
        files or there is no `access` to remote ones, SourceError if there are no files.
        """
        if word in _OTHERS:
            raise UnsupportedError(f"tables of the format {word} are not supported")
        if not place.strip() or (word not in _FORMATS and (word or not _is_path(place, gate))):
            return None
        found = named_files((place, *given.more), gate.check, access, self._files_in)
        gate.check_links(found.root)
        key = (word, place, given, next((file.access for file in found.files), ""))
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.named == found:
                self._known.move_to_end(key)
                return known
        made = _table(word or _common_format(place, found), place, found, given)
        with self._lock:
            self._known[key] = made
            self._known.move_to_end(key)
            while len(self._known) > _MOST_TABLES:
                self._known.popitem(last=False)
        return made


def format_of(path: str) -> str | None:
    """Return the word of the format that a file name tells, also if it is compressed, or None."""
    inner = Path(path).with_suffix("") if codec_of_path(path) is not None else Path(path)
    return _SUFFIXES.get(inner.suffix.lower())


def _common_format(place: str, found: NamedFiles) -> str:
    words = {format_of(file.path) for file in found.files}
    word = words.pop() if len(words) == 1 else None
    if word is None:
        message = f'the names of the files of "{place}" do not tell a single format'
        raise SourceError(message, hint=f"write it before the path, as in parquet.`{place}`", sqlstate="42000")
    return word


def _is_path(place: str, gate: PathGate) -> bool:
    """Whether a name without a format's word names files."""
    if "/" in place or format_of(place):
        return True
    try:
        gate.check(place)
    except NotAllowedError:
        return False
    return Path(local_path(place)).is_dir()


def _described(
    word: str, found: NamedFiles, given: Properties, columns: GivenColumns | None
) -> tuple[StorageFormat, Schema]:
    """Return the format and columns of the files."""
    if word == "csv":
        return _described_csv(found, given, columns)
    if columns is not None and not (word == "json" and columns.is_whole):
        raise UnsupportedError(
            f"names and types of columns for {word} files are not supported", hint="change them by an alias and CAST"
        )
    storage = _FORMATS[word]
    if word == "json":
        is_told = any(name == MULTI_LINE for name, _ in given)
        given = given if is_told else (*given, *found_properties(found.files, given))
    if given:
        storage = StorageFormat(storage.name, (*storage.properties, *given))
        source(storage.name).check(Schema(()), storage.properties)
    if columns is not None:
        schema = columns.schema()
        source(storage.name).check(schema, storage.properties)
        return storage, schema
    return storage, _TEXT if word == "text" else columns_of_files(found.files, storage)


def _described_csv(found: NamedFiles, given: Properties, columns: GivenColumns | None) -> tuple[StorageFormat, Schema]:
    """Return the format and columns of CSV files. If all columns are given, only the first lines are read."""
    if columns is None:
        properties, schema = detect_csv(found.files, given)
        return StorageFormat(CSV, properties), schema
    known = tuple(pair for pair in given if pair[0] != _INFER)
    properties, schema = detect_csv(found.files, (*known, (_INFER, "false")) if columns.is_whole else given)
    is_empty = columns.is_whole and not any(file.size_bytes for file in found.files)
    schema = columns.schema() if is_empty else columns.applied(schema)
    source(CSV).check(schema, properties)
    return StorageFormat(CSV, properties), schema


def _table(word: str, place: str, found: NamedFiles, given: FileOptions) -> FileTable:
    storage, columns = _described(word, found, file_properties(word, given.values), given.columns)
    named = partition_columns(found.files)
    in_files = tuple(column for column in columns if column.name not in named.names)
    if word in ("csv", "text") and len(in_files) < len(columns):
        message = f'a column of the {word} files of "{place}" has the name of a column of their Hive partitions'
        raise SourceError(message, hint="create a table with other names: these columns are read by position")
    return FileTable(
        new_table_id(),
        word,
        place,
        TableKind.EXTERNAL,
        Schema((*in_files, *named)),
        storage,
        found.root,
        partition_columns=tuple(named.names) if found.partitions else (),
        named=found,
    )
