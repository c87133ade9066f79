"""Store: the objects of one bucket, container, site, file system or local disk, independent of the kind of storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import BinaryIO, Protocol

from sharkpy.base.records import dataclass
from sharkpy.sources.storage.errors import StoreName


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """An object as its store lists it; path, size, time and tag identify its content.

    `modified_ns`: nanoseconds since 1970, as exact as every kind of answer of the store: whole seconds for objects.
    `tag`: the ETag, in quotes; empty if the store has none. `is_open`: another client is writing the file, if the store
    can tell.
    """

    path: str
    size_bytes: int
    modified_ns: int
    tag: str = ""
    is_open: bool = field(default=False, compare=False)


def is_identified(facts: ObjectFacts) -> bool:
    """False if nothing distinguishes an object from another one with its name and size."""
    return bool(facts.tag or facts.modified_ns)


def content_of(facts: ObjectFacts, store: Store) -> bytes:
    """All bytes of an object, by one request. The caller limits their number."""
    return b"".join(store.read(facts, [(0, facts.size_bytes)]))


UPLOAD = ".sharkpy-upload-"
"""Prefix of the names of unfinished files in stores with folders. Hive and Spark ignore names that begin with a dot."""


def is_upload(path: str) -> bool:
    """True for an unfinished file of a store with folders."""
    return path.rpartition("/")[2].startswith(UPLOAD)


def reaches(folder: str, after: str, until: str) -> bool:
    """True if paths below a folder (ending with a slash) can be after `after` and not after `until`."""
    return (folder > after or after.startswith(folder)) and (not until or folder <= until)


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """Abilities of a store.

    `puts_new`: `put_new` is atomic. `is_sorted`: listings are in the order of names, so that `after` and `until` save
    requests. `has_folders`: there are folders in addition to objects, and a request for each is needed to list them.
    `is_local`: objects are files of this machine, which readers may open and map by their paths.
    """

    writes: bool
    lists: bool
    puts_new: bool
    is_sorted: bool
    has_folders: bool = False
    is_local: bool = False


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Limits on the requests to a store.

    `timeout_seconds`: for a request with all its tries; for each part of an upload. `retries`: number of further tries.
    `requests`: most requests in flight in this process. `part_bytes`: larger objects are uploaded in parts of this
    size.
    """

    timeout_seconds: float = 60.0
    retries: int = 5
    requests: int = 32
    part_bytes: int = 8 << 20


class Store(Protocol):
    """Objects of one bucket, container, site, file system or local disk. Safe to use from several threads.

    1. Paths are whole URIs, or absolute local paths, taken as they are written: nothing in them is encoded.
    2. Every call notices the cancellation of its statement within a tenth of a second, and drops its requests.
    3. Failures are raised as the errors of `storage_failure`. It is not known whether a failed write was carried out.
    4. A read returns the bytes of the object that `facts` describes, or raises SourceError 58030 "was changed".
    5. Iterators request little in advance; a closed iterator drops its requests.
    """

    @property
    def traits(self) -> StoreTraits: ...

    @property
    def name(self) -> StoreName:
        """Name of the store in errors."""

    def stat(self, path: str) -> ObjectFacts | None:
        """Facts of an object; None if there is no object of that name."""

    def has_folder(self, path: str) -> bool:
        """True for a folder, even an empty one, of a store with folders."""

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:
        """All objects below a folder, a page at a time, in the order of names if the store `is_sorted`.

        Only paths after `after` and up to `until` are listed: lists between such bounds may run in parallel. An object
        of no bytes may be another program's marker for a folder, without the slash of its name. A marker with bytes is
        reported like that, too, unless the folder holds nothing else.
        """

    def children(self, folder: str) -> tuple[Sequence[ObjectFacts], Sequence[str]]:
        """Objects directly in a folder, and its subfolders."""

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        """Bytes from `start` up to `end` of each range, in their order, by one request each (see `coalesced`)."""

    def put(self, path: str, content: BinaryIO | bytes) -> ObjectFacts:
        """Put an object, replacing one of that name. A file is read from its position, and has to be seekable."""

    def put_new(self, path: str, content: bytes) -> bool:
        """Put an object if its name is free.

        False: the name is taken, perhaps by an earlier try of this very call whose answer was lost, or another client
        is taking it now.
        """

    def copy(self, source: ObjectFacts, target: str) -> ObjectFacts:
        """Copy an object to another name, replacing one of that name."""

    def move(self, source: ObjectFacts, target: str) -> None:
        """Rename an object, replacing one of the new name.

        It is one step if the store can do that, otherwise a copy and then a delete. If that fails in between, the
        object has both names.
        """

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects, many by one request if the store can. Objects that do not exist are ignored.

        Folders of a store with folders stay; an empty one is deleted by its own name.
        """

    def remove_uploads(self, folder: str, before_ns: int) -> int:
        """Remove unfinished uploads below a folder that began before a time; return their number.

        0 if the store drops them itself, or does not allow this access to list them.
        """

    def sync(self, paths: Iterable[str]) -> None:
        """Make objects, and folders with the names in them, survive a power failure.

        Only a local disk needs this. Elsewhere an object survives once it is put.
        """
