"""Formats by name, the splits of a table's files, and the check of files that a table takes over.

Each Hive partition keeps the format that its table had when the partition was made, so files of one table may differ.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from sharkpy.base import uri
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.settings import LINE_BYTES, SPLIT_BYTES, Conf
from sharkpy.catalog.avro_schema import with_schema_text
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.json_rows import partition_format_from_text
from sharkpy.catalog.lake_tables import LAKES
from sharkpy.catalog.model import StorageFormat
from sharkpy.catalog.path_gate import local_path
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.hadoop_codecs import OUTPUT_CODEC, HadoopCodec, codec_of_class
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import with_line_limit
from sharkpy.sources.open_files import map_files, mapped
from sharkpy.sources.source import Properties, Source, Split
from sharkpy.values.types import Schema


def _made(name: str, *arguments: object) -> Callable[[], Any]:
    """Return a function that makes an object of a class, given with its module in `sharkpy.sources`.

    The module is imported when a table of the format is read or written: a query over tables in memory does neither.
    """

    def make() -> Any:
        module, _, of = name.rpartition(".")
        made = getattr(importlib.import_module(f"sharkpy.sources.{module}"), of)
        return made(*(one() if callable(one) else one for one in arguments))

    return make


SOURCES: dict[str, Callable[[], Source]] = {
    "text": _made("text_files.LineSource", "text", _made("rows.delimited.DelimitedRows")),
    "json": _made("json_source.JsonSource"),
    "csv": _made("text_files.LineSource", "csv", _made("rows.csv_and_regex.CsvRows")),
    CSV: _made("csv_files.source.CsvSource"),
    "regex": _made("text_files.LineSource", "regex", _made("rows.csv_and_regex.RegexRows")),
    "multidelimit": _made("text_files.LineSource", "multidelimit", _made("rows.delimited.MultiDelimitedRows")),
    "sequencefile": _made("sequence_file.SequenceFileSource"),
    "rcfile": _made("rcfile.RcFileSource"),
    "avro": _made("avro.AvroSource"),
    "parquet": _made("parquet.ParquetSource"),
    "orc": _made("orc.OrcSource"),
}

_OF_STREAMS: dict[str, Callable[[], Source]] = {
    "kafka": _made("kafka.records.KafkaRecords"),
    "rate": _made("rate_rows.RateRows"),
    "bad rows": _made("malformed_records.MalformedRecords"),
}
"""Formats of streams' splits without files."""

_OF_LAKES: dict[str, Callable[[], Source]] = {name: _made("lake.parquet_files.LakeParquet", name) for name in LAKES}
"""Formats of lake tables, whose files are Parquet."""

_SUFFIXES = {
    **dict.fromkeys(LAKES, ".parquet"),
    "text": ".txt",
    "parquet": ".parquet",
    "orc": ".orc",
    "json": ".json",
    "csv": ".csv",
    CSV: ".csv",
    "avro": ".avro",
}


@cache
def source(format_name: str) -> Source:
    """Format by name, ignoring case; UnsupportedError for an unknown one."""
    name = format_name.lower()
    make = SOURCES.get(name) or _OF_STREAMS.get(name) or _OF_LAKES.get(name)
    if make is None:
        raise UnsupportedError(f'file format "{format_name}" (known: {", ".join(SOURCES)})')
    return make()


def file_suffix(format_name: str, properties: Properties) -> str:
    """Suffix of the names of new files. For a text file it includes the suffix of its codec."""
    suffix = _SUFFIXES.get(format_name, "")
    codec = _file_codec(format_name, properties)
    return suffix if codec is None else suffix + codec.suffix


def _file_codec(format_name: str, properties: Properties) -> HadoopCodec | None:
    """Codec of whole files, for text formats only."""
    from sharkpy.sources.csv_files.options import csv_options
    from sharkpy.sources.text_files import LineSource

    if format_name == CSV:
        return csv_options(properties).codec
    name = dict(properties).get(OUTPUT_CODEC)
    return codec_of_class(name) if name and isinstance(source(format_name), LineSource) else None


def file_splits(
    files: Sequence[DataFile],
    schema: Schema,
    storage: StorageFormat,
    conf: Conf,
    schema_text: Callable[[str], str] = local_path,
) -> list[Split]:
    """Splits of files. `storage` is the table's format, for files without one of their own. `schema_text` reads schemas
    at remote locations.
    """
    split_bytes = conf.value(SPLIT_BYTES)
    return [
        split
        for form, part in files_by_format(files, storage)
        for split in source(form.name).splits(part, schema, read_properties(form, conf, schema_text), split_bytes)
    ]


def read_properties(storage: StorageFormat, conf: Conf, schema_text: Callable[[str], str]) -> Properties:
    """Properties of a split: its format's properties, with the session's limits."""
    if not source(storage.name).splits_lines(storage.properties):
        return with_schema_text(storage.properties, schema_text)
    return with_line_limit(storage.properties, conf.value(LINE_BYTES))


def files_by_format(
    files: Sequence[DataFile], storage: StorageFormat
) -> Iterator[tuple[StorageFormat, list[DataFile]]]:
    """Groups of adjacent files with the same format."""
    for form, members in itertools.groupby(files, key=lambda file: file.form):
        yield partition_format_from_text(form)[0] or storage, list(members)


_END_BYTES = 24
_KINDS: dict[str, Callable[[bytes, bytes], bool]] = {
    "parquet": lambda head, end: head[:3] == b"PAR" and end[-4:] in (b"PAR1", b"PARE"),
    "orc": lambda head, end: head[:3] == end[-4:-1] == b"ORC",
    "avro": lambda head, _: head[:4] == b"Obj\x01",
    "rcfile": lambda head, _: head[:4] == b"RCF\x01" and head[4:5] in (b"\0", b"\x01"),
    "sequencefile": lambda head, _: head[:4] == b"SEQ\x06",
}
"""Tests for each format, by name, on the first and last bytes of a file."""
_SHOWN = {"parquet": "a Parquet", "orc": "an ORC", "avro": "an Avro", "rcfile": "an RC", "sequencefile": "a sequence"}
_OLD_FORM = {"rcfile": "sequencefile"}
"""Formats whose first version begins like another format."""


def check_format(files: Sequence[DataFile], name: str) -> None:
    """Raise SourceError 22000 for a file that the named format cannot read. Empty files fit any format."""
    map_files(lambda file: _check_ends(file, name), [file for file in files if file.size_bytes])


def _check_ends(file: DataFile, name: str) -> None:
    try:
        with mapped(file) as data:
            size = len(data)
            head, end = data[:_END_BYTES], data[max(size - _END_BYTES, 0) : size]
    except OSError as error:
        raise io_error(error, file.path) from None
    found = next((one for one, is_kind in _KINDS.items() if is_kind(head, end)), None)
    wanted = name if name in _KINDS else None
    if found == wanted or (found is not None and found == _OLD_FORM.get(name)):
        return
    if wanted == "orc" and found is None and head[:3] == b"ORC":
        # The oldest ORC files are marked only at their start.
        return
    shown, path = _SHOWN.get(name, "a text"), uri.redacted(file.path)
    message = f'"{path}" is not {shown} file' + (f", but {_SHOWN[found]} file" if found is not None else "")
    hint = "load it into a table of its own format, and INSERT from that"
    raise SourceError(message, hint=hint, sqlstate="22000")
