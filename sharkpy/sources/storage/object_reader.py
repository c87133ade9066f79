"""Reading objects through obstore, which does the requests, retries and signing. Servers of HTTP can only be read.

A restricted session may name hosts. Its requests may not go to addresses in the machine or its network, unless the
engine's owner allows it: a `HostGuard` checks them.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, NoReturn, TypeVar
from urllib.parse import unquote

from sharkpy.base.endpoint import address_of
from sharkpy.base.errors import NotAllowedError, SourceError, UnsupportedError
from sharkpy.base.settings import PRIVATE_HOSTS
from sharkpy.base.uri import redacted
from sharkpy.sources.storage.errors import StoreName, changed, storage_failure
from sharkpy.sources.storage.requests import Call, in_order, result_of
from sharkpy.sources.storage.store import ObjectFacts, StoreLimits, StoreTraits

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta
    from obstore.store import ObjectStore

_KEPT_SECONDS = 5.0
"""Time after which a host is checked again, since its name may have moved to another address."""


class HostGuard:
    """Check of some hosts before each request to them. `allowed`: hosts and networks that may be private."""

    def __init__(self, hosts: tuple[str, ...], allowed: str) -> None:
        self._hosts = hosts
        self._allowed = [one.strip().lower() for one in allowed.split(",") if one.strip()]
        self._until = 0.0

    async def check(self) -> None:
        """Raise NotAllowedError if a host is at a private, local or reserved address."""
        if time.monotonic() < self._until:
            return
        for host in self._hosts:
            if host.lower() in self._allowed:
                continue
            for address in await _addresses(host):
                if not self._is_open(address):
                    message = f'the host "{host}" is at a private address, which this session may not let be asked'
                    raise NotAllowedError(message, hint=f"the engine's owner lists it in {PRIVATE_HOSTS.key}")
        self._until = time.monotonic() + _KEPT_SECONDS

    def _is_open(self, text: str) -> bool:
        address = address_of(text)
        if address is None or (address.is_global and not address.is_multicast):
            return address is not None
        return any(address in network for network in map(_network, self._allowed) if network is not None)


async def _addresses(host: str) -> list[str]:
    """Addresses of a host; none for an unknown host, for which the request itself will fail."""
    with suppress(OSError, UnicodeError):
        found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
        return [str(place[0]) for *_, place in found]
    return []


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


T = TypeVar("T")


class StoreCalls:
    """Base of all stores: their name, limits, and calls to their library. `guard` checks the hosts of requests."""

    def __init__(self, name: StoreName, limits: StoreLimits, guard: HostGuard | None = None) -> None:
        self.name = name
        self.limits = limits
        self._guard = guard
        self._under_way = asyncio.Semaphore(limits.requests)

    def failures(self) -> tuple[type[Exception], ...]:
        """Errors that the store's library raises."""
        raise NotImplementedError

    def has_folder(self, path: str) -> bool:  # noqa: ARG002  for stores without folders
        return False

    def sync(self, paths: Iterable[str]) -> None:
        """Do nothing: an object survives a power failure once it is put."""

    def asking(self, path: str, call: Callable[[], Awaitable[T]], is_bounded: bool = True) -> Call[T]:
        """A call about `path` within the store's limits; its failure is raised as the engine's error."""
        seconds = self.limits.timeout_seconds if is_bounded else None
        return lambda: self._asked(path, call, seconds)

    async def _asked(self, path: str, call: Callable[[], Awaitable[T]], seconds: float | None) -> T:
        async with self._under_way:
            started = time.monotonic()
            try:
                async with asyncio.timeout(seconds):
                    if self._guard is not None:
                        await self._guard.check()
                    return await call()
            except self.failures() as error:
                raise storage_failure(error, path, self.name, time.monotonic() - started) from None


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
        return root_and_key(path)[1]

    def stat(self, path: str) -> ObjectFacts | None:
        return result_of(self.asking(path, partial(self._found, path)))

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        pieces = (partial(self.piece, facts, start, end) for start, end in ranges)
        return in_order((self.asking(facts.path, piece) for piece in pieces), reads_at_once(ranges))

    async def head(self, path: str) -> ObjectFacts:
        """Facts of an object that exists."""
        return object_facts(path, await self.client.head_async(self.key_of(path)))

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
        if not _is_same(facts, object_facts(facts.path, result.meta)):
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


def root_and_key(path: str) -> tuple[str, str]:
    """Root of a URI, with its slash, and the key after it. Hadoop's `hdfs:/a` has no authority, like `hdfs:///a`."""
    scheme, _, rest = path.partition(":")
    if not rest.startswith("//"):
        return f"{scheme}:/", rest.strip("/")
    authority, _, key = rest[2:].partition("/")
    return f"{scheme}://{authority}/", key.rstrip("/")


def object_facts(path: str, meta: ObjectMeta) -> ObjectFacts:
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


class HttpStore(ObjectReader):
    """Files of one HTTP server. A path is a URL, and is encoded as one."""

    traits = StoreTraits(writes=False, lists=False, puts_new=False, is_sorted=False)

    def key_of(self, path: str) -> str:
        key = root_and_key(path)[1]
        if "?" in key:
            raise UnsupportedError(f'a query in the location "{redacted(path)}"')
        return unquote(key)

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:  # noqa: ARG002  the protocol's signature
        _refuse_list(folder)

    def children(self, folder: str) -> tuple[Sequence[ObjectFacts], Sequence[str]]:
        _refuse_list(folder)

    def put(self, path: str, content: BinaryIO | bytes) -> ObjectFacts:  # noqa: ARG002  the protocol's signature
        _refuse_write(path)

    def put_new(self, path: str, content: bytes) -> bool:  # noqa: ARG002  the protocol's signature
        _refuse_write(path)

    def copy(self, source: ObjectFacts, target: str) -> ObjectFacts:  # noqa: ARG002  the protocol's signature
        _refuse_write(target)

    def move(self, source: ObjectFacts, target: str) -> None:  # noqa: ARG002  the protocol's signature
        _refuse_write(target)

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            _refuse_write(path)

    def remove_uploads(self, folder: str, before_ns: int) -> int:  # noqa: ARG002  the protocol's signature
        return 0


def _refuse_list(folder: str) -> NoReturn:
    message = f'a list of the files at "{redacted(folder)}": HTTP has none'
    raise UnsupportedError(message, hint="name each file by its URL")


def _refuse_write(path: str) -> NoReturn:
    raise UnsupportedError(f'writing to "{redacted(path)}" by HTTP')
