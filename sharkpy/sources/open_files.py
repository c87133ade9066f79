"""Open data files for reading: local ones directly, remote ones as sparse local copies of the parts that are read.

`local_copy` is for readers that need a path, `opened` reads from start to end, `mapped` is for readers that jump.
"""

from __future__ import annotations

import mmap
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import BinaryIO, Protocol, TypeVar, cast, overload

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled, current_cancellation, submit
from sharkpy.catalog.path_gate import read_whole
from sharkpy.sources.binary_values import FileBytes
from sharkpy.sources.file_errors import missing
from sharkpy.sources.hadoop_codecs import HadoopCodec
from sharkpy.sources.layout import NEVER_MODIFIED, DataFile
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.source import Split
from sharkpy.sources.storage.access import ACCESSES
from sharkpy.sources.storage.errors import changed
from sharkpy.sources.storage.fetched_files import FETCHED, FetchedFile, Range, RangeReader
from sharkpy.sources.storage.local_store import LOCAL
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
    store = store_of_file(file)
    if store.traits.is_local:
        return _LocalFile(file.path)
    return _RemoteFile(FETCHED.file(object_of_file(file), file.access), store)


def map_files(make: Callable[[F], T], files: Sequence[F]) -> list[T]:
    """Results of `make` for data files or splits; several remote ones are read in parallel."""
    return parallel_map(make, files) if any(file.access for file in files) else [make(file) for file in files]


def opened(file: DataFile | Split, start: int = 0, end: int | None = None) -> BinaryIO:
    """Open a data file, or a split's file, unbuffered, for reading from `start` on. `end`: end of most reads."""
    store = store_of_file(file)
    if store.traits.is_local:
        return cast(BinaryIO, open(file.path, "rb", buffering=0))
    return cast(BinaryIO, RangeReader(store, object_of_file(file), start, end))


def read_small_text(facts: ObjectFacts, access_id: str) -> str:
    """Text of a small remote file, read by `read_whole`."""
    with cast(BinaryIO, RangeReader(store_for_access(facts.path, access_id), facts)) as file:
        return read_whole(file, uri.redacted(facts.path))


def opened_decompressed(file: DataFile | Split, codec: HadoopCodec) -> BinaryIO:
    """Open a compressed data file, or a split's file, for reading its decompressed content."""
    return codec.stream(file.path if store_of_file(file).traits.is_local else opened(file))


def check_unchanged(split: Split) -> None:
    """Raise SourceError if the file is gone or was changed after the split was made.

    Files with tags are not checked here: each request for their bytes does that.
    """
    if split.tag:
        return
    found = store_of_file(split).stat(split.path)
    if found is None:
        raise missing(split.path)
    if split.modified_ns == NEVER_MODIFIED:
        found = replace(found, modified_ns=NEVER_MODIFIED)
    if found != object_of_file(split):
        raise changed(split.path)


def object_of_file(file: DataFile | Split) -> ObjectFacts:
    """Object of a data file, or of a split's file."""
    size = file.file_bytes if isinstance(file, Split) else file.size_bytes
    return ObjectFacts(file.path, size, file.modified_ns, file.tag)


def data_file_of(facts: ObjectFacts, access_id: str) -> DataFile:
    """Data file for an object, with this access."""
    return DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag, access=access_id)


def store_of_file(file: DataFile | Split) -> Store:
    """Store of a file, with the file's access."""
    return store_for_access(file.path, file.access)


def store_for_access(location: str, access_id: str) -> Store:
    """Store of a location, with an access that was found for it; a local path needs none."""
    if not uri.is_remote(location):
        return LOCAL
    from sharkpy.sources.storage.stores import store_of

    return store_of(location, ACCESSES.find(access_id))


_HEAD_BYTES = 64 << 10
"""Bytes of a header, and bytes after a split that are fetched with it."""
_STEP_BYTES = 256 << 10
_SEARCHED_BYTES = 1 << 20


class _MappedCopy:
    """Bytes of a remote file; missing ones are fetched on access."""

    def __init__(self, copy: LocalCopy, size: int, start: int, end: int) -> None:
        """Map a copy; most reads are between `start` and `end`."""
        self._copy = copy
        self._size = size
        self._low, self._high = start, min(end + _HEAD_BYTES, size)
        copy.fetch([(0, _HEAD_BYTES), (self._low, self._high)])
        with open(copy.path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, key: int, /) -> int: ...

    @overload
    def __getitem__(self, key: slice, /) -> bytes: ...

    def __getitem__(self, key: int | slice, /) -> int | bytes:
        if isinstance(key, slice):
            start, stop, _ = key.indices(self._size)
            self._fetch(start, stop)
            return self._map[start:stop]
        self._fetch(key, min(key + 1, self._size))
        return self._map[key]

    def find(self, sub: bytes, start: int, /) -> int:
        while start < self._size:
            check_cancelled()
            end = min(start + _SEARCHED_BYTES, self._size)
            self._fetch(start, end)
            found = self._map.find(sub, start, end)
            if found >= 0 or end == self._size:
                return found
            start = end - len(sub) + 1
        return -1

    def close(self) -> None:
        self._map.close()

    def _fetch(self, start: int, end: int) -> None:
        if start >= end or (self._low <= start and end <= self._high):
            return
        end = min(max(end, start + _STEP_BYTES), self._size)
        self._copy.fetch([(start, end)])
        if self._low <= start <= self._high:
            self._high = max(self._high, end)
        else:
            self._low, self._high = start, end


@contextmanager
def mapped(file: DataFile | Split) -> Iterator[FileBytes]:
    """Bytes of a data file, or of a split's file, which must not be empty."""
    if store_of_file(file).traits.is_local:
        with open(file.path, "rb") as local, mmap.mmap(local.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data
        return
    start, end = (file.start, file.start + file.length) if isinstance(file, Split) else (0, 0)
    with closing(_MappedCopy(local_copy(file), object_of_file(file).size_bytes, start, end)) as copy:
        yield copy


_MOST = 64
_MOST_CHARACTERS = 1 << 20
"""Longer texts are not cached."""


class _TextCache:
    """Texts that were used last, by access and facts of their files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = OrderedDict[tuple[str, ObjectFacts], str]()

    def read(self, location: str, access_id: str) -> str:
        facts = store_for_access(location, access_id).stat(location)
        if facts is None:
            raise missing(location)
        key = (access_id, facts)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        text = read_small_text(facts, access_id)
        if len(text) <= _MOST_CHARACTERS:
            with self._lock:
                self._known[key] = text
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)
        return text


_texts = _TextCache()


def cached_text(location: str, access_id: str) -> str:
    """Text of a remote file. SourceError 58P01 if it does not exist, 58030 if it is not a text or is too large."""
    return _texts.read(location, access_id)
