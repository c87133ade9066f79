"""The formats by name."""

from __future__ import annotations

from sharkpy.errors import UnsupportedError
from sharkpy.sources.json_lines import JsonLinesSource
from sharkpy.sources.orc import OrcSource
from sharkpy.sources.parquet import ParquetSource
from sharkpy.sources.source import Source
from sharkpy.sources.text import TextSource

SOURCES: dict[str, Source] = {
    "text": TextSource(),
    "parquet": ParquetSource(),
    "orc": OrcSource(),
    "json": JsonLinesSource(),
}

FILE_SUFFIXES = {"text": ".txt", "parquet": ".parquet", "orc": ".orc", "json": ".json"}


def source(format_name: str) -> Source:
    """UnsupportedError where the engine has no such format."""
    found = SOURCES.get(format_name.lower())
    if found is None:
        raise UnsupportedError(f'file format "{format_name}" (known: {", ".join(SOURCES)})')
    return found
