"""Writing of folded files into a staging folder. A remote one is written from this machine's disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sharkpy.base import uri
from sharkpy.catalog.model import Table
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.fold_files import fold_files
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.folders.table_folder import Access
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import data_file_of, local_copy, store_for_access


def write_fold(files: Sequence[DataFile], table: Table, staging: str, access: Access, temp_dir: str) -> bool:
    """Fold files like `fold_files`. Remote files are copied to `temp_dir` first. Return False if not worthwhile."""
    if not uri.is_remote(staging):
        return fold_files([file.path for file in files], table.data_schema, table.storage, staging)
    try:
        with tempfile.TemporaryDirectory(dir=temp_dir) as folder, _copies(files, Path(folder)) as paths:
            target = Path(folder, "fold")
            target.mkdir()
            if not fold_files(paths, table.data_schema, table.storage, str(target)):
                return False
            for path in target.iterdir():
                _put(path, staging, access(staging))
    except OSError as error:
        raise io_error(error, temp_dir) from None
    return True


@contextmanager
def _copies(files: Sequence[DataFile], folder: Path) -> Iterator[list[str]]:
    """Yield the paths of local copies of remote files, whose names end like the originals."""
    copies = [local_copy(file) for file in files]
    paths = list[str]()
    for number, (file, copy) in enumerate(zip(files, copies, strict=True)):
        copy.fetch([(0, file.size_bytes)])
        path = folder / f"{number:07d}-{uri.name_of(file.path)}"
        path.symlink_to(copy.path)
        paths.append(str(path))
    yield paths
    copies.clear()


def _put(path: Path, staging: str, access_id: str) -> None:
    with open(path, "rb") as file:
        facts = store_for_access(staging, access_id).put(uri.join(staging, path.name), file)
    STAGED.report(staging, [data_file_of(facts, access_id)])
