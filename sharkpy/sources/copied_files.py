"""Copies of files between locations, on this machine and in stores, and deletion of the originals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sharkpy.base import uri
from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SharkError, SourceError
from sharkpy.sources.failures import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import facts_of, opened, store_at, store_with
from sharkpy.sources.output_file import output_file
from sharkpy.sources.side_by_side import side_by_side
from sharkpy.sources.storage.store import ObjectFacts, Store

_AT_ONCE = 4
"""Files whose bytes pass through this process at the same time: each may have up to 100 MB in flight."""
_PIECE_BYTES = 4 << 20


def copy_files(copies: Sequence[tuple[DataFile, str]], access_id: str = "") -> list[DataFile]:
    """Copy files, each to its own path, remote ones in parallel; return the copies. `access_id`: the access to remote
    paths.

    A store copies files within itself; other bytes pass through this process. The first failure is raised. The caller
    has to remove the copies made so far; unfinished copies are never visible.
    """
    if not any(uri.is_remote(file.path) or uri.is_remote(target) for file, target in copies):
        return [_copy(one, "") for one in copies]
    within = [one for one in copies if is_within_store(*one, access_id)]
    through = [one for one in copies if not is_within_store(*one, access_id)]
    copy = partial(_copy, access_id=access_id)
    made = {one.path: one for one in (*side_by_side(copy, within), *side_by_side(copy, through, _AT_ONCE))}
    return [made[target] for _, target in copies]


def delete_unchanged(files: Iterable[DataFile]) -> None:
    """Delete files that have been copied.

    SourceError 58030 for the first file that stays, because it was changed meanwhile or cannot be deleted. All other
    files are deleted.
    """
    failed: list[SharkError] = []

    def delete(file: DataFile) -> None:
        try:
            _delete(file)
        except SharkError as error:
            failed.append(error)

    side_by_side(delete, list(files))
    if failed:
        raise failed[0]


def is_within_store(file: DataFile, target: str, access_id: str) -> bool:
    """True if one store holds both a file and its copy, and can copy within itself."""
    if not (uri.is_remote(file.path) and uri.is_remote(target)):
        return False
    return store_at(file) is store_with(target, access_id)


def _copy(copy: tuple[DataFile, str], access_id: str) -> DataFile:
    file, target = copy
    check_cancelled()
    if not uri.is_remote(target):
        return _to_local(file, target)
    store = store_with(target, access_id)
    if is_within_store(file, target, access_id):
        facts = store.copy(facts_of(file), target)
    elif file.access:
        # Not closed: a thread of the store's library may still read it if the statement was cancelled.
        facts = store.put(target, opened(file))
    else:
        facts = _put_local(file, target, store)
    return DataFile(target, facts.size_bytes, facts.modified_ns, tag=facts.tag, access=access_id)


def _put_local(file: DataFile, target: str, store: Store) -> ObjectFacts:
    try:
        with opened(file) as content:
            return store.put(target, content)
    except OSError as error:
        raise io_error(error, file.path) from None


def _to_local(file: DataFile, target: str) -> DataFile:
    try:
        with opened(file) as source, output_file(target) as copy:
            _write_all(source, copy)
        status = Path(target).stat()
    except OSError as error:
        raise io_error(error, file.path) from None
    if status.st_size != file.size_bytes and file.access:
        raise SourceError(f'"{uri.redacted(file.path)}" gave {status.st_size} bytes instead of {file.size_bytes}')
    return replace(file, path=target, size_bytes=status.st_size, modified_ns=status.st_mtime_ns, tag="", access="")


def _write_all(source: BinaryIO, copy: BinaryIO) -> None:
    while piece := source.read(_PIECE_BYTES):
        check_cancelled()
        copy.write(piece)


def _delete(file: DataFile) -> None:
    if uri.is_remote(file.path):
        store = store_at(file)
        if (found := store.stat(file.path)) is None:
            return
        if found != facts_of(file):
            raise SourceError(f'"{uri.redacted(file.path)}" was changed after it was copied')
        store.delete([file.path])
        return
    try:
        Path(file.path).unlink(missing_ok=True)
    except OSError as error:
        raise io_error(error, file.path) from None
