"""Block store: its limit, eviction, durable copies, full disks and orphans."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from sharkpy.base.errors import ConfigurationError, CorruptionError, ExecutionError, ResourceError
from sharkpy.columnar import block_folders
from sharkpy.columnar.block import EncodedBlock, encode_block
from sharkpy.columnar.block_cache import BlockCache
from sharkpy.columnar.store import BlockMissingError, BlockStore, BlockWriter, open_block, sweep_orphans
from sharkpy.values import types as t
from tests.waiting import until

SCHEMA = t.Schema((t.Field("x", t.BIGINT),))


def block(first: int = 0) -> EncodedBlock:
    return encode_block(pa.table({"x": range(first, first + 1000)}), SCHEMA, force_encoding="plain")


SIZE = block().size_bytes


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    for name in ("shm", "local"):
        (tmp_path / name).mkdir()
    return str(tmp_path / "shm"), str(tmp_path / "local")


@pytest.fixture
def store(folders: tuple[str, str]) -> Iterator[BlockStore]:
    store = BlockStore(3 * SIZE + SIZE // 2, *folders)
    yield store
    store.close()


def first_value(handle: object) -> int:
    return open_block(handle).read(["x"]).column(0)[0].as_py()


def test_nobody_waits_for_thousands_of_unused_blocks(store: BlockStore, monkeypatch: pytest.MonkeyPatch) -> None:
    handles = [store.writer().write(block(number)) for number in range(60)]
    store.adopt(handles)
    store.retire(handles)
    paths = [Path(handle.memory_path) for handle in handles]
    waiting = threading.get_ident()
    released_here, remove = list[str](), block_folders.remove

    def noted(path: str) -> None:
        if threading.get_ident() == waiting:
            released_here.append(path)
        remove(path)

    monkeypatch.setattr(block_folders, "remove", noted)
    del handles
    store.touch([])
    until(lambda: not any(map(os.path.lexists, paths)))
    assert 0 < len(released_here) <= 16 * 2


def test_write_and_read(store: BlockStore) -> None:
    writer = pickle.loads(pickle.dumps(store.writer()))
    handle = writer.write(block(5))
    store.adopt([handle])
    assert first_value(handle) == 5
    assert (handle.num_rows, handle.size_bytes, handle.column_bytes) == (1000, SIZE, {"x": 8000})
    assert open_block(handle) is open_block(handle)
    assert store.usage().memory_bytes == SIZE


def test_a_full_memory_sends_blocks_to_the_local_folder(store: BlockStore) -> None:
    handles = [store.writer().write(block(i)) for i in range(5)]
    assert [store.is_in_memory(handle) for handle in handles] == [True] * 3 + [False] * 2
    assert [first_value(handle) for handle in handles] == list(range(5))
    assert store.usage().memory_bytes <= store.memory_limit
    assert store.usage().local_bytes == sum(handle.size_bytes for handle in handles[3:])
    store.adopt(handles)
    assert store.num_outside(handles) == len(handles[3:])
    store.release([handle.block_id for handle in handles])
    assert store.num_outside(handles) == 0


def test_the_least_recently_used_is_evicted_and_stays_readable(store: BlockStore) -> None:
    handles = [store.writer().write(block(i)) for i in range(3)]
    store.adopt(handles)
    kept_open = open_block(handles[1])
    store.touch([handles[0]])
    assert store.num_outside(handles) == 0
    assert store.make_room(SIZE) == [handles[1].block_id]
    assert (store.num_outside(handles), store.num_outside(handles[1:2])) == (1, 1)
    assert [store.is_in_memory(handle) for handle in handles] == [True, False, True]
    assert first_value(handles[1]) == 1
    assert open_block(handles[1]) is not kept_open
    assert kept_open.read(["x"]).column(0)[0].as_py() == 1
    assert store.is_in_memory(store.writer().write(block(9)))
    assert store.enforce_limit() == []


def test_a_lower_limit_is_enforced(store: BlockStore) -> None:
    handles = [store.writer().write(block(i)) for i in range(3)]
    store.adopt(handles)
    store.memory_limit = SIZE
    assert store.enforce_limit() == [handles[0].block_id, handles[1].block_id]
    assert store.usage().memory_bytes <= SIZE
    assert store.usage().num_evicted == 2


def test_eviction_of_a_durable_block_copies_nothing(store: BlockStore, tmp_path: Path) -> None:
    handle = store.writer().write(block(3), str(tmp_path / "durable"))
    store.adopt([handle])
    store.memory_limit = 0
    store.enforce_limit()
    assert store.usage().local_bytes == 0
    assert first_value(handle) == 3


def test_the_durable_copy_serves_when_the_memory_is_lost(store: BlockStore, tmp_path: Path) -> None:
    handle = store.writer().write(block(3), str(tmp_path / "durable"))
    Path(handle.memory_path).unlink()
    assert first_value(handle) == 3
    Path(handle.memory_path).write_bytes(b"garbage")
    assert first_value(handle) == 3


def test_a_lost_block_is_missing(store: BlockStore) -> None:
    handle = store.writer().write(block())
    Path(handle.memory_path).unlink()
    with pytest.raises(BlockMissingError, match="is missing"):
        open_block(handle)
    Path(handle.memory_path).write_bytes(b"garbage")
    with pytest.raises(CorruptionError):
        open_block(handle)


def test_restore_after_a_restart(folders: tuple[str, str], tmp_path: Path) -> None:
    first = BlockStore(SIZE * 2, *folders)
    handle = first.writer().write(block(8), str(tmp_path / "durable"))
    first.close()
    second = BlockStore(SIZE * 2, *folders)
    (restored,) = second.restore([handle])
    assert first_value(restored) == 8
    assert second.usage().memory_bytes == 0
    second.release([restored.block_id], durable=True)
    assert not Path(handle.durable_path).exists()
    second.close()


def test_release_and_close_free_everything(folders: tuple[str, str]) -> None:
    store = BlockStore(SIZE, *folders)
    handles = [store.writer().write(block(i)) for i in range(2)]
    store.adopt(handles)
    store.release([handle.block_id for handle in handles])
    assert (store.usage().memory_bytes, store.usage().local_bytes) == (0, 0)
    store.close()
    store.close()
    assert os.listdir(folders[0]) == os.listdir(folders[1]) == []


def test_a_folder_that_cannot_be_written(folders: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot keep blocks"):
        BlockStore(1, folders[0], str(tmp_path / "file"))
    assert os.listdir(folders[0]) == []


class FullDisk:
    """Full disk: os.write fails after a number of bytes, in folders that contain `where`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
        self.write, self.where = os.write, where
        monkeypatch.setattr(block_folders.os, "write", self)

    def __call__(self, descriptor: int, data: memoryview) -> int:
        if self.where in os.readlink(f"/proc/self/fd/{descriptor}"):
            self.write(descriptor, data[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.write(descriptor, data)


def test_full_shared_memory_falls_back(store: BlockStore, monkeypatch: pytest.MonkeyPatch) -> None:
    FullDisk(monkeypatch, store.memory_dir)
    handle = store.writer().write(block(4))
    assert not store.is_in_memory(handle)
    assert first_value(handle) == 4
    assert store.usage().memory_bytes == 0


def test_a_full_disk_leaves_nothing(store: BlockStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FullDisk(monkeypatch, str(tmp_path))
    durable = tmp_path / "durable"
    for target in (None, str(durable)):
        with pytest.raises(ResourceError, match="no space left"):
            store.writer().write(block(), target)
    assert list(durable.iterdir()) == []
    assert sorted(os.listdir(store.memory_dir)) == ["lock", "owner"]
    assert os.listdir(store.local_dir) == ["lock", "owner"] or sorted(os.listdir(store.local_dir)) == ["lock", "owner"]


def test_a_failing_eviction_keeps_the_block(store: BlockStore, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = store.writer().write(block(6))
    store.adopt([handle])
    FullDisk(monkeypatch, store.local_dir)
    store.memory_limit = 0
    with pytest.raises(ResourceError):
        store.enforce_limit()
    assert store.is_in_memory(handle)
    assert first_value(handle) == 6


def test_the_limit_holds_among_threads(store: BlockStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        handles = list(pool.map(lambda i: store.writer().write(block(i)), range(12)))
    assert sum(store.is_in_memory(handle) for handle in handles) == 3
    assert store.usage().memory_bytes <= store.memory_limit


def _write_some(writer: BlockWriter, count: int) -> None:
    for index in range(count):
        writer.write(block(index))


def test_the_limit_holds_among_processes(store: BlockStore) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write_some, args=(store.writer(), 4)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert store.usage().memory_bytes == 3 * SIZE
    assert store.usage().local_bytes == 5 * SIZE


def _in_process(work: Callable[..., None], *arguments: object) -> int | None:
    """Do some work in another process; returns how that has ended."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List of the folders whose files are looked at to be counted."""
    found: list[str] = []
    used = block_folders.used_bytes

    def noted(folder: str) -> int:
        found.append(folder)
        return used(folder)

    monkeypatch.setattr(block_folders, "used_bytes", noted)
    return found


def test_blocks_are_counted_without_a_look_at_the_others(
    folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = _counting(monkeypatch)
    store = BlockStore(100 * SIZE, *folders)
    written = 0
    for number in range(50):
        handle = store.writer().write(block(number))
        store.adopt([handle])
        written += handle.size_bytes
        assert store.enforce_limit() == []
    assert looked == [store.memory_dir]
    assert store.usage().memory_bytes == written
    store.close()


def test_room_that_was_given_back_is_found(store: BlockStore) -> None:
    handles = [store.writer().write(block(i)) for i in range(3)]
    store.adopt(handles)
    store.release([handle.block_id for handle in handles[:2]])
    more = [store.writer().write(block(i)) for i in range(3)]
    assert [store.is_in_memory(handle) for handle in more] == [True, True, False]
    assert store.usage().memory_bytes == 3 * SIZE


@pytest.mark.parametrize("content", [b"", b"\1"])
def test_a_count_that_was_lost_is_taken_anew(store: BlockStore, content: bytes) -> None:
    handles = [store.writer().write(block(i)) for i in range(2)]
    Path(store.memory_dir, "lock").write_bytes(content)
    handles += [store.writer().write(block(i)) for i in range(2)]
    assert [store.is_in_memory(handle) for handle in handles] == [True, True, True, False]


def test_processes_count_together(store: BlockStore) -> None:
    assert _in_process(_write_some, store.writer(), 2) == 0
    handles = [store.writer().write(block(i)) for i in range(2)]
    assert [store.is_in_memory(handle) for handle in handles] == [True, False]
    for path in Path(store.memory_dir).glob("*.arrow"):
        store.release([path.stem])
    assert _in_process(_write_some, store.writer(), 4) == 0
    assert (store.usage().memory_bytes, store.usage().local_bytes) == (3 * SIZE, SIZE)


def _reserve_and_die(folder: str, size: int) -> None:
    block_folders.reserve(folder, "left", size, 1 << 40)
    os.kill(os.getpid(), signal.SIGKILL)


def test_room_of_a_killed_writer_is_found(store: BlockStore) -> None:
    assert _in_process(_reserve_and_die, store.memory_dir, 2 * SIZE) == -signal.SIGKILL
    handles = [store.writer().write(block(i)) for i in range(2)]
    assert [store.is_in_memory(handle) for handle in handles] == [True, False]
    store.adopt(handles)
    assert store.make_room(SIZE) == []
    assert not list(Path(store.memory_dir).glob(".left*"))
    assert store.is_in_memory(store.writer().write(block(9)))


def test_unfinished_files_of_dead_writers_are_removed(store: BlockStore) -> None:
    dead = Path(store.memory_dir) / ".abc.999999999-1.tmp"
    dead.write_bytes(b"x" * SIZE * 9)
    alive = block_folders.reserve(store.memory_dir, "def", 10, 1 << 40)
    store.enforce_limit()
    assert not dead.exists()
    assert Path(alive).exists()


CHILD = """
import sys
from tests.columnar.test_store import block
from sharkpy.columnar.store import BlockStore
store = BlockStore(1 << 30, sys.argv[1], sys.argv[2])
store.adopt([store.writer().write(block())])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("place", ["memory", "local", "durable"])
def test_a_writer_that_outlives_its_statement_leaves_nothing(store: BlockStore, tmp_path: Path, place: str) -> None:
    writer, durable = replace(store.writer(), prefix="q-1-"), tmp_path / "durable"
    if place == "local":
        store.memory_limit = 0
        writer = replace(writer, memory_limit=0)
    durable_dir = str(durable) if place == "durable" else None
    store.claim("q-1-")
    told, untold = (writer.write(block(first), durable_dir) for first in range(2))
    store.adopt([told])
    store.release_unreported("q-1-", [told], durable_dir)
    with pytest.raises(ExecutionError, match="over"):
        writer.write(block(), durable_dir)
    assert first_value(told) == 0
    left = {path.name for folder in (store.memory_dir, store.local_dir, durable) for path in Path(folder).glob("*-*")}
    assert left == {f"{told.block_id}.arrow"}
    assert not Path(untold.memory_path).exists()


def test_orphans_of_a_killed_process_are_swept(folders: tuple[str, str]) -> None:
    root = str(Path(__file__).parents[2])
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, *folders], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root
    )
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == b"ready\n"
    assert sweep_orphans(folders[0]) == []
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    child.stdin.close()
    assert len(os.listdir(folders[0])) == 1
    assert len(sweep_orphans(folders[0])) == 1
    assert len(sweep_orphans(folders[1])) == 1
    assert os.listdir(folders[0]) == os.listdir(folders[1]) == []


def test_sweeping_spares_the_living_and_the_foreign(store: BlockStore, folders: tuple[str, str]) -> None:
    (Path(folders[0]) / "sharkpy-store-notours").mkdir()
    (Path(folders[0]) / "other").mkdir()
    assert sweep_orphans(folders[0]) == []
    assert sweep_orphans("/nonexistent") == []
    stale = Path(folders[0]) / ".new-sharkpy-store-999999999-1-abcd"
    stale.mkdir()
    assert sweep_orphans(folders[0]) == [str(stale)]


def test_the_cache_of_open_blocks_is_bounded(store: BlockStore) -> None:
    cache = BlockCache(limit=2)
    handles = [store.writer().write(block(i)) for i in range(3)]
    for handle in handles:
        cache.open(handle)
    assert len(cache) == 2
    store.release([handles[2].block_id])
    cache.open(handles[0])
    assert len(cache) == 2
