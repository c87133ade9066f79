"""New files in folders wake the queries that read them; queries without new files sleep."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming.sources import folder_finder
from sharkpy.streaming.sources.folder_events import Inotify
from sharkpy.streaming.sources.folder_reader import FolderReader
from tests.streaming.folder_input import make_stream, put_numbers, until_numbers
from tests.streaming.watched_folders import needs_events, num_watched
from tests.waiting import until

pytestmark = needs_events
NEVER = {"shark.stream.poll.ms": 3_600_000}
"""No file is found by polling."""


def test_files_are_read_as_soon_as_they_come(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_finder, "_FULL_SECONDS", 1e9)
    (folder / "below").mkdir(parents=True)
    before = num_watched()
    with sharkpy.connect("local[2]", tmp_path / "w", **NEVER) as context:
        make_stream(context, folder)
        for name in ("t", "u"):
            context.sql(f"CREATE CONTINUOUS TABLE {name} AS SELECT n FROM numbers")
        until(lambda: num_watched() >= before + 2)
        for number in range(5):
            put_numbers(folder, ("below/" if number % 2 else "") + str(number), [number])
            for name in ("t", "u"):
                until_numbers(context, range(number + 1), name)
        (folder / "5").write_text('{"n": 5, "s": "x"}\n')
        put_numbers(folder, "other/6", [6])
        for name in ("t", "u"):
            until_numbers(context, range(7), name)


def test_a_trigger_spaces_the_epochs_of_what_is_told(tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        context.sql("CREATE CONTINUOUS TABLE t TRIGGER EVERY 300 MILLISECONDS AS SELECT n FROM numbers")
        began = time.monotonic()
        for number in range(40):
            put_numbers(folder, str(number), [number])
            time.sleep(0.02)
        until_numbers(context, range(40))
        epochs = context.sql("SHOW EPOCHS t").fetchall()
        assert len(epochs) <= 2 + (time.monotonic() - began) / 0.3


def test_who_is_told_what_comes_looks_seldom(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    before = num_watched()
    make_stream(context, folder)
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    until(lambda: num_watched() > before)
    put_numbers(folder, "a", [1])
    until_numbers(context, [1])
    (stream,) = context.catalog.streams.queries()[0].streams
    until(lambda: context.streams.readers.events.tells(stream))
    looks: list[float] = []
    look = FolderReader.look

    def noted(self: FolderReader, age: float = 0.0) -> tuple[int, ...]:
        looks.append(age)
        return look(self, age)

    monkeypatch.setattr(FolderReader, "look", noted)
    began = time.monotonic()
    time.sleep(1.0)
    assert len(looks) <= 4 + (time.monotonic() - began) / 0.2


def test_one_that_looks_lets_others_know(tmp_path: Path, folder: Path) -> None:
    """The query that hears of a file is not always the query that reads it."""
    (folder / "one").mkdir(parents=True)
    (folder / "other").mkdir()
    before = num_watched()
    with sharkpy.connect("local[2]", tmp_path / "w", **NEVER) as context:
        for name in ("one", "other"):
            context.sql(f"CREATE STREAM s_{name} (n BIGINT) STORED AS JSONFILE FROM FOLDER '{folder / name}'")
            context.sql(f"CREATE CONTINUOUS TABLE t_{name} AS SELECT n FROM s_{name}")
        until(lambda: num_watched() >= before + 2)
        for number in range(10):
            for name in ("one", "other"):
                put_numbers(folder / name, str(number), [number])
        for name in ("one", "other"):
            until_numbers(context, range(10), f"t_{name}")


def test_watches_end_with_who_needs_them(tmp_path: Path, folder: Path) -> None:
    folder.mkdir()
    before = num_watched()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        for name in ("t", "u"):
            context.sql(f"CREATE CONTINUOUS TABLE {name} AS SELECT n FROM numbers")
        until(lambda: num_watched() == before + 1)
        context.sql("PAUSE CONTINUOUS TABLE t")
        put_numbers(folder, "a", [1])
        until_numbers(context, [1], "u")
        assert num_watched() == before + 1
        context.sql("PAUSE CONTINUOUS TABLE u")
        until(lambda: num_watched() == before)
        assert context.sql("SELECT n FROM numbers").fetchall()
        context.sql("RESUME CONTINUOUS TABLE t")
        until_numbers(context, [1], "t")
        until(lambda: num_watched() == before + 1)
        for name in ("t", "u"):
            context.sql(f"DROP CONTINUOUS TABLE {name}")
        context.sql("DROP STREAM numbers")
        until(lambda: num_watched() == before)
        (file,) = context.streams.readers.events.files
        assert not os.get_inheritable(file)
        make_stream(context, folder)
        context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
        until(lambda: num_watched() == before + 1)
    assert num_watched() == before


def test_without_a_watch_all_is_as_ever(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inotify, "begin", lambda: None)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
        for number in range(5):
            put_numbers(folder, str(number), [number])
            until_numbers(context, range(number + 1))
        assert context.streams.readers.events.files == ()
