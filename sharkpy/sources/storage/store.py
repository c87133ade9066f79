"""Store: the objects of one bucket, container, site or file system, as the rooms above see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from sharkpy.sources.storage.errors import StoreName


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """An object as its store lists it; path, size, time and tag identify its content.

    `modified_ns`: as exact as every kind of answer of the store tells it, in whole seconds for objects. `tag`: the
    ETag, in quotes; empty where the store gives none. `is_open`: somebody is writing it, as far as the store tells.
    """

    path: str
    size_bytes: int
    modified_ns: int
    tag: str = ""
    is_open: bool = field(default=False, compare=False)


def is_identified(facts: ObjectFacts) -> bool:
    """False where nothing tells an object from another one of its name and size."""
    return bool(facts.tag or facts.modified_ns)


def content_of(facts: ObjectFacts, store: Store) -> bytes:
    """All bytes of an object, by one request. How many may be read is for the caller to say."""
    return b"".join(store.read(facts, [(0, facts.size_bytes)]))


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """Abilities of a store.

    `puts_new`: `put_new` is atomic. `is_sorted`: listings are by name, so that `after` and `until` save requests.
    `has_folders`: there are folders beside the objects, and the list of each costs a request.
    """

    writes: bool
    lists: bool
    puts_new: bool
    is_sorted: bool
    has_folders: bool = False


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Limits on the requests to a store, whoever makes them.

    `timeout_seconds`: of a request with all its tries; of each part, for an upload. `retries`: further tries.
    `requests`: how many may be under way at once in this process. `part_bytes`: what is larger is uploaded in parts.
    """

    timeout_seconds: float = 60.0
    retries: int = 5
    requests: int = 32
    part_bytes: int = 8 << 20


class Store(Protocol):
    """Objects of one bucket, container, site or file system. Safe to use from several threads.

    1. Paths are whole URIs, taken as they are written: nothing in them is encoded.
    2. Every call hears the end of its statement within a tenth of a second; what is under way then is dropped.
    3. Failures are those of `storage_failure`. Whether a write that failed was carried out is not known.
    4. A read gives the bytes of the object that `facts` tells of, or SourceError 58030 "was changed".
    5. What an iterator has not given yet is not asked for much ahead; one that is closed drops its requests.
    """

    @property
    def traits(self) -> StoreTraits: ...

    @property
    def name(self) -> StoreName:
        """How errors name the store."""

    def stat(self, path: str) -> ObjectFacts | None:
        """Facts of an object, None where there is none of that name."""

    def has_folder(self, path: str) -> bool:
        """True for a folder that a store has beside its objects, be it empty."""

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:
        """All objects below a folder, a page at a time, by name if the store `is_sorted`.

        Only those whose paths lie behind `after` and not behind `until`: lists between such bounds may run side by
        side. An object of no bytes may be the mark of others for a folder, without the slash of its name. So is a mark
        that has bytes, unless the folder holds nothing else.
        """

    def children(self, folder: str) -> tuple[Sequence[ObjectFacts], Sequence[str]]:
        """Objects right in a folder, and its subfolders."""

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        """Bytes from `start` up to `end` of each range, in their order, by a request each (see `coalesced`)."""

    def put(self, path: str, content: BinaryIO | bytes) -> ObjectFacts:
        """Put an object, in the place of one of that name; a file from where it stands, which can seek."""

    def put_new(self, path: str, content: bytes) -> bool:
        """Put an object whose name nobody has. False: it is taken, perhaps by a try of this very call whose answer was
        lost, or somebody is taking it now.
        """

    def copy(self, source: ObjectFacts, target: str) -> ObjectFacts:
        """Copy an object to another name, in the place of one that has it."""

    def move(self, source: ObjectFacts, target: str) -> None:
        """Give an object another name, in the place of one that has it: in one step where the store can, else by a copy
        and then a delete. Where that fails between the two, the object has both names.
        """

    def delete(self, paths: Iterable[str]) -> None:
        """Delete objects, many by a request where the store can. Those that are not there do not matter.

        Folders that a store has beside its objects stay; an empty one is deleted by its own name.
        """

    def remove_uploads(self, folder: str, before_ns: int) -> int:
        """Remove uploads below a folder that were begun before a time and never finished; how many there were.

        0 where the store drops them itself, or has no list of them for who asks.
        """
