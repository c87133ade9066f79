"""Versions are published whole, kept for their readers, and loaded after a restart with damaged blocks named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xxhash

from sharkpy.base.errors import CorruptionError, ExecutionError
from sharkpy.columnar import version as version_module
from sharkpy.columnar.block import encode_block
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.pruning import Compare, prune
from sharkpy.columnar.store import BlockStore, open_block
from sharkpy.columnar.version import BlockOrigin, TableVersion, VersionStore
from sharkpy.values import types as t

SCHEMA = t.Schema((t.Field("k", t.BIGINT, "the key"), t.Field("s", t.STRING)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BlockStore]:
    store = BlockStore(1 << 30, str(tmp_path / "shm"), str(tmp_path / "local"))
    yield store
    store.close()


@pytest.fixture
def versions(tmp_path: Path) -> VersionStore:
    return VersionStore(str(tmp_path / "table"))


def grow(version: TableVersion, store: BlockStore, directory: str | None, first: int) -> TableVersion:
    encoded = encode_block(pa.table({"k": range(first, first + 10), "s": [f"v{first}"] * 10}), SCHEMA)
    handle = store.writer().write(encoded, directory)
    return version.append([handle], [encoded.statistics], [(BlockOrigin("/data/f", first, 10, 99, 1),)])


def test_publish_and_load(store: BlockStore, versions: VersionStore) -> None:
    assert versions.load() is None
    version = TableVersion.empty(SCHEMA)
    for first in (0, 100, 200):
        version = grow(version, store, versions.directory, first)
        versions.publish(version)
    loaded = versions.load()
    assert loaded is not None
    assert (loaded.sequence, loaded.schema, loaded.origins, loaded.damaged) == (3, SCHEMA, version.origins, ())
    assert [b.block_id for b in loaded.blocks] == [b.block_id for b in version.blocks]
    assert loaded.num_rows == 30
    assert prune(loaded.statistics, Compare("k", ">", 150)).tolist() == [False, False, True]
    assert prune(loaded.statistics, Compare("s", "=", "v100")).tolist() == [False, True, False]
    restored = loaded.with_blocks(store.restore(loaded.blocks))
    assert open_block(restored.blocks[2]).read(["k"]).column(0)[0].as_py() == 200


def test_versions_of_earlier_formats_make_room(store: BlockStore, versions: VersionStore) -> None:
    """Such versions are not read, since the blocks can be made from files. Sweeping the folder deletes them."""
    version = grow(TableVersion.empty(SCHEMA), store, versions.directory, 0)
    versions.publish(version)
    (path,) = Path(versions.directory).glob("manifest-*.json")
    text = path.read_text().splitlines()[1].replace('"format":5', '"format":4')
    path.write_text(f"{xxhash.xxh3_64_hexdigest(text.encode())}\n{text}\n")
    assert versions.load() is None
    assert versions.sweep() == [version.blocks[0].block_id]
    assert not list(Path(versions.directory).glob("*.json"))
    assert versions.load() is None


def test_origins_keep_tags(store: BlockStore, versions: VersionStore) -> None:
    version = grow(TableVersion.empty(SCHEMA), store, versions.directory, 0)
    tagged = version.with_origins(0, (BlockOrigin("s3://b/f", 0, 10, 99, 1, tag='"x"'),))
    versions.publish(tagged)
    loaded = versions.load()
    assert loaded is not None
    assert loaded.origins == tagged.origins != version.origins


def test_readers_keep_their_version(store: BlockStore, versions: VersionStore) -> None:
    first = grow(TableVersion.empty(SCHEMA), store, versions.directory, 0)
    second = grow(first, store, versions.directory, 50)
    third = second.without([first.blocks[0].block_id])
    assert (first.num_rows, second.num_rows, third.num_rows) == (10, 20, 10)
    assert (first.sequence, second.sequence, third.sequence) == (1, 2, 3)
    assert third.statistics.minimum("k").value == 50
    assert third.blocks == second.blocks[1:]


def test_blocks_in_the_place_of_others(store: BlockStore, versions: VersionStore) -> None:
    version = TableVersion.empty(SCHEMA)
    for first in range(0, 50, 10):
        version = grow(version, store, versions.directory, first)
    other = grow(TableVersion.empty(SCHEMA), store, versions.directory, 1000)
    ids = [block.block_id for block in version.blocks]
    statistics = encode_block(pa.table({"k": range(1000, 1010), "s": ["v1000"] * 10}), SCHEMA).statistics
    one = (other.blocks, [statistics], other.origins)
    for gone, left in (((1, 3), (0, -1, 2, 4)), ((0,), (-1, 1, 2, 3, 4)), ((4,), (0, 1, 2, 3, -1)), (range(5), (-1,))):
        newer = version.with_others({ids[place] for place in gone}, *one)
        assert newer.sequence == version.sequence + 1
        assert newer.blocks == tuple((*version.blocks, other.blocks[0])[place] for place in left)
        assert newer.origins == tuple((*version.origins, other.origins[0])[place] for place in left)
        found = prune(newer.statistics, Compare("k", ">=", 1000)).tolist()
        assert found == [place == -1 for place in left]
    assert version.with_others(set(), *one).blocks == (*version.blocks, *other.blocks)
    assert version.with_others(ids[1:3], (), (), ()).blocks == (version.blocks[0], *version.blocks[3:])
    nothing = version.with_others(ids, (), (), ())
    assert (nothing.blocks, nothing.num_rows, nothing.statistics.count()) == ((), 0, 0)


def test_what_is_synced_later_is_there_at_once(store: BlockStore, versions: VersionStore) -> None:
    versions.sync()
    version = grow(TableVersion.empty(SCHEMA), store, versions.directory, 0)
    versions.publish(version, is_synced=False)
    loaded = versions.load()
    assert loaded is not None
    assert loaded.origins == version.origins
    versions.sync()


def test_a_sequence_number_is_taken_once(store: BlockStore, versions: VersionStore) -> None:
    version = grow(TableVersion.empty(SCHEMA), store, versions.directory, 0)
    versions.publish(version)
    with pytest.raises(ExecutionError, match="version 1 is already published"):
        versions.publish(version)
    assert [name for name in os.listdir(versions.directory) if "tmp" in name] == []


def test_blocks_without_durable_copy_are_left_out(store: BlockStore, versions: VersionStore) -> None:
    version = TableVersion.empty(SCHEMA)
    for first, directory in ((0, versions.directory), (10, None), (20, versions.directory), (30, None)):
        version = grow(version, store, directory, first)
    versions.publish(version)
    loaded = versions.load()
    assert loaded is not None
    assert (loaded.sequence, loaded.num_rows) == (4, 20)
    assert [block.block_id for block in loaded.blocks] == [version.blocks[place].block_id for place in (0, 2)]
    assert loaded.origins == (version.origins[0], version.origins[2])


def test_damaged_and_missing_blocks_are_told(store: BlockStore, versions: VersionStore) -> None:
    version = TableVersion.empty(SCHEMA)
    for first in range(4):
        version = grow(version, store, versions.directory, first * 10)
    versions.publish(version)
    Path(version.blocks[1].durable_path).unlink()
    broken = Path(version.blocks[2].durable_path)
    broken.write_bytes(broken.read_bytes()[:-1])
    loaded = versions.load()
    assert loaded is not None
    assert [block.block_id for block in loaded.blocks] == [version.blocks[i].block_id for i in (0, 3)]
    assert [(d.position, d.handle.block_id) for d in loaded.damaged] == [
        (i, version.blocks[i].block_id) for i in (1, 2)
    ]
    assert loaded.damaged[0].origins == version.origins[1]
    assert "missing" in loaded.damaged[0].reason
    assert "damaged" in loaded.damaged[1].reason
    assert len(loaded.statistics) == 2


def test_a_swapped_block_is_told(store: BlockStore, versions: VersionStore) -> None:
    version = grow(TableVersion.empty(SCHEMA), store, versions.directory, 0)
    versions.publish(version)
    other = t.Schema((t.Field("k", t.INT), t.Field("s", t.STRING)))
    wrong = encode_block(pa.table({"k": range(10), "s": ["x"] * 10}), other)
    Path(version.blocks[0].durable_path).write_bytes(wrong.content)
    loaded = versions.load()
    assert loaded is not None
    assert len(loaded.damaged) == 1


def test_a_damaged_manifest_gives_way_to_the_one_before(store: BlockStore, versions: VersionStore) -> None:
    first = grow(TableVersion.empty(SCHEMA), store, versions.directory, 0)
    versions.publish(first)
    versions.publish(grow(first, store, versions.directory, 10))
    newest, older = sorted(Path(versions.directory).glob("manifest-*"), reverse=True)
    text = newest.read_bytes()
    for place in range(0, len(text) - 1, 7):
        newest.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
        loaded = versions.load()
        assert loaded is not None
        assert loaded.sequence == 1
    older.write_bytes(b"")
    with pytest.raises(CorruptionError, match="is damaged"):
        versions.load()


def test_sweep_removes_what_no_version_needs(store: BlockStore, versions: VersionStore) -> None:
    version = grow(TableVersion.empty(SCHEMA), store, versions.directory, 0)
    versions.publish(version)
    stray = grow(version, store, versions.directory, 5)
    in_use = grow(version, store, versions.directory, 6)
    assert versions.sweep([in_use]) == [stray.blocks[1].block_id]
    for sequence in (2, 3):
        versions.publish(TableVersion(sequence, SCHEMA, (), TableVersion.empty(SCHEMA).statistics, ()))
    assert sorted(versions.sweep()) == sorted([version.blocks[0].block_id, in_use.blocks[1].block_id])


def test_what_was_published_before_is_not_put_into_text_again(
    store: BlockStore, versions: VersionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []
    text_of = version_module._block_text

    def noted(block: BlockHandle, *arguments: Any) -> str:
        texts.append(block.block_id)
        return text_of(block, *arguments)

    monkeypatch.setattr(version_module, "_block_text", noted)
    version = TableVersion.empty(SCHEMA)
    for number in range(5):
        version = grow(version, store, versions.directory, number * 10)
        versions.publish(version)
    assert texts == [block.block_id for block in version.blocks]
    others = (BlockOrigin("/other", 0, 1, 1, 1),)
    for newer in (version.with_origins(2, others), version.with_origins(2, others).without([texts[0]])):
        versions.publish(newer)
        loaded = VersionStore(versions.directory).load()
        assert loaded is not None
        assert (loaded.sequence, loaded.origins) == (newer.sequence, newer.origins)
        assert [block.block_id for block in loaded.blocks] == [block.block_id for block in newer.blocks]
    assert texts[5:] == [version.blocks[2].block_id]
