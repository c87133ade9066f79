"""Remote objects as files: the bytes equal a local file's, with few requests."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.sources.storage import fetched_files
from sharkpy.sources.storage.fetched_files import RangeReader
from sharkpy.sources.storage.store import ObjectFacts, Store
from tests.storage.places import memory_store

CONTENT = bytes(value * 7 % 251 for value in range(50_000))
MOVES = st.lists(
    st.tuples(st.sampled_from(["seek", "read", "readinto"]), st.integers(0, 60_000), st.integers(0, 9_000)),
    max_size=12,
)


class CountingStore:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.given: list[tuple[int, int]] = []

    def read(self, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        for one, content in zip(ranges, self.store.read(facts, ranges), strict=True):
            self.given.append(one)
            yield content


@pytest.fixture(scope="module")
def stored() -> tuple[Store, ObjectFacts]:
    store = memory_store()
    return store, store.put("s3://memory/x", CONTENT)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched_files, "_PIECE_BYTES", 2048)
    monkeypatch.setattr(fetched_files, "_FIRST_BYTES", 2048)
    monkeypatch.setattr(fetched_files, "_LEAST_BYTES", 256)


@settings(deadline=None)
@given(moves=MOVES, start=st.integers(0, 50_000), length=st.integers(0, 50_000))
def test_it_reads_as_a_file_does(
    stored: tuple[Store, ObjectFacts], moves: list[tuple[str, int, int]], start: int, length: int
) -> None:
    store, facts = stored
    with RangeReader(store, facts, start, start + length) as reader:
        local = io.BytesIO(CONTENT)
        for what, place, size in moves:
            if what == "seek":
                assert reader.seek(place) == local.seek(place) == reader.tell()
            elif what == "read":
                found = reader.read(size)
                assert found == local.read(len(found))
                assert bool(found) == bool(size and local.tell() - len(found) < len(CONTENT))
            else:
                buffer = bytearray(size)
                count = reader.readinto(buffer)
                assert bytes(buffer[:count]) == local.read(count)
            assert reader.tell() == local.tell()
        local.seek(reader.seek(start))
        assert reader.read() == local.read()


def test_a_run_of_reads_takes_what_it_reads(stored: tuple[Store, ObjectFacts]) -> None:
    store, facts = stored
    counting = CountingStore(store)
    with RangeReader(counting, facts, 10_000, 30_000) as reader:  # type: ignore[arg-type]
        reader.seek(10_000)
        while reader.tell() < 30_000:
            # A reader of lines looks for the end of a chunk first, and goes back.
            place = reader.tell()
            reader.seek(min(place + 1500, 29_999))
            reader.read(10)
            reader.seek(place)
            while reader.tell() < min(place + 1500, 30_000):
                assert reader.read(min(place + 1500, 30_000) - reader.tell())
    assert sum(end - start for start, end in counting.given) == 20_000
    assert counting.given[0] == (10_000, 12_048)


def test_reads_before_and_behind_are_small(stored: tuple[Store, ObjectFacts]) -> None:
    store, facts = stored
    counting = CountingStore(store)
    with RangeReader(counting, facts, 40_000) as reader:  # type: ignore[arg-type]
        reader.seek(100)
        reader.read(10)
    assert counting.given == [(100, 356)]


def test_buffered_lines(stored: tuple[Store, ObjectFacts]) -> None:
    store, facts = stored
    with io.BufferedReader(RangeReader(store, facts, 0, 100)) as reader:
        assert reader.readline() == io.BytesIO(CONTENT).readline()
        assert b"".join(reader) == CONTENT[len(io.BytesIO(CONTENT).readline()) :]


def test_a_closed_reader_drops_what_is_on_the_way(stored: tuple[Store, ObjectFacts]) -> None:
    store, facts = stored
    counting = CountingStore(store)
    reader = RangeReader(counting, facts)  # type: ignore[arg-type]
    reader.read(1)
    reader.close()
    assert counting.given == [(0, 2048)]
