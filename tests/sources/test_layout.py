"""Data files of a folder and their atomic publication."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.sources import layout, staged_files
from sharkpy.sources.formats import source
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema
from tests.sources.staging_folder import new_staging, publish, put_fold


def contents(location: Path) -> list[str]:
    return [Path(file.path).read_text() for file in layout.list_data_files(str(location))]


def add(location: Path, text: str, *, overwrite: bool = False) -> str | None:
    staging = new_staging(location)
    if text:
        Path(staging, "part-0").write_text(text)
    return publish(staging, str(location), overwrite)


def test_inserts_append_and_overwrites_hide(tmp_path: Path) -> None:
    (tmp_path / "by_hand").write_text("a")
    add(tmp_path, "b")
    add(tmp_path, "c")
    assert contents(tmp_path) == ["a", "b", "c"]
    add(tmp_path, "d", overwrite=True)
    add(tmp_path, "e")
    assert contents(tmp_path) == ["d", "e"]
    assert sorted(os.listdir(tmp_path)) == ["base_0000003", "delta_0000004"]


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the folders that are listed."""
    found: list[str] = []
    entries = layout._visible_entries

    def noted(folder: str) -> list[os.DirEntry[str]]:
        found.append(Path(folder).name)
        return entries(folder)

    monkeypatch.setattr(layout, "_visible_entries", noted)
    return found


def test_generations_are_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: list[str]) -> None:
    monkeypatch.setattr(layout, "_TICK_NS", -1)
    for text in "abc":
        add(tmp_path, text)
    listed.clear()
    assert contents(tmp_path) == ["a", "b", "c"]
    assert listed == ["delta_0000001", "delta_0000002", "delta_0000003"]
    known = layout.list_data_files(str(tmp_path))
    assert len(listed) == 3
    assert all(one is other for one, other in zip(known, layout.list_data_files(str(tmp_path)), strict=True))


def test_a_change_in_a_generation_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any change is seen, by any process."""
    monkeypatch.setattr(layout, "_TICK_NS", -1)
    for text in "abc":
        add(tmp_path, text)
    first = Path(tmp_path, "delta_0000001")

    def changes() -> Iterator[tuple[str, Callable[[], object], list[str]]]:
        yield "file written anew", lambda: Path(first, "part-0").write_text("longer"), ["longer", "b", "c"]
        yield "its time alone", lambda: os.utime(Path(first, "part-0"), ns=(1, 1)), ["longer", "b", "c"]
        yield "another file", lambda: Path(first, "part-1").write_text("x"), ["longer", "x", "b", "c"]
        yield "renamed", lambda: Path(first, "part-1").rename(Path(first, "part-2")), ["longer", "x", "b", "c"]
        yield "hidden", lambda: Path(first, "part-2").rename(Path(first, "_part-2")), ["longer", "b", "c"]
        yield "folder", lambda: Path(first, "sub").mkdir(), ["longer", "b", "c"]
        yield "file in it", lambda: Path(first, "sub", "deep").write_text("y"), ["longer", "y", "b", "c"]
        yield "generation gone", lambda: shutil.rmtree(Path(tmp_path, "delta_0000002")), ["longer", "y", "c"]
        yield "generation by hand", lambda: shutil.copytree(first, tmp_path / "delta_0000002"), ["longer", "y"] * 2

    before = layout.list_data_files(str(tmp_path))
    for what, change, expected in changes():
        change()
        assert contents(tmp_path)[: len(expected)] == expected, what
        now = layout.list_data_files(str(tmp_path))
        assert now != before or what in ("hidden", "folder"), what
        assert now == layout.files_below(str(tmp_path)), what
        before = now
    Path(first, "part-0").unlink()
    os.mkfifo(Path(first, "part-0"))
    with pytest.raises(SourceError, match="not a file"):
        contents(tmp_path)


def test_known_generations_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: list[str]) -> None:
    monkeypatch.setattr(layout, "_TICK_NS", -1)
    monkeypatch.setattr(layout, "_GENERATIONS", known := layout._GenerationCache())
    monkeypatch.setattr(layout, "_MOST_CACHED", 3)
    for text in "abcde":
        add(tmp_path, text)
    assert contents(tmp_path) == list("abcde")
    assert [Path(path).name for path in known._found] == ["delta_0000003", "delta_0000004", "delta_0000005"]
    Path(tmp_path, "delta_0000004", "more").write_text("x")
    listed.clear()
    layout.delta_files(str(tmp_path), [3, 4, 5])
    assert listed == ["delta_0000004"]
    assert [Path(path).name for path in known._found] == ["delta_0000005", "delta_0000004"]
    assert known._num_files == 3
    for number in range(6, 9):
        Path(tmp_path, f"delta_{number:07d}").mkdir()
    assert contents(tmp_path) == ["a", "b", "c", "x", "d", "e"]
    assert sum(len(files) for _, files in known._found.values()) == known._num_files
    assert all(files for _, files in known._found.values())


def test_a_folder_that_has_just_changed_is_listed_again(tmp_path: Path, listed: list[str]) -> None:
    """A second change within the clock's tick leaves its times as they are."""
    add(tmp_path, "a")
    for _ in range(2):
        assert contents(tmp_path) == ["a"]
    assert listed.count("delta_0000001") == 2


