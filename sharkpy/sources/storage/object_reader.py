"""Reading objects through obstore, which does the requests, their tries and the signing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.errors import SourceError
from sharkpy.base.uri import shown
from sharkpy.sources.storage.errors import StoreName, changed, storage_failure
from sharkpy.sources.storage.requests import Call, answer, in_turn
from sharkpy.sources.storage.store import ObjectFacts, StoreLimits

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta
    from obstore.store import ObjectStore

T = TypeVar("T")
_LEAST_READS = 2
_MOST_READS = 16
_READ_BYTES = 64 << 20
"""Bytes of the ranges of one reader that are under way at once."""
_SECOND_NS = 1_000_000_000
_WEAK = "W/"


class ObjectReader:
    """Stat and read of a `Store`; what the stores of all kinds have in common."""

    def __init__(self, client: ObjectStore, name: StoreName, limits: StoreLimits) -> None:
        self.client = client
        self.name = name
        self.limits = limits
        self._under_way = asyncio.Semaphore(limits.requests)

    def key_of(self, path: str) -> str:
        """Name of an object in its bucket."""
        return place_of(path)[1]

    def stat(self, path: str) -> ObjectFacts | None:
        return answer(self.asking(path, partial(self._found, path)))

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        pieces = (partial(self.piece, facts, start, end) for start, end in ranges)
        largest = max((end - start for start, end in ranges), default=0)
        at_once = min(max(_READ_BYTES // max(largest, 1), _LEAST_READS), _MOST_READS)
        return in_turn((self.asking(facts.path, piece) for piece in pieces), at_once)

    def asking(self, path: str, call: Callable[[], Awaitable[T]], is_bounded: bool = True) -> Call[T]:
        """A call about `path`, within the store's limits, whose failure is told as the engine's error."""
        seconds = self.limits.timeout_seconds if is_bounded else None
        return lambda: self._asked(path, call, seconds)

    async def head(self, path: str) -> ObjectFacts:
        """Facts of an object that is there."""
        return facts_of(path, await self.client.head_async(self.key_of(path)))

    async def piece(self, facts: ObjectFacts, start: int, end: int) -> memoryview:
        """Bytes of a range of the object as `facts` tells of it."""
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
            name = shown(facts.path)
            raise SourceError(f'{self.name.endpoint} gave {len(content)} bytes of "{name}" instead of {end - start}')
        return content

    async def _asked(self, path: str, call: Callable[[], Awaitable[T]], seconds: float | None) -> T:
        async with self._under_way:
            started = time.monotonic()
            try:
                async with asyncio.timeout(seconds):
                    return await call()
            except _failures() as error:
                raise storage_failure(error, path, self.name, time.monotonic() - started) from None

    async def _found(self, path: str) -> ObjectFacts | None:
        try:
            return await self.head(path)
        except FileNotFoundError:
            return None


def place_of(path: str) -> tuple[str, str]:
    """Root of a URI, with its slash, and the key behind it."""
    scheme, mark, rest = path.partition("://")
    authority, _, key = rest.partition("/")
    return f"{scheme}{mark}{authority}/", key.rstrip("/")


def facts_of(path: str, meta: ObjectMeta) -> ObjectFacts:
    """Facts of an object as a listing, a HEAD and a GET tell them alike."""
    seconds = int(meta["last_modified"].timestamp())
    return ObjectFacts(path, meta["size"], seconds * _SECOND_NS, _quoted(meta["e_tag"]))


def _quoted(tag: str | None) -> str:
    """An ETag in its quotes, which listings of Azure leave out; empty for none."""
    if not tag:
        return ""
    return tag if tag.endswith('"') else f'"{tag}"'


def _is_same(facts: ObjectFacts, found: ObjectFacts) -> bool:
    """True if an answer is about the object of `facts`: by the tag, or by size and time where there is none."""
    return facts.tag == found.tag if facts.tag else facts == found


def _failures() -> tuple[type[Exception], ...]:
    """What obstore raises."""
    from obstore.exceptions import BaseError

    return (BaseError, OSError, ValueError, NotImplementedError)
