"""Cached tables follow their files, survive restarts, and lose dropped data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sharkpy.base.errors import CorruptionError, ExecutionError, SourceError, UnsupportedError
from sharkpy.catalog.model import StorageFormat, TableKind
from sharkpy.columnar.block import Block
from sharkpy.columnar.store import open_block
from sharkpy.plan import commands

MEMORY = (("shark.cache", "MEMORY"),)


def again(session: Any, root: Path) -> Any:
    """Session on the same warehouse, after the end of the given one."""
    session.close()
    return type(session)(root)


def test_session_cache(session: Any) -> None:
    table = session.create("t")
    session.insert(table, [(1, "x")])
    assert session.table_cache.version(table) is None
    session.run(commands.CacheTable(table, lazy=True))
    assert not session.table_cache.is_loaded(table)
    assert session.block_rows(table) == [(1, "x")]
    session.insert(table, [(2, "y")])
    assert session.table_cache.loaded_version(table).num_rows == 2
    session.run(commands.UncacheTable(table))
    assert session.table_cache.version(table) is None
    assert session.engine.store.usage().num_blocks == 0


def test_reads_are_counted_by_the_place_that_answers(session: Any) -> None:
    table = session.create("t")
    session.insert(table, [(1, "x")])
    query = "SELECT upper(s) FROM t"

    def counts() -> tuple[int, int, int]:
        reads = session.table_cache.reads(table)
        return reads.from_memory, reads.from_disk, reads.loaded

    session.run(commands.CacheTable(table, lazy=True))
    assert counts() == (0, 0, 0)
    session.context.sql(query).fetchall()
    assert counts() == (0, 0, 1)
    session.context.sql(query).fetchall()
    assert counts() == (1, 0, 1)
    session.context.sql(f"SELECT x.s FROM ({query.replace('upper(s)', 's')}) x JOIN t y ON x.s = y.s").fetchall()
    assert counts() == (3, 0, 1)
    # The session writes the block as it inserts, so no query waits for it.
    session.insert(table, [(2, "y")])
    session.context.sql(query).fetchall()
    assert counts() == (5, 0, 1)
    session.engine.store.memory_limit = 0
    session.engine.store.enforce_limit()
    session.context.sql(query).fetchall()
    assert counts() == (5, 2, 1)
    session.run(commands.UncacheTable(table))
    assert counts() == (0, 0, 0)
    session.run(commands.CacheTable(table))
    session.context.sql(query).fetchall()
    assert counts() == (0, 2, 0)


def test_only_new_files_are_loaded(session: Any) -> None:
    table = session.create("t", properties=MEMORY)
    session.insert(table, [(1, "x")])
    first = session.table_cache.version(table)
    assert session.table_cache.version(table) is first
    session.insert(table, [(2, "y")])
    second = session.table_cache.version(table)
    assert second.blocks[0] == first.blocks[0]
    assert len(second.blocks) == 2
    session.insert(table, [(3, "z")], overwrite=True)
    assert session.block_rows(table) == [(3, "z")]


def test_files_changed_by_others(session: Any, root: Path) -> None:
    (root / "data").mkdir()
    file = root / "data" / "f"
    file.write_text("1,x\n2\nq,q\n")
    table = session.create("e", kind=TableKind.EXTERNAL, location=str(root / "data"), properties=MEMORY)
    assert session.block_rows(table) == [(1, "x"), (2, None), (None, "q")]
    metrics = session.table_cache.metrics(table)
    assert (metrics.malformed_lines, metrics.malformed_fields) == (1, 1)
    file.write_text("5,changed\n")
    assert session.block_rows(table) == [(5, "changed")]
    file.unlink()
    assert session.block_rows(table) == []
    (root / "data").rmdir()
    with pytest.raises(SourceError):
        session.table_cache.version(table)


def test_memory_table_survives_a_restart_without_its_source_being_read(
    session: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = session.create("t", properties=MEMORY)
    session.insert(table, [(1, "x"), (2, None)])
    session.block_rows(table)
    session = again(session, root)
    versions = session.table_cache.versions
    monkeypatch.setattr(versions, "load", lambda entry, splits: [] if not splits else pytest.fail("read"))
    assert session.block_rows(table) == [(1, "x"), (2, None)]
    session.close()


@pytest.mark.parametrize("damage", ["missing", "corrupt", "cut"])
def test_damaged_durable_block_is_made_again(session: Any, root: Path, damage: str) -> None:
    table = session.create("t", properties=MEMORY)
    session.insert(table, [(1, "x")])
    session.insert(table, [(2, "y")])
    path = Path(session.table_cache.version(table).blocks[0].durable_path)
    session = again(session, root)
    if damage == "missing":
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data if damage == "corrupt" else data[: len(data) // 2])
    assert sorted(session.block_rows(table)) == [(1, "x"), (2, "y")]
    session = again(session, root)
    assert sorted(session.block_rows(table)) == [(1, "x"), (2, "y")]
    session.close()


@pytest.mark.parametrize("copies", ["memory", "durable", "both"])
def test_repair_puts_the_same_rows_at_the_same_place(session: Any, copies: str) -> None:
    table = session.create("t", properties=MEMORY)
    session.insert(table, [(1, "x")])
    session.insert(table, [(2, "y")])
    version = session.table_cache.version(table)
    lost = version.blocks[0]
    for place, path in (("memory", lost.memory_path), ("durable", lost.durable_path)):
        if copies in (place, "both"):
            data = bytearray(Path(path).read_bytes())
            data[len(data) // 2] ^= 0xFF
            Path(path).write_bytes(data)
    session.table_cache.repair(version.blocks)
    assert session.table_cache.version(table) is version
    assert sorted(session.block_rows(table)) == [(1, "x"), (2, "y")]
    for path in (lost.memory_path, lost.durable_path):
        Block.open(path).verify()


def test_a_block_whose_source_is_gone_or_changed_is_not_repaired(session: Any, root: Path) -> None:
    (root / "data").mkdir()
    file = root / "data" / "f"
    file.write_text("1,x\n")
    table = session.create("e", kind=TableKind.EXTERNAL, location=str(root / "data"), properties=MEMORY)
    (block,) = session.table_cache.version(table).blocks
    for change in (lambda: file.write_text("1,x\n2,y\n"), file.unlink):
        change()
        for path in (block.memory_path, block.durable_path):
            Path(path).unlink(missing_ok=True)
        with pytest.raises(CorruptionError, match=f'{block.block_id}.*table "default.e"') as caught:
            session.table_cache.repair([block])
        assert caught.value.block_id == block.block_id


def test_dropped_blocks_live_as_long_as_their_readers(session: Any) -> None:
    table = session.create("t", properties=MEMORY)
    session.insert(table, [(1, "x")])
    held = session.table_cache.version(table).blocks
    session.insert(table, [(2, "y")], overwrite=True)
    session.insert(table, [(3, "z")], overwrite=True)
    session.table_cache.version(table)
    path = Path(held[0].durable_path)
    assert session.engine.store.usage().num_blocks == 2
    assert open_block(held[0]).num_rows == 1
    del held
    assert session.engine.store.usage().num_blocks == 1
    assert not path.exists()


def test_compaction(session: Any, root: Path) -> None:
    """Many appends end as one block that knows all its sources; a reader of the old version reads on."""
    session.conf.set("shark.compaction.min.blocks", "8")
    session.conf.set("shark.compaction.max.file.bytes", "0")
    table = session.create("t", properties=MEMORY)
    rows = [(number, str(number)) for number in range(20)]
    reader = None
    for row in rows:
        session.insert(table, [row])
        version = session.table_cache.version(table)
        if reader is None and len(version.blocks) == 5:
            reader = version
    session.table_cache.settle()
    session.table_cache.compact(table)
    version = session.table_cache.version(table)
    assert len(version.blocks) <= 8
    assert session.block_rows(table) == rows
    assert sum(map(len, version.origins)) == 20
    assert [open_block(block).num_rows for block in reader.blocks] == [1] * 5
    del reader
    big = max(version.blocks, key=lambda block: block.num_rows)
    for path in (big.memory_path, big.durable_path):
        Path(path).unlink()
    session.table_cache.repair(version.blocks)
    assert session.block_rows(table) == rows
    session.table_cache.close()
    session = again(session, root)
    load, read = session.table_cache.versions.load, []
    session.table_cache.versions.load = lambda *what, **how: [read.extend(what[1]), load(*what, **how)][1]
    assert session.block_rows(table) == rows
    # The last ones were only in memory.
    assert len(read) < 8
    session.close()


def test_compaction_loses_no_row_of_a_vanished_file(session: Any, root: Path) -> None:
    session.conf.set("shark.compaction.min.blocks", "4")
    session.conf.set("shark.compaction.max.file.bytes", "0")
    table = session.create("t", properties=MEMORY, kind=TableKind.EXTERNAL, location=str(root / "t"))
    for number in range(6):
        session.insert(table, [(number, "x")])
        session.table_cache.version(table)
    session.table_cache.settle()
    session.table_cache.compact(table)
    version = session.table_cache.version(table)
    assert max(map(len, version.origins)) > 2
    Path(max(version.origins, key=len)[1].path).unlink()
    assert len(session.block_rows(table)) == 5


@pytest.mark.parametrize("format_name", ["text", "parquet"])
def test_no_block_has_more_rows_than_set(session: Any, format_name: str) -> None:
    session.conf.set("shark.block.rows", "4")
    table = session.create("t", properties=MEMORY, storage=StorageFormat(format_name))
    session.insert(table, [(number, "x") for number in range(8)])
    assert [block.num_rows for block in session.table_cache.version(table).blocks] == [4, 4]
    assert len(session.block_rows(table)) == 8


def test_cached_suffix(session: Any) -> None:
    table = session.create("t_cached")
    session.insert(table, [(1, "x")])
    assert session.block_rows(table) == [(1, "x")]
    session.run(commands.SetConf("shark.cache.flag.checkTableName", "false"))
    assert not session.table_cache.is_cached(session.create("u_cached"))


def test_uncache_of_a_table_cached_by_property(session: Any) -> None:
    table = session.create("t", properties=MEMORY)
    session.insert(table, [(1, "x")])
    session.table_cache.version(table)
    session.run(commands.UncacheTable(table))
    assert not session.table_cache.is_cached(session.catalog.table("default", "t"))
    assert os.listdir(os.path.join(session.catalog.state_dir, "blocks")) == []


def test_memory_only_table_as_select(session: Any, query: Any) -> None:
    rows = query(pa.table({"a": pa.array([1, 2], pa.int32()), "s": ["x", None]}))
    table = session.create("t", query=rows, properties=(("shark.cache", "MEMORY_ONLY"),))
    assert table.kind is TableKind.TEMPORARY
    assert table.location is None
    session.insert(table, [(3, "z")])
    assert session.block_rows(table) == [(1, "x"), (2, None), (3, "z")]
    session.run(commands.ClearCache())
    assert len(session.block_rows(table)) == 3
    with pytest.raises(UnsupportedError):
        session.run(commands.UncacheTable(table))
    session.insert(table, [(9, "o")], overwrite=True)
    assert session.block_rows(table) == [(9, "o")]
    session.run(commands.TruncateTable(table))
    assert session.block_rows(table) == []
    session.run(commands.DropTable(table))
    with pytest.raises(ExecutionError):
        session.table_cache.version(table)
    assert session.catalog.find_table("default", "t") is None


def test_clear_cache(session: Any) -> None:
    table = session.create("t", properties=MEMORY)
    session.insert(table, [(1, "x")])
    session.block_rows(table)
    session.run(commands.ClearCache())
    assert session.engine.store.usage().num_blocks == 0
    assert session.block_rows(table) == [(1, "x")]


def test_other_schema_or_format_is_loaded_anew(session: Any) -> None:
    table = session.create("t", properties=MEMORY)
    session.insert(table, [(1, "x")])
    session.block_rows(table)
    session.run(commands.SetTableProperties(table, (("field.delim", ";"),)))
    assert session.block_rows(session.catalog.table("default", "t")) == [(None, None)]


def test_failed_load_leaves_no_blocks(session: Any, root: Path) -> None:
    (root / "data").mkdir()
    table = session.create(
        "e", kind=TableKind.EXTERNAL, location=str(root / "data"), properties=MEMORY, storage=StorageFormat("parquet")
    )
    (root / "data" / "bad").write_text("this is no Parquet file")
    with pytest.raises(SourceError, match="bad"):
        session.table_cache.version(table)
    assert session.engine.store.usage().memory_bytes == 0
