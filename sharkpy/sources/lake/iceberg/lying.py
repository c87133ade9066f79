"""Iceberg tables that are in no catalog here: the newest metadata in their folders count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import StaticTable

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.sources.failures import io_error
from sharkpy.sources.lake.iceberg.files import LakeIO
from sharkpy.sources.storage.store import ObjectFacts

_METADATA = re.compile(r"v?(\d{1,18})[^/]*\.metadata\.json")
_SUFFIX = ".metadata.json"


def newest_metadata(folder: str, files: LakeIO) -> ObjectFacts:
    """Newest metadata file of a table in a folder, or the metadata file at the location itself.

    If another table has replaced this one, its metadata may have the same name, but another time, size or tag.
    """
    if folder.endswith(_SUFFIX):
        found = _facts(folder, files)
        if found is None:
            raise SourceError(f'file or folder "{uri.redacted(folder)}" does not exist', sqlstate="58P01")
        return found
    numbered = [
        (int(match.group(1)), one.modified_ns, one.path, one)
        for one in _in_folder(uri.join(folder, "metadata"), files)
        if (match := _METADATA.fullmatch(uri.name_of(one.path))) is not None
    ]
    if not numbered:
        hint = "its folder has a folder metadata in it"
        raise SourceError(f'no table of Iceberg is in "{uri.redacted(folder)}"', hint=hint, sqlstate="58P01")
    return max(numbered, key=lambda one: one[:3])[3]


def _in_folder(folder: str, files: LakeIO) -> Iterator[ObjectFacts]:
    if uri.is_remote(folder):
        yield from files.store(folder).children(folder)[0]
        return
    try:
        for path in Path(folder).iterdir():
            if (facts := _facts(str(path), files)) is not None:
                yield facts
    except OSError as error:
        raise io_error(error, folder) from None


def _facts(path: str, files: LakeIO) -> ObjectFacts | None:
    if uri.is_remote(path):
        return files.facts(path)
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return ObjectFacts(path, status.st_size, status.st_mtime_ns)


def static_table(place: str, files: LakeIO) -> StaticTable:
    """Table of a metadata file: like `StaticTable.from_metadata`, but with the engine's file access."""
    metadata = FromInputFile.table_metadata(files.new_input(place))
    return StaticTable(("static-table", place), metadata, place, files, NoopCatalog("static-table"))