def test_a_fold_hides_what_it_has_the_rows_of(tmp_path: Path) -> None:
    (tmp_path / "by_hand").write_text("a")
    for text in "bcdef":
        add(tmp_path, text)
    put_fold(tmp_path, ["delta_0000002", "delta_0000003", "delta_0000004"])
    assert contents(tmp_path) == ["a", "b", "cde", "f"]
    staged_files.remove_hidden(str(tmp_path), 3)
    assert "delta_0000002" in os.listdir(tmp_path)
    staged_files.remove_hidden(str(tmp_path), 4)
    assert sorted(os.listdir(tmp_path)) == ["by_hand", "delta_0000001", "delta_0000002_0000004", "delta_0000005"]
    add(tmp_path, "g")
    assert contents(tmp_path) == ["a", "b", "cde", "f", "g"]
    put_fold(tmp_path, ["delta_0000002_0000004", "delta_0000005", "delta_0000006"])
    assert contents(tmp_path) == ["a", "b", "cdefg"]
    assert contents_of_partition(tmp_path, 1) == ["a", "b"]
    add(tmp_path, "h", overwrite=True)
    assert contents(tmp_path) == ["h"]
    assert sorted(os.listdir(tmp_path)) == ["base_0000007"]


def contents_of_partition(location: Path, newest: int) -> list[str]:
    return [Path(file.path).read_text() for file in layout.list_partition_files(str(location), newest, "k=1")]


