"""Blocks in the memory of an executor: its folder, its limit, and the copies that serve when memory does not."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sharkpy.columnar import block_cache, block_writer, host
from sharkpy.columnar.block import encode_block
from sharkpy.columnar.block_cache import BlockMissingError
from sharkpy.columnar.block_folders import sweep_orphans
from sharkpy.columnar.block_writer import ExecutorWriter, drop_from_memory
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.host import ExecutorProcess
from sharkpy.columnar.store import BlockStore
from sharkpy.values.types import BIGINT, Field, Schema

SCHEMA = Schema((Field("a", BIGINT),))


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """Process that stands for this process's executor, on the host "here"."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        this = ExecutorProcess(process.pid, "here")
        monkeypatch.setattr(host, "this_executor", lambda: this)
        monkeypatch.setattr(block_writer, "this_executor", lambda: this)
        block_writer.executor_folder.cache_clear()
        yield process
        process.kill()
    block_writer.executor_folder.cache_clear()


def write(writer: ExecutorWriter, first: int, durable_dir: str | None = None) -> BlockHandle:
    values = [(first + number * 7919) % 1_000_003 for number in range(2000)]
    return writer.write(encode_block(pa.table({"a": values}), SCHEMA), durable_dir)


def rows(handle: BlockHandle) -> int:
    return block_cache.open_block(handle).num_rows


def test_a_block_is_in_memory_and_has_a_copy(tmp_path: Path, executor: subprocess.Popen[bytes]) -> None:
    writer = ExecutorWriter(str(tmp_path / "shm"), str(tmp_path / "copies"), 1 << 20)
    handle = write(writer, 1)
    assert handle.host == "here"
    assert str(executor.pid) in handle.memory_path
    assert Path(str(handle.durable_path)).parent == tmp_path / "copies"
    assert rows(handle) == 2000
    assert block_cache.open_block(handle).path == handle.memory_path
    afar = dataclasses.replace(write(writer, 2), host="there")
    assert block_cache.open_block(afar).path == afar.durable_path
    drop_from_memory(handle.memory_path)
    assert block_cache.open_block(handle).path == handle.durable_path
    Path(str(handle.durable_path)).unlink()
    with pytest.raises(BlockMissingError):
        rows(handle)
    durable = write(writer, 3, str(tmp_path / "durable"))
    assert Path(str(durable.durable_path)).parent == tmp_path / "durable"


def test_memory_keeps_its_limit(tmp_path: Path, executor: subprocess.Popen[bytes]) -> None:
    size = write(ExecutorWriter(str(tmp_path / "shm"), str(tmp_path / "copies"), 1 << 20), 0).size_bytes
    writer = ExecutorWriter(str(tmp_path / "shm"), str(tmp_path / "copies"), size * 4 + 100)
    handles = [write(writer, 1)]
    for number in range(2, 9):
        handles.append(write(writer, number))
        if number == 3:
            # The driver drops a block: its copy goes, and what is in memory gives way before older blocks.
            Path(str(handles[-1].durable_path)).unlink()
        folder = Path(handles[0].memory_path).parent
        assert sum(path.lstat().st_size for path in folder.glob("*.arrow")) <= writer.memory_limit
        if number == 4:
            assert not Path(handles[2].memory_path).exists()
            assert Path(handles[1].memory_path).exists()
    kept = [handle for handle in handles if Path(handle.memory_path).exists()]
    assert kept == handles[-4:]
    for handle in handles[:2] + handles[3:]:
        assert rows(handle) == 2000
    tiny = write(ExecutorWriter(str(tmp_path / "shm"), str(tmp_path / "copies"), 10), 20)
    assert tiny.memory_path == ""
    assert rows(tiny) == 2000


def test_the_folder_goes_with_its_executor(tmp_path: Path, executor: subprocess.Popen[bytes]) -> None:
    handle = write(ExecutorWriter(str(tmp_path / "shm"), str(tmp_path / "copies"), 1 << 20), 1)
    folder = Path(handle.memory_path).parent
    assert sweep_orphans(str(tmp_path / "shm")) == []
    executor.kill()
    executor.wait()
    deadline = time.monotonic() + 60
    while folder.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert rows(handle) == 2000


def test_a_folder_whose_watcher_is_gone_is_swept(
    tmp_path: Path, executor: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_writer, "_watch", lambda *_: None)
    folder = Path(write(ExecutorWriter(str(tmp_path / "shm"), str(tmp_path / "copies"), 1 << 20), 1).memory_path).parent
    executor.kill()
    executor.wait()
    assert sweep_orphans(str(tmp_path / "shm")) == [str(folder)]


def test_the_driver_minds_the_copies_alone(tmp_path: Path, executor: subprocess.Popen[bytes]) -> None:
    """Blocks in another host's memory are neither mended, evicted nor counted here; copies end with the store."""
    store = BlockStore(1 << 20, str(tmp_path / "driver"), str(tmp_path / "local"), is_shared=True)
    handle = write(ExecutorWriter(str(tmp_path / "shm"), store.local_dir, 1 << 20), 1)
    store.adopt([handle])
    Path(handle.memory_path).write_bytes(b"damaged")
    assert store.mend(handle)
    assert Path(handle.memory_path).read_bytes() == b"damaged"
    content = Path(str(handle.durable_path)).read_bytes()
    Path(str(handle.durable_path)).unlink()
    assert not store.mend(handle)
    store.rewrite(handle, memoryview(content))
    assert store.mend(handle)
    assert store.usage().memory_bytes == 0
    assert store.make_room(1 << 30) == []
    own = store.writer().write(encode_block(pa.table({"a": [1, 2]}), SCHEMA))
    assert (own.host, str(Path(str(own.durable_path)).parent)) == ("", store.local_dir)
    store.adopt([own])
    store.release([handle.block_id])
    assert not os.path.lexists(str(handle.durable_path))
    store.rewrite(own, memoryview(Path(str(own.durable_path)).read_bytes()))
    assert store.mend(own)
    assert rows(own) == 2
    store.close()
    assert not Path(str(own.durable_path)).exists()
