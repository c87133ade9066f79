"""Reading objects through obstore, which does the requests, retries and signing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base.errors import SourceError
from sharkpy.base.uri import redacted
from sharkpy.sources.storage.calls import StoreCalls
from sharkpy.sources.storage.errors import StoreName, changed
from sharkpy.sources.storage.host_guard import HostGuard
from sharkpy.sources.storage.requests import answer, in_turn
from sharkpy.sources.storage.store import ObjectFacts, StoreLimits

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta
    from obstore.store import ObjectStore

_LEAST_READS = 2
_MOST_READS = 16
_READ_BYTES = 64 << 20
"""Most bytes of one reader's ranges that are requested at a time."""
_SECOND_NS = 1_000_000_000
_WEAK = "W/"


class ObjectReader(StoreCalls):
    """Stat and read of a `Store` of objects, common to buckets and HTTP servers."""

    def __init__(
        self, client: ObjectStore, name: StoreName, limits: StoreLimits, guard: HostGuard | None = None
    ) -> None:
        super().__init__(name, limits, guard)
        self.client = client

    def failures(self) -> tuple[type[Exception], ...]:
        from obstore.exceptions import BaseError

        return (BaseError, OSError, ValueError, NotImplementedError)

    def key_of(self, path: str) -> str:
        """Name of an object in its bucket."""
        return place_of(path)[1]

    def stat(self, path: str) -> ObjectFacts | None:
        return answer(self.asking(path, partial(self._found, path)))

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        pieces = (partial(self.piece, facts, start, end) for start, end in ranges)
        return in_turn((self.asking(facts.path, piece) for piece in pieces), reads_at_once(ranges))

    async def head(self, path: str) -> ObjectFacts:
        """Facts of an object that exists."""
        return facts_of(path, await self.client.head_async(self.key_of(path)))

    async def piece(self, facts: ObjectFacts, start: int, end: int) -> memoryview:
        """Bytes of a range of exactly the object that `facts` describes."""
        if start >= end:
            return memoryview(b"")
        options: GetOptions = {}
        if (start, end) != (0, facts.size_bytes):
            options["range"] = (start, end)
        if facts.tag and not facts.tag.startswith(_WEAK):
            options["if_match"] = facts.tag
        result = await self.client.get_async(self.key_of(facts.path), options=options)
        if not _is_same(facts, facts_of(facts.path, result.meta)):
            raise changed(facts.path)
        content = memoryview(await result.bytes_async())
        if len(content) != end - start:
            name = redacted(facts.path)
            raise SourceError(f'{self.name.endpoint} gave {len(content)} bytes of "{name}" instead of {end - start}')
        return content

    async def _found(self, path: str) -> ObjectFacts | None:
        try:
            return await self.head(path)
        except FileNotFoundError:
            return None


def reads_at_once(ranges: Sequence[tuple[int, int]]) -> int:
    """Number of ranges of one reader to request at a time: few, if they are large."""
    largest = max((end - start for start, end in ranges), default=0)
    return min(max(_READ_BYTES // max(largest, 1), _LEAST_READS), _MOST_READS)


def place_of(path: str) -> tuple[str, str]:
    """Root of a URI, with its slash, and the key after it. Hadoop's `hdfs:/a` has no authority, like `hdfs:///a`."""
    scheme, _, rest = path.partition(":")
    if not rest.startswith("//"):
        return f"{scheme}:/", rest.strip("/")
    authority, _, key = rest[2:].partition("/")
    return f"{scheme}://{authority}/", key.rstrip("/")


def facts_of(path: str, meta: ObjectMeta) -> ObjectFacts:
    """Facts of an object, the same from a listing, a HEAD and a GET."""
    seconds = int(meta["last_modified"].timestamp())
    return ObjectFacts(path, meta["size"], seconds * _SECOND_NS, _quoted(meta["e_tag"]))


def _quoted(tag: str | None) -> str:
    """ETag in its quotes, which Azure's listings leave out; empty if there is none."""
    if not tag:
        return ""
    return tag if tag.endswith('"') else f'"{tag}"'


def _is_same(facts: ObjectFacts, found: ObjectFacts) -> bool:
    """True if an answer is about the object of `facts`: by the tag, or by size and time if it has no tag."""
    return facts.tag == found.tag if facts.tag else facts == found
