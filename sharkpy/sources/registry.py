"""Formats by name."""

from __future__ import annotations

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.lake_tables import LAKES
from sharkpy.sources.avro import AvroSource
from sharkpy.sources.bad_rows.records import BadRecords
from sharkpy.sources.csv_files.options import csv_options
from sharkpy.sources.csv_files.source import CsvSource
from sharkpy.sources.generated_rows import GeneratedRows
from sharkpy.sources.hadoop_codecs import OUTPUT_CODEC, HadoopCodec, codec_of_class
from sharkpy.sources.json_source import JsonSource
from sharkpy.sources.kafka.records import KafkaRecords
from sharkpy.sources.lake.parquet_files import LakeParquet
from sharkpy.sources.line_source import LineSource
from sharkpy.sources.orc import OrcSource
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.rcfile import RcFileSource
from sharkpy.sources.rows.csv_rows import CsvRows
from sharkpy.sources.rows.delimited import DelimitedRows
from sharkpy.sources.rows.multi_delimited import MultiDelimitedRows
from sharkpy.sources.rows.regex_rows import RegexRows
from sharkpy.sources.sequence_file import SequenceFileSource
from sharkpy.sources.source import Properties, Source

SOURCES: dict[str, Source] = {
    "text": LineSource("text", DelimitedRows()),
    "json": JsonSource(),
    "csv": LineSource("csv", CsvRows()),
    CSV: CsvSource(),
    "regex": LineSource("regex", RegexRows()),
    "multidelimit": LineSource("multidelimit", MultiDelimitedRows()),
    "sequencefile": SequenceFileSource(),
    "rcfile": RcFileSource(),
    "avro": AvroSource(),
    "parquet": ParquetSource(),
    "orc": OrcSource(),
}

_OF_STREAMS: dict[str, Source] = {
    KafkaRecords.name: KafkaRecords(),
    GeneratedRows.name: GeneratedRows(),
    BadRecords.name: BadRecords(),
}
"""Formats of streams' splits without files."""

_OF_LAKES: dict[str, Source] = {name: LakeParquet(name) for name in LAKES}
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


def source(format_name: str) -> Source:
    """Format by name, ignoring case; UnsupportedError for an unknown one."""
    name = format_name.lower()
    found = SOURCES.get(name) or _OF_STREAMS.get(name) or _OF_LAKES.get(name)
    if found is None:
        raise UnsupportedError(f'file format "{format_name}" (known: {", ".join(SOURCES)})')
    return found


def file_suffix(format_name: str, properties: Properties) -> str:
    """Suffix of the names of new files. For a text file it includes the suffix of its codec."""
    suffix = _SUFFIXES.get(format_name, "")
    codec = _file_codec(format_name, properties)
    return suffix if codec is None else suffix + codec.suffix


def _file_codec(format_name: str, properties: Properties) -> HadoopCodec | None:
    """Codec of whole files, for text formats only."""
    if format_name == CSV:
        return csv_options(properties).codec
    name = dict(properties).get(OUTPUT_CODEC)
    return codec_of_class(name) if name and isinstance(source(format_name), LineSource) else None
