"""Files of Iceberg's metadata: local and regular ones alone, whatever the properties of a table say."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyarrow.fs import LocalFileSystem
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import StaticTable

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.catalog.lake_tables import lake_path

_OF_CODE = ("py-io-impl", "write.py-location-provider.impl")
"""Properties with the name of what pyiceberg imports and calls."""
_OF_PLACES = ("write.metadata.path", "write.data.path")
"""Properties with folders beside the table's own."""

_OF_STORAGE = ("s3.", "client.", "glue.", "dynamodb.", "adls.", "gcs.", "hdfs.", "hf.", "oss.")
"""Beginnings of properties with servers of storage, and with the keys to them."""


class LocalFiles(FileIO):  # type: ignore[misc]
    """Local files. Properties are not asked: `py-io-impl` among them names code to run, others name servers."""

    def new_input(self, location: str) -> InputFile:
        path = lake_path(location)
        _require_regular(path)
        return PyArrowFile(location, path, LocalFileSystem())

    def new_output(self, location: str) -> OutputFile:
        return PyArrowFile(location, lake_path(location), LocalFileSystem())

    def delete(self, location: str | InputFile | OutputFile) -> None:
        Path(lake_path(location if isinstance(location, str) else location.location)).unlink()


def _require_regular(path: str) -> None:
    """SourceError for a pipe or a device, which may block or never end. Who opens a file sees that it is missing."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        raise SourceError(f'"{path}" is no regular file')


def only_local_files(catalog: Catalog) -> Catalog:
    """The catalog, whose tables are reached by `LocalFiles`, and by nothing that their properties name."""
    found: Any = catalog
    found._load_file_io = lambda *_, **__: LocalFiles()
    return catalog


def static_table(place: str) -> StaticTable:
    """Table that a file of metadata tells of, as `StaticTable.from_metadata` has it, but for its files."""
    files = LocalFiles()
    metadata = FromInputFile.table_metadata(files.new_input(place))
    return StaticTable(("static-table", place), metadata, place, files, NoopCatalog("static-table"))


def check_settable(properties: Iterable[str]) -> None:
    """UnsupportedError for a property that leads pyiceberg to code, or out of a table's folder; and for one of storage,
    which may be a key that everybody would see.
    """
    if found := next((key for key in properties if key in _OF_CODE + _OF_PLACES or key.startswith(_OF_STORAGE)), None):
        raise UnsupportedError(f"setting the property {found} of a table of Iceberg")


def check_writable(name: str, properties: Iterable[str]) -> None:
    """UnsupportedError for a table with properties that name code: commits would run it."""
    if found := next((key for key in properties if key in _OF_CODE), None):
        raise UnsupportedError(f"writing {name}, a table of Iceberg with the property {found}")


def shown(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of a table that others have set, without those of storage: there may be keys among them."""
    return {key: value for key, value in properties.items() if not key.startswith(_OF_STORAGE)}
