"""Folding of small data files into one, with the same rows in the same order."""

from __future__ import annotations

import shutil
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from pathlib import Path

from sharkpy.catalog.model import StorageFormat
from sharkpy.sources.formats import file_suffix, source
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.new_files import output_file
from sharkpy.values.types import Schema, arrow_schema

_LINE_PROPERTIES = ("skip.header.line.count", "skip.footer.line.count", "line.delim", "multiLine")
"""Properties with which the lines of two files cannot be concatenated."""
_Fold = Callable[[Sequence[str], Schema, StorageFormat, str], bool]


def is_foldable(storage: StorageFormat) -> bool:
    """False if files of the format are never folded."""
    return _fold_of(storage) is not None


def fold_files(paths: Sequence[str], schema: Schema, storage: StorageFormat, folder: str) -> bool:
    """Write the rows of `paths`, in this order, to one new file in `folder`.

    False if that could lose data of the files that is not in the rows, such as columns that the table no longer has.
    """
    fold = _fold_of(storage)
    if fold is None:
        return False
    suffix = file_suffix(storage.name, storage.properties)
    return fold(paths, schema, storage, str(Path(folder, f"part-00000{suffix}")))


def _fold_of(storage: StorageFormat) -> _Fold | None:
    from sharkpy.sources.text_files import LineSource

    if storage.name == "parquet":
        return _fold_parquet
    is_by_lines = isinstance(source(storage.name), LineSource)
    has_plain_lines = is_by_lines and not dict(storage.properties).keys() & set(_LINE_PROPERTIES)
    return _fold_lines if has_plain_lines else None


def _fold_parquet(paths: Sequence[str], schema: Schema, storage: StorageFormat, target: str) -> bool:
    import pyarrow.parquet as pq

    expected = arrow_schema(schema)
    if not all(pq.read_schema(path).equals(expected) for path in paths):
        return False
    batches = (batch for path in paths for batch in pq.ParquetFile(path).iter_batches())
    source(storage.name).write(batches, schema, storage.properties, target)
    return True


def _fold_lines(paths: Sequence[str], _schema: Schema, _storage: StorageFormat, target: str) -> bool:
    """Concatenate text files; False if one is compressed, has another suffix, or begins with a byte order mark."""
    suffix = Path(target).suffix
    if codec_of_path(target) is not None or any(Path(path).suffix != suffix for path in paths):
        return False
    if any(_begins_with_mark(path) for path in paths[1:]):
        return False
    with output_file(target) as file:
        for path in paths:
            with open(path, "rb") as part:
                shutil.copyfileobj(part, file, 1 << 20)
            if file.tell() and not _ends_line(path):
                file.write(b"\n")
    return True


def _begins_with_mark(path: str) -> bool:
    """True if the file begins with a byte order mark, which would become part of a row."""
    with open(path, "rb") as file:
        return file.read(len(BOM_UTF8)) == BOM_UTF8


def _ends_line(path: str) -> bool:
    with open(path, "rb") as file:
        if not file.seek(0, 2):
            return True
        file.seek(-1, 2)
        return file.read(1) in b"\r\n"
