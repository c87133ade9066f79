"""Files of Iceberg's metadata, local or remote.

The properties of a table have no influence: some name code to run, or servers and keys. A file is accessed like any
other of the engine, with the session's access. All files of a local table are local, and all files of a remote
table are remote.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.typedef import EMPTY_DICT, Properties

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import InternalError, SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.lake_tables import lake_path
from sharkpy.sources.lake.iceberg.metadata_bytes import check_size, plain_metadata, plain_name
from sharkpy.sources.lake.lake_format import LakeReach
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.storage.access import ACCESSES, StorageAccess
from sharkpy.sources.storage.store import ObjectFacts, Store

_PIECE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class FileContext:
    """How to find the files of one table: the session's reach, and the table's folder if it is known.

    `is_named`: a statement names the table by its location, so it is not a table of the catalog.
    """

    reach: LakeReach
    folder: str | None
    is_named: bool = False


_CONTEXT: ContextVar[FileContext] = ContextVar("sharkpy_lake_finding")


@contextmanager
def file_context(found: FileContext) -> Iterator[None]:
    """Use `found` for the files that pyiceberg opens in the body, in this thread."""
    token = _CONTEXT.set(found)
    try:
        yield
    finally:
        _CONTEXT.reset(token)


class LakeIO(FileIO):  # type: ignore[misc]
    """Files of one table, in the current `file_context`. `given`: access to its folder that its catalog has given."""

    def __init__(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> None:  # noqa: ARG002
        super().__init__()
        found = _CONTEXT.get(None)
        if found is None:
            raise InternalError("files of Iceberg without a session that reaches them")
        self.found = found
        self.folder = found.folder if found.folder is not None else _folder_of(location)
        self.given: StorageAccess | None = None

    def path(self, location: str) -> str:
        """Path or URI of a file that metadata name. UnsupportedError for a remote file of a local table, and the other
        way round.
        """
        path = lake_path(location)
        if self.folder is not None and uri.is_remote(path) != uri.is_remote(self.folder):
            where = "local" if uri.is_remote(self.folder) else "remote"
            raise UnsupportedError(
                f'the {where} file "{uri.redacted(path)}" of a table in "{uri.redacted(self.folder)}"'
            )
        return path

    def access_id(self, path: str) -> str:
        """Id of the access to a file; empty for a local one."""
        if not uri.is_remote(path):
            return ""
        if self.given is not None and self.folder is not None and uri.below(path, self.folder) is not None:
            ACCESSES.note((self.given,))
            return self.given.id
        return self.found.reach.access_id(path, None if self.found.is_named else self.folder)

    def store(self, path: str) -> Store:
        return store_for_access(path, self.access_id(path))

    def new_input(self, location: str) -> InputFile:
        return _Input(self, location)

    def new_output(self, location: str) -> OutputFile:
        return _Output(self, location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        path = self.path(location if isinstance(location, str) else location.location)
        self.store(path).delete([path])

    def facts(self, path: str) -> ObjectFacts | None:
        """Facts of a file; None if it does not exist."""
        return self.store(path).stat(path)

    def read(self, path: str) -> bytes:
        """Content of a file of at most MOST_BYTES. FileNotFoundError if it does not exist, since pyiceberg expects
        that.
        """
        facts = self.facts(path)
        if facts is None:
            raise FileNotFoundError(f'"{uri.redacted(path)}" does not exist')
        check_size(facts.size_bytes, uri.redacted(path))
        size = facts.size_bytes
        pieces = [(start, min(start + _PIECE_BYTES, size)) for start in range(0, size, _PIECE_BYTES)]
        return b"".join(checked(self.store(path).read(facts, pieces)))


def _folder_of(metadata_location: str | None) -> str | None:
    """Folder of the table to which a metadata file belongs."""
    return None if metadata_location is None else uri.parent(uri.parent(lake_path(metadata_location)))


class _Input(InputFile):  # type: ignore[misc]
    """Metadata file that is read whole, and decompressed."""

    def __init__(self, files: LakeIO, location: str) -> None:
        super().__init__(plain_name(location))
        self._files = files
        self._path = files.path(location)

    def __len__(self) -> int:
        facts = self._files.facts(self._path)
        if facts is None:
            raise FileNotFoundError(f'"{uri.redacted(self._path)}" does not exist')
        return facts.size_bytes

    def exists(self) -> bool:
        return self._files.facts(self._path) is not None

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - the whole content is in memory
        return io.BytesIO(plain_metadata(self._files.read(self._path), uri.redacted(self._path)))


class _Output(OutputFile):  # type: ignore[misc]
    """Metadata file that is written when it is complete."""

    def __init__(self, files: LakeIO, location: str) -> None:
        super().__init__(location)
        self._files = files
        self._path = files.path(location)

    def __len__(self) -> int:
        return len(self.to_input_file())

    def exists(self) -> bool:
        return bool(self.to_input_file().exists())

    def to_input_file(self) -> InputFile:
        return self._files.new_input(self.location)

    def create(self, overwrite: bool = False) -> OutputStream:
        if not overwrite and self.exists():
            raise FileExistsError(f'"{uri.redacted(self._path)}" is there already')
        return _Content(self._files, self._path, overwrite)


class _Content(io.BytesIO):
    """Content of a file, which is put when it is closed without an error."""

    def __init__(self, files: LakeIO, path: str, overwrite: bool) -> None:
        super().__init__()
        self._files = files
        self._path = path
        self._overwrite = overwrite

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is not None:
            super().close()
        super().__exit__(kind, *rest)

    def close(self) -> None:
        if self.closed:
            return
        content = self.getvalue()
        super().close()
        store = self._files.store(self._path)
        if self._overwrite or not store.traits.puts_new:
            store.put(self._path, content)
        elif not store.put_new(self._path, content) and self._files.read(self._path) != content:
            raise SourceError(f'"{uri.redacted(self._path)}" was written by another process meanwhile')
