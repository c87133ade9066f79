"""Local copies of remote objects: what was fetched is the object's, and is fetched once."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.sources.storage import fetched_files
from sharkpy.sources.storage.fetched_files import FetchedFile, FetchedFiles
from sharkpy.sources.storage.store import ObjectFacts, Store
from tests.storage.places import memory_store

CONTENT = bytes(range(256)) * 4096
HOLE = b"\xfe"


class CountingStore:
    """Store that notes the requested ranges; only `read` is called."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.asked: list[tuple[int, int]] = []

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        self.asked += ranges
        return self.store.read(facts, ranges)


@pytest.fixture(scope="module")
def stored() -> tuple[Store, ObjectFacts]:
    store = memory_store()
    return store, store.put("s3://memory/x", CONTENT)


def counting(store: Store) -> CountingStore:
    return CountingStore(store)


def content_of(file: FetchedFile) -> bytes:
    return Path(file.path).read_bytes()


@settings(deadline=None)
@given(ranges=st.lists(st.tuples(st.integers(-100, 1 << 20), st.integers(0, 1 << 18)), max_size=5))
def test_what_was_fetched_is_the_objects(stored: tuple[Store, ObjectFacts], ranges: list[tuple[int, int]]) -> None:
    store, facts = stored
    file, there = FetchedFile(facts, hole=HOLE), bytearray(HOLE * len(CONTENT))
    for start, size in ranges:
        file.fetch(store, [(start, start + size)])
        first = max(start, 0)
        last = max(first, min(start + size, len(CONTENT)))
        found = content_of(file)
        assert found[first:last] == CONTENT[first:last]
        there[first:last] = CONTENT[first:last]
        # Other than the requested ranges, only small gaps are filled.
        assert all(
            one in (was, right) for one, was, right in zip(found[::977], there[::977], CONTENT[::977], strict=True)
        )
    assert len(content_of(file)) == len(CONTENT)


def test_bytes_are_fetched_once(stored: tuple[Store, ObjectFacts]) -> None:
    store, facts = stored
    counted, file = counting(store), FetchedFile(facts)
    for _ in range(2):
        file.fetch(counted, [(0, 1000), (500_000, 600_000)])  # type: ignore[arg-type]
    file.fetch(counted, [(400_000, 700_000)])  # type: ignore[arg-type]
    assert sorted(counted.asked) == [(0, 1000), (400_000, 500_000), (500_000, 600_000), (600_000, 700_000)]
    assert file.size_bytes == 301_000


def test_many_threads_fetch_bytes_once(stored: tuple[Store, ObjectFacts]) -> None:
    store, facts = stored
    counted, file = counting(store), FetchedFile(facts)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: file.fetch(counted, [(0, len(CONTENT))]), range(16)))  # type: ignore[arg-type]
    assert sum(end - start for start, end in counted.asked) == len(CONTENT)
    assert content_of(file) == CONTENT


def test_files_are_kept_for_who_has_the_same_access(stored: tuple[Store, ObjectFacts]) -> None:
    _, facts = stored
    files = FetchedFiles()
    first = files.file(facts, "one")
    assert files.file(facts, "one") is first
    assert files.file(facts, "two") is not first
    assert files.file(replace(facts, tag='"other"'), "one") is not first
    nothing_known = replace(facts, tag="", modified_ns=0)
    assert files.file(nothing_known, "one") is not files.file(nothing_known, "one")


def test_the_least_used_go_and_stay_readable(stored: tuple[Store, ObjectFacts]) -> None:
    _, facts = stored
    files = FetchedFiles(most_bytes=150_000)
    kept = [replace(facts, tag=f'"{number}"') for number in range(3)]
    first, second = files.file(kept[0], ""), files.file(kept[1], "")
    for file in (first, second):
        file._spans.add(0, 100_000)
    assert files.file(kept[2], "") is files.file(kept[2], "")
    assert files.file(kept[1], "") is second
    assert files.file(kept[0], "") is not first
    assert len(content_of(first)) == len(CONTENT)


def test_nothing_is_left_in_the_folder(stored: tuple[Store, ObjectFacts], tmp_path: Path) -> None:
    store, facts = stored
    file = FetchedFile(facts, str(tmp_path))
    file.fetch(store, [(0, 100)])
    assert list(tmp_path.iterdir()) == []
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    del file
    assert len(list(Path("/proc/self/fd").iterdir())) < descriptors


def test_an_object_that_was_changed(stored: tuple[Store, ObjectFacts]) -> None:
    store, _ = stored
    old = store.put("s3://memory/y", CONTENT)
    store.put("s3://memory/y", CONTENT[::-1])
    with pytest.raises(SourceError, match="was changed while it was being read"):
        FetchedFile(old).fetch(store, [(0, 100)])


def test_a_full_disk(stored: tuple[Store, ObjectFacts], monkeypatch: pytest.MonkeyPatch) -> None:
    store, facts = stored

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = FetchedFile(facts)
    monkeypatch.setattr(fetched_files.os, "pwrite", full)
    with pytest.raises(ResourceError) as caught:
        file.fetch(store, [(0, 100)])
    assert caught.value.sqlstate == "53100"
    monkeypatch.undo()
    file.fetch(store, [(0, 100)])
    assert content_of(file)[:100] == CONTENT[:100]
