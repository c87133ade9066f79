"""Layout of CSV files that nobody has described, found by DuckDB's sniffer in the first of them."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence

import duckdb

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.sources.failures import io_error
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.interrupted_queries import interrupted_with_statement
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import Properties

_SNIFF = "SELECT Delimiter, Quote, Escape, Comment, HasHeader, SkipRows FROM sniff_csv(?)"
_NONE = ("", "\0", "(empty)")
"""How DuckDB says that there is no such character."""
_CODECS = ("gzip", "zstd")
"""Codecs of whole files that DuckDB reads."""
_CHUNK_BYTES = 4 << 20


def sniffed_properties(files: Sequence[DataFile]) -> Properties:
    """Options of USING csv that suit some files, whose types are to be told by all values. SourceError where their
    content tells no layout.
    """
    path = next((file.path for file in files if file.size_bytes), None)
    if path is None:
        raise SourceError("the columns of CSV files are not known: they have no row", sqlstate="42000")
    separator, quote, escape, comment, has_header = _sniffed(path)
    quote = '"' if quote in _NONE else quote
    # A quote within quotes is written twice, unless the file has another way.
    escape = quote if escape in _NONE else escape
    options = {
        "sep": separator,
        "quote": quote,
        "escape": escape,
        "header": "true" if has_header else "false",
        "inferSchema": "true",
        # A line break may be inside of quotes; without any, places in the files begin rows.
        "multiLine": "true" if _have(quote.encode(), (file.path for file in files)) else "false",
    }
    if comment not in _NONE:
        options["comment"] = comment
    return tuple(options.items())


def _sniffed(path: str) -> tuple[str, str, str, str, bool]:
    codec = codec_of_path(path)
    if codec is not None and codec.name not in _CODECS:
        hint = "make a table of it: CREATE TABLE t USING csv OPTIONS (header …) LOCATION '…'"
        message = f'the compression {codec.name} of the CSV file "{path}", whose layout nobody says'
        raise UnsupportedError(message, hint=hint)
    try:
        with duckdb.connect(config={"threads": 1}) as connection, interrupted_with_statement(connection):
            row = connection.execute(_SNIFF, [glob.escape(path)]).fetchone()
    except duckdb.Error as error:
        check_cancelled()
        reason = str(error).splitlines()[0]
        hint = "make a table of it: CREATE EXTERNAL TABLE t (…) USING csv OPTIONS (…)"
        raise SourceError(f'the layout of the CSV file "{path}" is not clear: {reason}', hint=hint) from None
    separator, quote, escape, comment, has_header, num_skipped = row or (",", "", "", "", True, 0)
    if num_skipped:
        raise UnsupportedError(f'lines above the header of the CSV file "{path}": {num_skipped} of them')
    return separator, quote, escape, comment, bool(has_header)


def _have(character: bytes, paths: Iterable[str]) -> bool:
    """Whether one of the files has the character; those that are compressed may."""
    return any(codec_of_path(path) is not None or _has(character, path) for path in paths)


def _has(character: bytes, path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK_BYTES):
                check_cancelled()
                if character in chunk:
                    return True
    except OSError as error:
        raise io_error(error, path) from None
    return False
