"""States in memory: what folds, and merges of blocks, leave of their versions."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import ResourceError
from sharkpy.catalog.model import Table
from sharkpy.columnar.pruning import Compare, prune
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.tables import cached_table
from sharkpy.execution.tables.block_loading import LoadedBlock
from sharkpy.execution.tables.file_folding import bounds_of_blocks
from sharkpy.execution.tables.staged_blocks import FoldedBlocks
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.sources import layout
from sharkpy.sources.folders.generations import is_folded
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.layout import DataFile, Generation
from sharkpy.sources.source import ReadMetrics
from tests.files import files_of, generations_of
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, put, put_numbers
from tests.waiting import until

FEW = {"shark.stream.kept.epochs": 1, "shark.compaction.min.blocks": 3}
QUERY = "SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2"
BY_KEY = "SELECT k, c FROM t ORDER BY k"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Folders that were listed, and files that a reader of a table loaded into memory."""
    found = list[str]()
    names, load = layout.names_in, TableVersions.load

    def listed(path: str) -> list[str]:
        found.append(path)
        return names(path)

    def loaded(self: TableVersions, *arguments: Any, **named: Any) -> list[LoadedBlock]:
        made = load(self, *arguments, **named)
        found.extend(block.split.path for block in made)
        return made

    monkeypatch.setattr(layout, "names_in", listed)
    monkeypatch.setattr(TableVersions, "load", loaded)
    monkeypatch.setattr(cached_table, "_LIST_SECONDS", 1e9)
    return found


def make(context: sharkpy.SharkContext, folder: Path, query: str = QUERY, clauses: str = NOW) -> None:
    make_stream(context, folder)
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {clauses} WITH UNBOUNDED STATE AS {query}")


def epoch(context: sharkpy.SharkContext, folder: Path, number: int) -> None:
    put_numbers(folder, f"{number:03}.json", [number])
    context.sql("RESUME CONTINUOUS TABLE t")


def state_of(context: sharkpy.SharkContext) -> Table:
    state = context.catalog.state_table(context.catalog.table("default", "t"))
    assert state is not None
    return state


def version_of(context: sharkpy.SharkContext) -> TableVersion:
    version = context.table_cache.loaded_version(state_of(context))
    assert version is not None
    return version


def folds(context: sharkpy.SharkContext) -> set[str]:
    """Names of the folds that count."""
    state = state_of(context)
    return {one.name for one, _ in generations_of(context, state) if one.first < one.last}


def counts(num_epochs: int) -> list[tuple[object, ...]]:
    """Rows of the table after `num_epochs` epochs of one number each, from 0 on."""
    even = (num_epochs + 1) // 2
    return [(0, even), *([(1, num_epochs - even)] if num_epochs > 1 else [])]


def test_blocks_of_epochs_that_are_kept_are_merged_in_memory_alone(tmp_path: Path, folder: Path) -> None:
    many = {"shark.stream.kept.epochs": 1000, "shark.compaction.min.blocks": 2}
    with sharkpy.connect("local[2]", tmp_path / "w", **many) as context:
        make(context, folder)
        for number in range(20):
            epoch(context, folder, number)
            context.table_cache.settle()
            assert rows(context, BY_KEY) == counts(number + 1)
        version = version_of(context)
        assert len(version.blocks) < 10
        assert max(map(len, version.origins)) > 1
        assert all(block.durable_path is None for block in version.blocks)
    with sharkpy.connect("local[2]", tmp_path / "w", **many) as context:
        assert rows(context, BY_KEY) == counts(20)


def test_blocks_that_a_fold_takes_are_not_merged_before(tmp_path: Path, folder: Path) -> None:
    few = {"shark.stream.kept.epochs": 3, "shark.compaction.min.blocks": 4}
    with sharkpy.connect("local[2]", tmp_path / "w", **few) as context:
        make(context, folder)
        for number in range(20):
            epoch(context, folder, number)
            context.table_cache.settle()
            assert rows(context, BY_KEY) == counts(number + 1)
            assert {len(origins) for origins in version_of(context).origins} == {1}


def test_no_reader_looks_for_what_a_fold_has_left(tmp_path: Path, folder: Path, looked: list[str]) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        make(context, folder)
        for number in range(20):
            epoch(context, folder, number)
            looked.clear()
            assert rows(context, BY_KEY) == counts(number + 1)
            assert looked == []
        assert folds(context)
        sources = {
            Path(one.path).parent.name.partition("-")[0] for origins in version_of(context).origins for one in origins
        }
        assert folds(context) <= sources
        state = state_of(context)
        entry = context.table_cache.versions.find(state)
        assert entry is not None
        assert entry.files == tuple(files_of(context, state))


