"""Continuous sinks into folders: a reader that takes each file once has each row once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import BindError, ResourceError, SharkError, SourceError
from sharkpy.sources.storage.local_store import LocalStore
from sharkpy.sources.storage.store import ObjectFacts
from sharkpy.streaming import kill_points
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, put_numbers, state_of
from tests.waiting import until


class Taker:
    """Program that takes whole files of a folder, each once, by its name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: set[str] = set()
        self.numbers: list[int] = []

    def take(self) -> int:
        """Take what is new; returns how many numbers there are now."""
        names = sorted(set(os.listdir(self._folder)) - self._taken)
        for name in names:
            if not name.startswith("."):
                self._taken.add(name)
                self.numbers += pq.read_table(self._folder / name).column("n").to_pylist()
        return len(self.numbers)


def hidden(folder: Path) -> list[Path]:
    return [path for path in folder.rglob(".*/*") if path.is_file()]


def test_each_row_is_in_one_file(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder, "('max.files.per.epoch' = '1')")
    out, taker = tmp_path / "out", Taker(tmp_path / "out")
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{out}' TRIGGER EVERY 1 MILLISECONDS AS SELECT n, s FROM numbers")
    for number in range(5):
        put_numbers(folder, str(number), range(10 * number, 10 * number + 10))
        until(lambda wanted=10 * number + 10: taker.take() >= wanted)
    assert taker.numbers == list(range(50))
    assert state_of(context, "s") == ("RUNNING", None)
    assert not hidden(out)
    context.sql(f"CREATE EXTERNAL TABLE seen (n BIGINT, s STRING) STORED AS PARQUET LOCATION '{out}'")
    assert rows(context, "SELECT count(*), count(DISTINCT n), max(s) FROM seen") == [(50, 50, "s9")]
    context.sql("DROP CONTINUOUS SINK s")
    assert taker.take() == 50
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == []
    context.sql("DROP STREAM numbers")


def test_formats_and_steering(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder)
    out = tmp_path / "out"
    put_numbers(folder, "a", [1, 2])
    context.sql(
        f"CREATE CONTINUOUS SINK s TO FOLDER '{out}' STORED AS JSONFILE {NOW} AS SELECT n, n * 2 AS m FROM numbers"
    )
    put_numbers(folder, "b", [3])
    context.sql("ALTER CONTINUOUS SINK s AS SELECT n, n * 3 AS m FROM numbers")
    context.sql("RESUME CONTINUOUS SINK s")
    found = [json.loads(line) for path in sorted(out.glob("*.json")) for line in path.read_text().splitlines()]
    assert found == [{"n": 1, "m": 2}, {"n": 2, "m": 4}, {"n": 3, "m": 9}]
    assert [(row[0], row[3]) for row in rows(context, "SHOW EPOCHS s")] == [(2, 1), (1, 2)]
    made_again = "\n".join(str(row[0]) for row in rows(context, "SHOW CREATE TABLE s"))
    assert made_again.startswith(f"CREATE CONTINUOUS SINK `default`.`s`\nTO FOLDER '{out}'\n")
    assert made_again.endswith("\nTRIGGER AVAILABLE NOW\nAS SELECT n, n * 3 AS m FROM numbers")
    context.sql("DROP CONTINUOUS SINK s")
    context.sql(made_again)
    assert sum(len(path.read_text().splitlines()) for path in out.glob("*.json")) == 6


def test_an_epoch_comes_once_a_minute(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    """Without TRIGGER files are not tiny."""
    make_stream(context, folder)
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{tmp_path}/out' AS SELECT n FROM numbers")
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][3] == "EVERY 60000 MILLISECONDS"


