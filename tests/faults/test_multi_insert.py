"""FROM … INSERT … INSERT … that fails or is killed between two steps: each target has the old rows or the new ones."""

from __future__ import annotations

import gc
import os
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.sources import plain_folders
from tests.children import status_of
from tests.faults.disk import used
from tests.faults.nth_write import nth_write_fails

ROWS = 200
_MOST_WRITES = 400
TABLES = {"plain": "NONE", "kept": "MEMORY", "alone": "MEMORY_ONLY"}
LASTING = ("plain", "kept", "parts", "folder")
"""Targets that outlive a session."""


def session(folder: Path) -> sharkpy.SharkContext:
    (folder / "shm").mkdir(parents=True, exist_ok=True)
    conf = {"shark.store.shm.dir": folder / "shm", "shark.temp.dir": folder, "shark.block.rows": 100}
    return sharkpy.connect(warehouse=folder / "warehouse", **conf)


def make_targets(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE TABLE base AS SELECT explode(sequence(1, {ROWS})) AS id")
    for name, cache in TABLES.items():
        context.sql(
            f"CREATE TABLE {name} TBLPROPERTIES ('shark.cache' = '{cache}') AS SELECT id FROM base WHERE id < 4"
        )
    context.sql("CREATE TABLE parts (id INT) PARTITIONED BY (p INT) STORED AS PARQUET")
    context.sql("INSERT INTO parts SELECT id, id % 2 FROM base WHERE id < 4")
    context.sql(f"INSERT OVERWRITE DIRECTORY '{folder}/folder' STORED AS PARQUET SELECT id FROM base WHERE id < 4")
    context.sql(f"CREATE EXTERNAL TABLE folder (id INT) STORED AS PARQUET LOCATION '{folder}/folder'")


def statement(folder: Path, names: tuple[str, ...] = (*TABLES, "parts", "folder")) -> str:
    """Statement that puts all rows of a join into each target, in place of its old ones."""
    inserts = {
        "parts": "INSERT OVERWRITE TABLE parts SELECT id, id % 2",
        "folder": f"INSERT OVERWRITE DIRECTORY '{folder}/folder' STORED AS PARQUET SELECT id",
    }
    branches = [inserts.get(name, f"INSERT OVERWRITE TABLE {name} SELECT id") for name in names]
    return f"FROM (SELECT a.id FROM base a JOIN base b ON a.id = b.id) s {' '.join(branches)}"


def contents(context: sharkpy.SharkContext, names: tuple[str, ...] = (*TABLES, "parts", "folder")) -> dict[str, int]:
    return {name: context.sql(f"SELECT count(DISTINCT id) FROM {name}").fetchall()[0][0] for name in names}


def failure(context: sharkpy.SharkContext, sql: str) -> str | None:
    """Only the text of the error: its frames hold blocks."""
    try:
        context.sql(sql).close()
    except SharkError as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.parametrize("stride", [13, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_the_disk_is_full_from_the_nth_write_on(tmp_path: Path, stride: int) -> None:
    failures = 0
    with session(tmp_path) as context:
        make_targets(context, tmp_path)
        old, size = contents(context), used(tmp_path)
        assert set(old.values()) == {3}
        for number in range(1, _MOST_WRITES, stride):
            with nth_write_fails(tmp_path, number) as writes:
                error = failure(context, statement(tmp_path))
            if error is None:
                break
            failures += 1
            assert "53100" in error, f"{writes.place}: {error}"
            assert contents(context) == old, writes.place
            gc.collect()
            context.engine.store.usage()
            assert used(tmp_path) <= size, writes.place
        assert failures > 4
        assert set(contents(context).values()) == {ROWS}


def test_a_commit_that_fails_takes_all_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with session(tmp_path) as context:
        make_targets(context, tmp_path)
        old, listed = contents(context), files(tmp_path)
        run = CatalogFile.run

        def failing(self: CatalogFile, sql: str, *parameters: Any) -> int:
            if sql.startswith("UPDATE partition_") and len(placed) < 2:
                placed.append(run(self, sql, *parameters))
                if len(placed) == 2:
                    raise SharkError("the catalog is gone")
                return placed[-1]
            return run(self, sql, *parameters)

        placed: list[int] = []
        # The Hive partitions come last: all other targets are in place by then.
        order = ("plain", "kept", "alone", "folder", "parts")
        monkeypatch.setattr(CatalogFile, "run", failing)
        with pytest.raises(SharkError, match="the catalog is gone"):
            context.sql(statement(tmp_path, order))
        assert contents(context) == old
        assert files(tmp_path) == listed
        context.sql(statement(tmp_path, order)).close()
        assert set(contents(context).values()) == {ROWS}


def files(folder: Path) -> list[str]:
    """Data files and remains of staging, without the catalog's own and blocks."""
    found = [path for root in ("warehouse", "folder") for path in (folder / root).rglob("*") if path.is_file()]
    return sorted(str(path) for path in found if ".sharkpy" not in path.parts)


CHILD = """
    import os, sys, threading
    from pathlib import Path
    import sharkpy
    from sharkpy.sources import plain_folders
    from sharkpy.execution.commands.writes import directory
    from tests.faults.test_multi_insert import LASTING, session, statement
    folder, last = Path(sys.argv[1]), int(sys.argv[2])
    count, swap = 0, plain_folders.swap

    def step(name):
        global count
        count += 1
        if count == last:
            os._exit(9)

    def audit(event, arguments):
        if event in ("os.rename", "os.rmdir", "sqlite3.connect") and ".sharkpy" not in str(arguments[0]):
            step(event)

    def swapped(*paths):
        step("before the swap")
        swap(*paths)
        step("behind the swap")

    with session(folder) as context:
        context.sql("SELECT 1").close()
        directory.swap = swapped
        sys.addaudithook(audit)
        context.sql(statement(folder, LASTING)).close()
        print(count, flush=True)
        os._exit(0)
"""


def run_child(folder: Path, last: int) -> int:
    """Run the statement in another process, which dies right before the step of that number; returns its status."""
    return status_of(textwrap.dedent(CHILD), folder, last)


def check_killed(folder: Path, numbers: range | list[int]) -> list[set[int]]:
    """Targets seen after each kill; the statement works after every one."""
    seen = []
    for number in numbers:
        with session(folder) as context:
            made = {name for (name, *_) in context.sql("SHOW TABLES").fetchall()}
            if not made:
                make_targets(context, folder)
            else:
                context.sql(
                    statement(folder, LASTING).replace("FROM base a", "FROM (SELECT * FROM base WHERE id < 4) a")
                )
            assert set(contents(context, LASTING).values()) == {3}
        status = run_child(folder, number)
        assert status in (0, 9)
        with session(folder) as context:
            found = contents(context, LASTING)
        assert set(found.values()) <= {3, ROWS}, (number, found)
        seen.append(set(found.values()))
        if status == 0:
            break
    return seen


def test_killed_at_some_steps(tmp_path: Path) -> None:
    seen = check_killed(tmp_path, [1, 6, 1000])
    assert seen[0] == {3}
    assert seen[-1] == {ROWS}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_every_step(tmp_path: Path) -> None:
    seen = check_killed(tmp_path, range(1, 200))
    assert seen[0] == {3}
    assert seen[-1] == {ROWS}
    assert len(seen) > 5


def test_snapshots_beside_writers_and_drops(tmp_path: Path) -> None:
    """Readers of one table while other sessions insert, overwrite and drop it: whole batches, or a missing table."""
    wrong: list[str] = []
    with session(tmp_path) as context:
        context.sql("CREATE TABLE base AS SELECT explode(sequence(1, 50)) AS id")
        context.sql("CREATE TABLE one (id INT) STORED AS PARQUET")
        stop = threading.Event()

        def write(verb: str) -> None:
            session = context.new_session()
            for _ in range(12):
                attempt(session, f"FROM (SELECT id FROM base) s INSERT {verb} TABLE one SELECT id")

        def drop() -> None:
            session = context.new_session()
            for _ in range(6):
                attempt(session, "DROP TABLE IF EXISTS one")
                attempt(session, "CREATE TABLE IF NOT EXISTS one (id INT) STORED AS PARQUET")

        def read() -> None:
            session = context.new_session()
            while not stop.is_set():
                for row in attempt(session, "SELECT count(*), count(DISTINCT id), sum(id) FROM one"):
                    count, distinct, total = row
                    if count % 50 or distinct not in (0, 50) or (total or 0) != count // 50 * 1275:
                        wrong.append(str(row))

        def attempt(session: sharkpy.SharkContext, sql: str) -> list[Any]:
            try:
                return session.sql(sql).fetchall()
            except SharkError as error:
                if error.sqlstate in ("XX000", "XX001"):
                    wrong.append(f"{sql}: {error}")
                return []

        readers = [threading.Thread(target=read) for _ in range(2)]
        writers = [threading.Thread(target=write, args=(verb,)) for verb in ("INTO", "OVERWRITE")]
        writers.append(threading.Thread(target=drop))
        for thread in (*readers, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        stop.set()
        for thread in readers:
            thread.join()
    assert wrong == []


def test_folders_change_places_without_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_folders, "_renameat2", lambda: None)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    plain_folders.swap(str(tmp_path / "a"), str(tmp_path / "b"))
    assert os.listdir(tmp_path / "a") == ["b"]
    assert os.listdir(tmp_path / "b") == ["a"]
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
