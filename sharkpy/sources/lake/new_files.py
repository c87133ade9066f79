"""Footers of the data files that a write has made for a lake table."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.sources.failures import format_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import local_copy, store_with
from sharkpy.sources.parquet import open_file


def footer_of(path: str, access_id: str) -> tuple[pq.FileMetaData, int]:
    """Footer of a new file, and its modification time in nanoseconds."""
    if not uri.is_remote(path):
        try:
            return pq.read_metadata(path), os.stat(path).st_mtime_ns  # noqa: PTH116
        except (pa.ArrowException, OSError) as error:
            raise format_error(path, "Parquet", error) from None
    facts = store_with(path, access_id).stat(path)
    if facts is None:
        raise SourceError(f'"{uri.redacted(path)}" was removed while it was written', sqlstate="58P01")
    file = DataFile(path, facts.size_bytes, facts.modified_ns, tag=facts.tag, access=access_id)
    with open_file(file, local_copy(file)) as opened:
        return opened.metadata, facts.modified_ns
