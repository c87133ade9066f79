"""Buckets of objects through obstore: S3, Google Cloud Storage, Azure."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, BinaryIO

from sharkpy.base.errors import SourceError
from sharkpy.base.uri import redacted
from sharkpy.sources.storage.errors import StoreName, changed
from sharkpy.sources.storage.object_reader import HostGuard, ObjectReader, object_facts, root_and_key
from sharkpy.sources.storage.requests import in_parallel, repeatedly, result_of
from sharkpy.sources.storage.store import ObjectFacts, StoreLimits, StoreTraits
from sharkpy.sources.storage.uploads import UnfinishedUploads, UploadParts, length_of, part_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from obstore import ListStream, ObjectMeta
    from obstore.store import ObjectStore

_PAGE = 1000
"""Most objects in a page of a listing, and in a request that deletes: the limit of S3."""
_DELETES = 4
_SINGLE_DELETES = 16
_PARTS_AT_ONCE = 4
_MOST_COPIED = 5 << 30
"""Most bytes that S3 copies by one request."""
_NO_OBJECT = ObjectFacts("", 0, 0)


class BucketStore(ObjectReader):
    """Objects of a bucket or container. `uploads`: its unfinished uploads in parts, if they can be listed."""

    def __init__(
        self,
        client: ObjectStore,
        name: StoreName,
        limits: StoreLimits,
        traits: StoreTraits,
        uploads: UnfinishedUploads | None = None,
        guard: HostGuard | None = None,
    ) -> None:
        super().__init__(client, name, limits, guard)
        self.traits = traits
        self._uploads = uploads

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:
        root, key = root_and_key(folder)
        start = self.key_of(after) if self.traits.is_sorted else ""
        pages = _Pages(lambda: self.client.list(key or None, offset=start or None, chunk_size=_PAGE))
        end = self.key_of(until) if self.traits.is_sorted and until else ""
        found = repeatedly(self.asking(folder, pages.next), lambda page: _goes_on(page, end))
        objects = (object_facts(root + meta["path"], meta) for page in found for meta in page)
        for facts in self._marked(objects, folder):
            if until and self.traits.is_sorted and facts.size_bytes and facts.path > until:
                return
            if facts.path != root + key and facts.path > after and (not until or facts.path <= until):
                yield facts

    def _marked(self, objects: Iterable[ObjectFacts], folder: str) -> Iterator[ObjectFacts]:
        """Objects of a listing, with the markers of folders set to zero bytes.

        Other programs put markers that have bytes. obstore drops the slash at the end of their names. In a store that
        lists by name, `a/` is recognised by its position after `a` or `a-b`. An object directly before `a/b` may be `a`
        or `a/`: a request decides.
        """
        last = ""
        for facts, following in pairwise(chain(objects, (_NO_OBJECT,))):
            if not facts.size_bytes:
                yield facts
                continue
            name = facts.path
            is_mark = name == last
            if self.traits.is_sorted and name <= last:
                is_mark, name = True, f"{name}/"
                if name <= last:
                    raise SourceError(f'the listing of "{redacted(folder)}" is not in the order of names')
            elif following.path.startswith(f"{name}/"):
                is_mark = is_mark or self.stat(name) != facts
            last = name
            yield replace(facts, size_bytes=0) if is_mark else facts

    def children(self, folder: str) -> tuple[Sequence[ObjectFacts], Sequence[str]]:
        root, key = root_and_key(folder)
        found = result_of(self.asking(folder, lambda: self.client.list_with_delimiter_async(key or None)))
        objects = [object_facts(root + meta["path"], meta) for meta in found["objects"] if meta["path"] != key]
        return objects, [root + prefix for prefix in found["common_prefixes"]]

    def put(self, path: str, content: BinaryIO | bytes) -> ObjectFacts:
        file = io.BytesIO(content) if isinstance(content, bytes) else content
        length = length_of(file)
        upload, part = UploadParts(), part_of(length, self.limits.part_bytes)
        parts = upload.of_file(file, part)
        if length <= part:
            return result_of(self.asking(path, partial(self._put, path, b"".join(parts))))
        return self._uploaded(path, upload, parts, part, length)

    def put_new(self, path: str, content: bytes) -> bool:
        return result_of(self.asking(path, partial(self._put_new, path, content)))

    def copy(self, source: ObjectFacts, target: str) -> ObjectFacts:
        if source.size_bytes <= _MOST_COPIED:
            copied = result_of(self.asking(source.path, partial(self._copied, source, target)))
            if copied.size_bytes != source.size_bytes:
                raise changed(source.path)
            return copied
        upload, part = UploadParts(), part_of(source.size_bytes, self.limits.part_bytes)
        parts = upload.of_object(source, partial(self.piece, source), part)
        return self._uploaded(target, upload, parts, part, source.size_bytes)

    def move(self, source: ObjectFacts, target: str) -> None:
        self.copy(source, target)
        self.delete([source.path])

    def delete(self, paths: Iterable[str]) -> None:
        batches = _batches(paths, _PAGE)
        in_parallel((self.asking(batch[0], partial(self._delete, batch)) for batch in batches), _DELETES)

    def remove_uploads(self, folder: str, before_ns: int) -> int:
        if self._uploads is None:
            return 0
        call = partial(self._uploads.remove, root_and_key(folder)[1], before_ns)
        return result_of(self.asking(folder, call, is_bounded=False))

    def _uploaded(
        self,
        path: str,
        upload: UploadParts,
        parts: Iterator[bytes] | AsyncIterator[memoryview],
        part_bytes: int,
        length: int,
    ) -> ObjectFacts:
        call = partial(self._put_parts, path, parts, part_bytes, length)
        return result_of(self.asking(path, call, is_bounded=False), upload.give_up)

    async def _put(self, path: str, content: bytes) -> ObjectFacts:
        await self.client.put_async(self.key_of(path), content, mode="overwrite", use_multipart=False)
        return await self._as_put(path, len(content))

    async def _put_parts(
        self, path: str, parts: Iterator[bytes] | AsyncIterator[memoryview], part_bytes: int, length: int
    ) -> ObjectFacts:
        await self.client.put_async(
            self.key_of(path), parts, use_multipart=True, chunk_size=part_bytes, max_concurrency=_PARTS_AT_ONCE
        )
        return await self._as_put(path, length)

    async def _as_put(self, path: str, length: int) -> ObjectFacts:
        """Facts of an object that has just been put, as readers see it."""
        facts = await self.head(path)
        if facts.size_bytes != length:
            raise SourceError(f'"{redacted(path)}" holds {facts.size_bytes} bytes, and not the {length} that were put')
        return facts

    async def _put_new(self, path: str, content: bytes) -> bool:
        from obstore.exceptions import AlreadyExistsError

        try:
            await self.client.put_async(self.key_of(path), content, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    async def _copied(self, source: ObjectFacts, target: str) -> ObjectFacts:
        await self.client.copy_async(self.key_of(source.path), self.key_of(target))
        return await self.head(target)

    async def _delete(self, batch: Sequence[str]) -> None:
        keys = [self.key_of(path) for path in batch]
        try:
            await self.client.delete_async(keys)
        except FileNotFoundError:
            # Some stores stop at the first missing object, and may not have deleted the remaining ones.
            for some in _batches(keys, _SINGLE_DELETES):
                await asyncio.gather(*map(self._delete_one, some))

    async def _delete_one(self, key: str) -> None:
        with suppress(FileNotFoundError):
            await self.client.delete_async(key)


def _goes_on(page: Sequence[ObjectMeta], end: str) -> bool:
    """True if there may be more after a page of a listing, up to the key `end` if it is given."""
    return len(page) == _PAGE and not (end and page[-1]["path"] > end)


class _Pages:
    """Pages of a listing, which begins with the first call; a page that is not full is the last."""

    def __init__(self, begin: Callable[[], ListStream[Sequence[ObjectMeta]]]) -> None:
        self._begin = begin
        self._stream: ListStream[Sequence[ObjectMeta]] | None = None

    async def next(self) -> Sequence[ObjectMeta]:
        if self._stream is None:
            self._stream = self._begin()
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            return ()


def _batches(items: Iterable[str], size: int) -> Iterator[Sequence[str]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
