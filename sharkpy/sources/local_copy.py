"""Data files for reading: local ones are opened directly, remote ones as copies of the parts that are read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar, cast

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, current_cancellation, submit
from sharkpy.catalog.path_gate import read_whole
from sharkpy.sources.failures import io_error
from sharkpy.sources.hadoop_codecs import HadoopCodec
from sharkpy.sources.layout import NEVER_MODIFIED, DataFile
from sharkpy.sources.side_by_side import side_by_side
from sharkpy.sources.split import Split
from sharkpy.sources.storage.access import ACCESSES
from sharkpy.sources.storage.errors import changed
from sharkpy.sources.storage.fetched_files import FETCHED, FetchedFile
from sharkpy.sources.storage.range_reader import RangeReader
from sharkpy.sources.storage.ranges import Range
from sharkpy.sources.storage.store import ObjectFacts, Store

T = TypeVar("T")
F = TypeVar("F", DataFile, Split)


class LocalCopy(Protocol):
    """File that readers open at `path`, valid as long as this object exists."""

    @property
    def path(self) -> str: ...

    @property
    def is_whole(self) -> bool:
        """True if all bytes are present and need not be fetched."""

    def fetch(self, ranges: Iterable[Range]) -> None:
        """Fetch some ranges of bytes, if they are missing."""

    def steps(self, count: int, ranges_of: Callable[[int], Sequence[Range]]) -> Generator[int]:
        """Numbers of a reader's steps, each when its ranges are present. The ranges of the next step are fetched
        meanwhile.
        """


class _LocalFile:
    """Local file, all of whose bytes are present."""

    is_whole = True

    def __init__(self, path: str) -> None:
        self.path = path

    def fetch(self, ranges: Iterable[Range]) -> None:
        pass

    def steps(self, count: int, ranges_of: Callable[[int], Sequence[Range]]) -> Generator[int]:  # noqa: ARG002
        yield from range(count)


class _RemoteFile:
    """Remote file, with the bytes present that were fetched."""

    is_whole = False

    def __init__(self, file: FetchedFile, store: Store) -> None:
        self._file = file
        self._store = store

    @property
    def path(self) -> str:
        return self._file.path

    def fetch(self, ranges: Iterable[Range]) -> None:
        self._file.fetch(self._store, ranges)

    def steps(self, count: int, ranges_of: Callable[[int], Sequence[Range]]) -> Generator[int]:
        if count < 2:
            for number in range(count):
                self.fetch(ranges_of(number))
                yield number
            return
        reading = Cancellation()
        with (
            reading.following(current_cancellation()),
            ThreadPoolExecutor(1, thread_name_prefix="sharkpy-fetch") as pool,
        ):
            try:
                coming = submit(pool, self._fetch_under, reading, ranges_of(0))
                for number in range(count):
                    coming.result()
                    if number + 1 < count:
                        coming = submit(pool, self._fetch_under, reading, ranges_of(number + 1))
                    yield number
            finally:
                # Stop fetching for a reader that stops early.
                reading.cancel()

    def _fetch_under(self, reading: Cancellation, ranges: Sequence[Range]) -> None:
        with reading.active():
            self.fetch(ranges)


def local_copy(file: DataFile | Split) -> LocalCopy:
    """Copy of a data file, or of a split's file, for readers that need a path."""
    if not uri.is_remote(file.path):
        return _LocalFile(file.path)
    return _RemoteFile(FETCHED.file(facts_of(file), file.access), store_at(file))


def of_each(make: Callable[[F], T], files: Sequence[F]) -> list[T]:
    """Results of `make` for data files or splits; several remote ones are read in parallel."""
    return side_by_side(make, files) if any(file.access for file in files) else [make(file) for file in files]


def opened(file: DataFile | Split, start: int = 0, end: int | None = None) -> BinaryIO:
    """Open a data file, or a split's file, unbuffered, for reading from `start` on. `end`: end of most reads."""
    if not uri.is_remote(file.path):
        return cast(BinaryIO, open(file.path, "rb", buffering=0))
    return cast(BinaryIO, RangeReader(store_at(file), facts_of(file), start, end))


def small_text(facts: ObjectFacts, access_id: str) -> str:
    """Text of a small remote file, read by `read_whole`."""
    with cast(BinaryIO, RangeReader(store_with(facts.path, access_id), facts)) as file:
        return read_whole(file, uri.redacted(facts.path))


def opened_codec(file: DataFile | Split, codec: HadoopCodec) -> BinaryIO:
    """Open a compressed data file, or a split's file, for reading its decompressed content."""
    return codec.stream(opened(file) if uri.is_remote(file.path) else file.path)


def check_unchanged(split: Split) -> None:
    """Raise SourceError if the file is gone or was changed after the split was made.

    Remote files with tags are not checked here: each request for their bytes does that.
    """
    if not uri.is_remote(split.path):
        try:
            status = Path(split.path).stat()
        except OSError as error:
            raise io_error(error, split.path) from None
        modified_ns = status.st_mtime_ns if split.modified_ns != NEVER_MODIFIED else NEVER_MODIFIED
        if (status.st_size, modified_ns) != (split.file_bytes, split.modified_ns):
            raise changed(split.path)
    elif not split.tag and store_at(split).stat(split.path) != facts_of(split):
        raise changed(split.path)


def facts_of(file: DataFile | Split) -> ObjectFacts:
    """Remote object of a data file, or of a split's file."""
    size = file.file_bytes if isinstance(file, Split) else file.size_bytes
    return ObjectFacts(file.path, size, file.modified_ns, file.tag)


def file_of(facts: ObjectFacts, access_id: str) -> DataFile:
    """Data file for a remote object, with this access."""
    return DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag, access=access_id)


def store_at(file: DataFile | Split) -> Store:
    """Store of a remote file, with the file's access."""
    return store_with(file.path, file.access)


def store_with(location: str, access_id: str) -> Store:
    """Store of a remote location, with an access that was found for it."""
    from sharkpy.sources.storage.stores import store_of

    return store_of(location, ACCESSES.find(access_id))