def test_a_failure_between_commit_and_files(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed rows are shown later, without a further epoch."""
    make_stream(context, folder)
    out, taker = tmp_path / "out", Taker(tmp_path / "out")
    failures: list[str] = []
    move = LocalStore.move

    def failing(store: LocalStore, source: ObjectFacts, target: str) -> None:
        if len(failures) < 3:
            failures.append(target)
            raise SourceError("the disk is gone", sqlstate="58030")
        move(store, source, target)

    put_numbers(folder, "a", [1])
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "move", failing)
        context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{out}' TRIGGER EVERY 1 MILLISECONDS AS SELECT n FROM numbers")
        until(lambda: taker.take() == 1)
    assert len(failures) == 3
    put_numbers(folder, "b", [2])
    until(lambda: taker.take() == 2)
    assert taker.numbers == [1, 2]
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][4] == 2


def test_a_try_that_was_not_committed_is_not_shown(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder)
    out, taker = tmp_path / "out", Taker(tmp_path / "out")
    put_numbers(folder, "a", [1])
    failed: list[str] = []

    def fail_once(step: str) -> None:
        if step == kill_points.PLACED and not failed:
            failed.append(step)
            raise ResourceError("no room", sqlstate="53100")

    kill_points.observer = fail_once
    try:
        context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{out}' TRIGGER EVERY 1 MILLISECONDS AS SELECT n FROM numbers")
        until(lambda: taker.take() == 1)
    finally:
        kill_points.observer = None
    assert (failed, taker.numbers, hidden(out)) == ([kill_points.PLACED], [1], [])


def test_an_epoch_without_rows_leaves_no_folder(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{tmp_path}/out' {NOW} AS SELECT n FROM numbers WHERE n > 5")
    assert len(rows(context, "SHOW EPOCHS s")) == 1
    assert [path.name for path in (tmp_path / "out").rglob(".*/*")] == []


def test_files_and_their_names_are_synced(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are on the disk before the commit, their names before the catalog forgets them."""
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    out, synced = tmp_path / "out", list[list[str]]()
    sync = LocalStore.sync

    def noted(store: LocalStore, paths: Iterable[str]) -> None:
        synced.append(list(paths))
        sync(store, synced[-1])

    monkeypatch.setattr(LocalStore, "sync", noted)
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{out}' {NOW} AS SELECT n FROM numbers")
    (file, attempt, waiting), names = synced
    assert (Path(file).parent, Path(attempt).parent, Path(waiting).parent) == (Path(attempt), Path(waiting), out)
    assert names == [str(out)]


def test_files_that_an_older_version_left(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    """A folder with the number of an epoch has the files of one that counts, if that is committed."""
    make_stream(context, folder)
    out = tmp_path / "out"
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{out}' STORED AS JSONFILE {NOW} AS SELECT n FROM numbers")
    with sharkpy.connect("local[2]", tmp_path / "w") as other:
        waiting = out / f".{other.catalog.table('default', 's').continuous}"
        for number in (1, 2):
            (waiting / str(number)).mkdir(parents=True)
            (waiting / str(number) / f"{number}.json").write_text(f'{{"n": {10 * number}}}\n')
        put_numbers(folder, "b", [2])
        other.sql("RESUME CONTINUOUS SINK s")
    found = [json.loads(line)["n"] for path in out.glob("*.json") for line in path.read_text().splitlines()]
    assert sorted(found) == [1, 2, 10]
    assert not (waiting / "1").exists()


def test_the_folder_is_not_changed_for_a_link(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder)
    put_numbers(folder, "a", [1])
    (tmp_path / "way").symlink_to(tmp_path)
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{tmp_path}/way/out' {NOW} AS SELECT n FROM numbers")
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 1
    (tmp_path / "out").rename(tmp_path / "before")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    put_numbers(folder, "b", [2])
    with pytest.raises(BindError, match="is reached through a link now"):
        context.sql("RESUME CONTINUOUS SINK s")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    (tmp_path / "out").unlink()
    context.sql("RESUME CONTINUOUS SINK s")
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("TO FOLDER '{root}/in/out' AS SELECT n FROM numbers", "is read by its stream default.numbers"),
        ("TO FOLDER '{root}/w/t/x' AS SELECT n FROM numbers", 'belongs to the table "default.t"'),
        ("TO FOLDER '{root}/w' AS SELECT n FROM numbers", "belongs to the"),
        ("TO FOLDER '{root}/out' AS SELECT count(*) AS c FROM numbers", "whose rows change with each epoch"),
        ("TO FOLDER '{root}/out' AS SELECT n FROM t", "reads no stream"),
        ("TO FOLDER '{root}/out' PARTITIONED BY (n) AS SELECT n FROM numbers", "the partitions of a continuous sink"),
        ("TO NOWHERE AS SELECT n FROM numbers", "FOLDER or .* expected"),
    ],
)
def test_refused(context: sharkpy.SharkContext, folder: Path, tmp_path: Path, text: str, error: str) -> None:
    make_stream(context, folder)
    folder.mkdir()
    context.sql("CREATE TABLE t (n BIGINT) STORED AS PARQUET")
    with pytest.raises(SharkError, match=error):
        context.sql(f"CREATE CONTINUOUS SINK s {text.format(root=tmp_path)}")
    assert rows(context, "SHOW CONTINUOUS TABLES") == []


def test_it_is_no_table(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make_stream(context, folder)
    folder.mkdir()
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{tmp_path}/out' {NOW} AS SELECT n FROM numbers")
    for text, error in (
        ("SELECT * FROM s", "is a continuous sink, which has no rows.*out have them"),
        ("INSERT INTO s VALUES (1)", "is a continuous sink: INSERT needs a table"),
        ("DROP TABLE s", "use DROP CONTINUOUS SINK"),
        ("REFRESH CONTINUOUS SINK s", "REFRESH of default.s, a continuous sink: its files may have been read already"),
        ("PAUSE CONTINUOUS INSERT s", "is not a continuous insert.*it is a continuous sink"),
        ("ALTER CONTINUOUS SINK s AS SELECT s FROM numbers", "has the columns s, and default.s has n"),
    ):
        with pytest.raises(SharkError, match=error):
            context.sql(text)
    assert rows(context, "DESCRIBE s") == [("n", "bigint", "")]