def test_other_blocks_stay_as_they_are(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = list[tuple[TableVersion, TableVersion]]()
    publish = FoldedBlocks.publish
    with sharkpy.connect("local[2]", tmp_path / "w", **(FEW | {"shark.stream.kept.epochs": 5})) as context:

        def noted(self: FoldedBlocks, old: list[DataFile], new: list[DataFile]) -> None:
            before = version_of(context)
            publish(self, old, new)
            versions.append((before, version_of(context)))

        monkeypatch.setattr(FoldedBlocks, "publish", noted)
        make(context, folder)
        for number in range(20):
            epoch(context, folder, number)
        assert versions
        for before, after in versions:
            known = {block.block_id for block in before.blocks}
            (place,) = [place for place, block in enumerate(after.blocks) if block.block_id not in known]
            assert len(after.blocks) < len(before.blocks)
            num_behind = len(after.blocks) - place - 1
            assert after.blocks[:place] == before.blocks[:place]
            assert after.blocks[place + 1 :] == before.blocks[len(before.blocks) - num_behind :]
            assert after.blocks[place].durable_path is not None


def test_readers_go_on_while_a_fold_is_made_and_placed(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers wait for no lock, and read the rows of the last committed epoch."""
    made, publish = FoldedBlocks.make, FoldedBlocks.publish
    answers = list[list[tuple[object, ...]]]()
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        reader = context.new_session()

        def ask() -> None:
            thread = threading.Thread(target=lambda: answers.append(rows(reader, BY_KEY)))
            thread.start()
            thread.join(60)

        def make_beside(self: FoldedBlocks) -> None:
            ask()
            made(self)

        def publish_beside(self: FoldedBlocks, old: list[DataFile], new: list[DataFile]) -> None:
            ask()
            publish(self, old, new)
            ask()

        monkeypatch.setattr(FoldedBlocks, "make", make_beside)
        monkeypatch.setattr(FoldedBlocks, "publish", publish_beside)
        make(context, folder)
        for number in range(7):
            answers.clear()
            epoch(context, folder, number)
            assert answers == [counts(number + 1)] * (3 if number in (2, 5) else 0)


def test_a_reader_beside_epochs_and_folds(tmp_path: Path, folder: Path) -> None:
    """Each answer has the rows of one epoch, and no answer is older than the answer before it."""
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        make(context, folder, clauses="")
        seen, failures, is_over = [0], list[object](), threading.Event()
        reader = context.new_session()

        def read() -> None:
            while not is_over.is_set():
                found = rows(reader, BY_KEY)
                total = sum(int(str(count)) for _, count in found)
                if found != (counts(total) if total else []) or total < seen[-1]:
                    failures.append((seen[-1], found))
                    return
                seen.append(total)

        thread = threading.Thread(target=read)
        thread.start()
        for number in range(40):
            put_numbers(folder, f"{number:03}.json", [number])
            until(lambda: seen[-1] == number + 1 or failures)  # noqa: B023  it is called here
        is_over.set()
        thread.join(60)
        assert not failures
        until(lambda: folds(context))


def test_without_room_for_blocks_readers_load_them(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = FoldedBlocks.make

    def full(*_: object) -> tuple[list[LoadedBlock], ReadMetrics]:
        raise ResourceError("no room for a block", sqlstate="53200")

    def make_without_room(self: FoldedBlocks) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(TableVersions, "make", full)
            made(self)

    monkeypatch.setattr(FoldedBlocks, "make", make_without_room)
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        make(context, folder)
        for number in range(10):
            epoch(context, folder, number)
            assert rows(context, BY_KEY) == counts(number + 1)
        assert folds(context)
        sources = {
            Path(one.path).parent.name.partition("-")[0] for origins in version_of(context).origins for one in origins
        }
        assert folds(context) <= sources


def test_a_fold_that_comes_too_late_leaves_no_blocks(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table was rolled back while its fold was made: the files are not placed, and the blocks go."""
    made = FoldedBlocks.make
    with sharkpy.connect("local[2]", tmp_path / "w", **(FEW | {"shark.stream.kept.epochs": 2})) as context:
        late = list[LoadedBlock]()

        def make_late(self: FoldedBlocks) -> None:
            made(self)
            late.extend(self._made or [])
            monkeypatch.setattr(LoggedFolder, "place_fold", lambda *_: None)

        monkeypatch.setattr(FoldedBlocks, "make", make_late)
        make(context, folder)
        for number in range(6):
            epoch(context, folder, number)
            assert rows(context, BY_KEY) == counts(number + 1)
        assert late
        assert not folds(context)
        for handle in (one.handle for one in late):
            assert not Path(handle.memory_path).exists()
            assert handle.durable_path is not None
            assert not Path(handle.durable_path).exists()


def test_folded_blocks_are_there_after_a_restart(tmp_path: Path, folder: Path, looked: list[str]) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        make(context, folder)
        for number in range(13):
            epoch(context, folder, number)
        version, folded = version_of(context), folds(context)
        kept = {
            block.durable_path
            for block, origins in zip(version.blocks, version.origins, strict=True)
            if Path(origins[0].path).parent.name.partition("-")[0] in folded
        }
        assert len(kept) == len(folded) > 0
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        looked.clear()
        assert rows(context, BY_KEY) == counts(13)
        assert kept <= {block.durable_path for block in version_of(context).blocks}
        assert not any(name in path for name in folded for path in looked)


@pytest.mark.slow
def test_versions_and_rollbacks_beside_folds(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **(FEW | {"shark.stream.kept.epochs": 4})) as context:
        make(context, folder)
        for number in range(16):
            epoch(context, folder, number)
            for kept in range(max(1, number - 2), number + 2):
                assert rows(context, f"SELECT k, c FROM t VERSION AS OF {kept} ORDER BY k") == counts(kept)
        assert folds(context)
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 13")
        assert rows(context, BY_KEY) == counts(13)
        context.sql("RESUME CONTINUOUS TABLE t")
        assert rows(context, BY_KEY) == counts(16)
        for number in range(16, 30):
            epoch(context, folder, number)
            assert rows(context, BY_KEY) == counts(number + 1)
        assert folds(context)


@pytest.mark.slow
def test_folds_of_blocks_that_were_merged(tmp_path: Path, folder: Path) -> None:
    """Blocks have rows of kept epochs next to rows of other epochs: folds wait until they can take whole blocks."""
    some = {"shark.stream.kept.epochs": 12, "shark.compaction.min.blocks": 2}
    with sharkpy.connect("local[2]", tmp_path / "w", **some) as context:
        make(context, folder)
        for number in range(60):
            epoch(context, folder, number)
            context.table_cache.settle()
            assert rows(context, BY_KEY) == counts(number + 1)
        assert folds(context)


def test_a_run_takes_blocks_whole() -> None:
    files = [DataFile(str(number), 1, 0) for number in range(6)]
    generations = [(Generation(str(number), number, number), [file]) for number, file in enumerate(files)]
    assert bounds_of_blocks(generations, []) == [0, 1, 2, 3, 4, 5, 6]
    assert bounds_of_blocks(generations, [files[1:4]]) == [0, 1, 4, 5, 6]
    assert bounds_of_blocks(generations, [files[:2], files[4:]]) == [0, 2, 3, 4, 6]
    assert bounds_of_blocks(generations, [[files[0], DataFile("gone", 1, 0), files[5]]]) == [0, 6]
    assert bounds_of_blocks([], [files]) == [0]


def parts_of_folds(context: sharkpy.SharkContext) -> list[set[int]]:
    """Parts of the state that have rows in each file of a fold."""
    found = [files for one, files in generations_of(context, state_of(context)) if one.first < one.last]
    return [set(pq.read_table(file.path)["part"].to_pylist()) for files in found for file in files]


def test_each_part_of_a_state_is_folded_for_itself(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        make(context, folder, "SELECT x.n AS n, y.s AS s FROM numbers x JOIN numbers y ON x.n = y.n + 1")
        for number in range(10):
            epoch(context, folder, number)
            expected = [(n, f"s{n - 1}") for n in range(1, number + 1)]
            assert rows(context, "SELECT n, s FROM t ORDER BY n") == expected
        assert parts_of_folds(context) == [{0}, {1}, {2}] * len(folds(context))
        version = version_of(context)
        of_fold = np.array([is_folded(origins[0].path) for origins in version.origins])
        for part in range(3):
            kept = prune(version.statistics, Compare("part", "=", part))
            assert np.count_nonzero(kept & of_fold) == len(folds(context))
            assert kept[~of_fold].all()


def test_parts_of_one_row_share_a_file(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        for stream in ("events", "others"):
            columns = "k INT, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
            context.sql(f"CREATE STREAM {stream} ({columns}) STORED AS JSON FROM FOLDER '{folder}'")
        query = "SELECT e.n AS n, o.n AS m FROM events e JOIN others o ON e.k = o.k AND o.ts = e.ts"
        context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {NOW} AS {query}")
        for number in range(10):
            put(folder, f"{number:03}", [{"k": 0, "n": number, "ts": f"2024-05-01 10:00:{number:02}"}])
            context.sql("RESUME CONTINUOUS TABLE t")
            assert sorted(rows(context, "SELECT n, m FROM t")) == [(n, n) for n in range(number + 1)]
        found = parts_of_folds(context)
        assert found
        num_files = len(found) // len(folds(context))
        for one in (found[place : place + num_files] for place in range(0, len(found), num_files)):
            assert sorted(map(len, one))[:-1] == [1] * (num_files - 1)
            assert len(one[-1]) > 1
            assert sum(map(len, one)) == len(set.union(*one))