def test_a_number_that_another_write_has_by_now(tmp_path: Path) -> None:
    """A write that failed took its generation back after it was listed; the next one counts before it was asked."""
    for name in ("delta_0000001", "base_0000002"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("")

    def newest() -> int:
        if (tmp_path / "base_0000002").exists():
            (tmp_path / "base_0000002").rename(tmp_path / ".staging-gone")
            (tmp_path / "delta_0000002").mkdir()
            (tmp_path / "delta_0000002" / "x").write_text("")
        return 2

    found = [Path(file.path).parent.name for file in layout.list_data_files(str(tmp_path), newest)]
    assert found == ["delta_0000001", "delta_0000002"]


def test_what_counts_from_the_moment_of_the_listing_on(tmp_path: Path) -> None:
    """A rollback puts a base in place right after the folder was listed: it hides what the list has."""
    for text in "abc":
        add(tmp_path, text)
    asked = 0

    def newest() -> int:
        nonlocal asked
        asked += 1
        if asked == 2:
            (tmp_path / "base_0000004").mkdir()
            (tmp_path / "base_0000004" / "part-0").write_text("a")
        return 3 if asked < 2 else 4

    assert [Path(file.path).read_text() for file in layout.list_data_files(str(tmp_path), newest)] == ["a"]


def test_generations_go_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder whose files go one by one, a reader by its name would find a part."""
    add(tmp_path, "a")
    (tmp_path / "delta_0000001" / "part-1").write_text("b")
    add(tmp_path, "c", overwrite=False)
    (tmp_path / "base_0000003").mkdir()
    removed, remove = list[list[str]](), shutil.rmtree

    def watched(path: Path, **options: Any) -> None:
        removed.append(sorted(name for name in os.listdir(tmp_path) if not name.startswith(".")))
        remove(path, **options)

    monkeypatch.setattr(shutil, "rmtree", watched)
    staged_files.remove_hidden(str(tmp_path), 3)
    assert removed == [["base_0000003", "delta_0000002"], ["base_0000003"]]
    assert os.listdir(tmp_path) == ["base_0000003"]


def test_a_partition_whose_files_are_gone_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert layout.list_partition_files(str(tmp_path / "none"), 1, "k=1") == []
    add(tmp_path, "a")

    def gone(path: str) -> Any:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(layout, "_visible_entries", gone)
    with pytest.raises(SourceError, match=r"delta_0000001.*does not exist"):
        layout.list_partition_files(str(tmp_path), 1, "k=1")


def test_nothing_inserted_and_nothing_left(tmp_path: Path) -> None:
    add(tmp_path, "a")
    assert add(tmp_path, "") is None
    assert contents(tmp_path) == ["a"]
    add(tmp_path, "", overwrite=True)
    assert contents(tmp_path) == []


def test_hidden_files_are_ignored_and_folders_read(tmp_path: Path) -> None:
    for name in ("_SUCCESS", ".crc", "year=2013/f", "year=2013/_meta/g", "year=2013/.x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert contents(tmp_path) == ["year=2013/f"]
    assert contents(tmp_path / "year=2013" / "f") == ["year=2013/f"]


def test_missing_location_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere") as caught:
        layout.list_data_files(str(tmp_path / "nowhere"))
    assert caught.value.sqlstate == "58P01"


def test_writers_that_pick_the_same_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, raced = os.rename, []

    def slow_rename(old: str, new: str) -> None:
        if not raced:
            raced.append(new)
            other = Path(new)
            other.mkdir()
            (other / "part-0").write_text("other")
        rename(old, new)

    monkeypatch.setattr(os, "rename", slow_rename)
    add(tmp_path, "mine")
    assert contents(tmp_path) == ["other", "mine"]


STEPS = ("rename", "fsync", "open", "close", "listdir", "stat")


@pytest.mark.parametrize("overwrite", [False, True])
def test_publish_stopped_at_any_step_shows_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    """Every system call of `publish` in turn is made to fail, as if the process were killed there."""

    class KilledError(BaseException):
        pass

    seen = set()
    for stop_at in range(1, 60):
        place = tmp_path / str(stop_at)
        place.mkdir()
        (place / "plain").write_text("old")
        staging = new_staging(place)
        Path(staging, "part-0").write_text("new")
        calls = [0]
        with monkeypatch.context() as patch:
            for step in (*STEPS, "unlink", "rmdir"):
                patch.setattr(os, step, _stopping(getattr(os, step), calls, stop_at, KilledError))
            try:
                publish(staging, str(place), overwrite)
                finished = True
            except KilledError:
                finished = False
        found = contents(place)
        assert found in (["old"], ["new"] if overwrite else ["old", "new"])
        seen.add(tuple(found))
        if finished:
            break
    assert finished
    assert len(seen) == 2


def _stopping(function: Any, calls: list[int], stop_at: int, error: type[BaseException]) -> Any:
    def stopping(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == stop_at:
            raise error
        return function(*arguments, **named)

    return stopping


def test_staging_of_a_dead_process_is_swept(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    process = context.Process(target=new_staging, args=(str(tmp_path),))
    process.start()
    process.join()
    alive = new_staging(tmp_path)
    assert len(os.listdir(tmp_path)) == 2
    add(tmp_path, "a")
    assert sorted(os.listdir(tmp_path)) == sorted([os.path.basename(alive), "delta_0000001"])


def _write_limited(format_name: str, path: str, answers: Any) -> None:
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    schema = Schema((Field("a", parse_type("string")),))
    values = [os.urandom(50).hex() for _ in range(2000)]
    batch = pa.RecordBatch.from_pydict({"a": values}, arrow_schema(schema))
    try:
        source(format_name).write([batch, batch], schema, (), path)
    except ResourceError as error:
        answers.put((error.sqlstate, error.message))
    else:
        answers.put(("", "written"))


@pytest.mark.variants(3)
@pytest.mark.parametrize("format_name", ["text", "json", "parquet", "orc", "avro", "sequencefile", "rcfile"])
def test_full_disk_leaves_nothing(format_name: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_write_limited, args=(format_name, str(tmp_path / "f"), answers))
    process.start()
    sqlstate, message = answers.get(timeout=60)
    process.join()
    assert sqlstate == "53100"
    assert str(tmp_path) in message
    assert process.exitcode == 0
    assert os.listdir(tmp_path) == []
