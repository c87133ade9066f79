"""Files of a folder as a stream: each has one number, which stays."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import Position
from sharkpy.catalog.model import StorageFormat, StreamSource, Table, TableKind
from sharkpy.catalog.stream_store import StreamFile
from sharkpy.sources.layout import DataFile
from sharkpy.streaming.sources.folder_events import FolderEvents, Inotify
from sharkpy.streaming.sources.folder_finder import has_writer
from sharkpy.streaming.sources.folder_reader import FolderReader
from sharkpy.values.types import BIGINT, Field, Schema
from tests.streaming.folder_input import put_numbers
from tests.waiting import until


class Snapshot:
    """Input that a reader returns to an epoch."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def give(self, _: Table, files: list[DataFile]) -> None:
        self.files = [Path(file.path).name for file in files]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path / "w")) as catalog:
        yield catalog


@pytest.fixture(params=["listed", "told"])
def events(request: pytest.FixtureRequest) -> Iterator[FolderEvents | None]:
    """Source of events about new files; None: folders are listed."""
    if request.param == "listed":
        yield None
        return
    probe = Inotify.begin()
    if probe is None:
        pytest.skip("the system does not tell what happens in folders")
    probe.close()
    with closing(FolderEvents(lambda _: None)) as events:
        yield events


def reader_of(
    catalog: Catalog,
    folder: Path,
    events: FolderEvents | None = None,
    settle: int | None = None,
    most: int = 100,
    properties: tuple[tuple[str, str], ...] = (),
) -> FolderReader:
    settles = () if settle is None else (("settle.ms", str(settle)),)
    options = (*settles, ("max.files.per.epoch", str(most)))
    schema = Schema((Field("n", BIGINT),))
    facts = (TableKind.STREAM, schema, StorageFormat("json"), str(folder), properties)
    stream = Table("stream", "default", "numbers", *facts, stream=StreamSource("FOLDER", options))
    return FolderReader(stream, catalog, events)


def look(reader: FolderReader) -> Position:
    """Look as the scheduler does, again and again."""
    return reader.look(1e-9)


def given(reader: FolderReader, start: int, end: int) -> list[str]:
    snapshot = Snapshot()
    reader.give(snapshot, (start,), (end,))  # type: ignore[arg-type]  # it has what a reader needs
    return snapshot.files


def test_files_have_numbers_in_the_order_of_their_times(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None
) -> None:
    folder = tmp_path / "in"
    for place, name in enumerate(("c", "a", "b")):
        os.utime(put_numbers(folder, name, [1]), ns=(place, place))
    reader = reader_of(catalog, folder, events)
    assert look(reader) == (3,)
    assert given(reader, 0, 3) == ["c", "a", "b"]
    os.utime(put_numbers(folder, "0", [1]), ns=(0, 0))
    assert look(reader) == (4,)
    assert given(reader, 3, 4) == ["0"]
    for place, name in enumerate(("f", "e")):
        os.utime(put_numbers(folder, name, [1]), ns=(5 + place, 5 + place))
    os.utime(put_numbers(folder, "d", [1]), ns=(6, 6))
    assert look(reader) == (7,)
    assert given(reader, 4, 7) == ["f", "d", "e"]
    again = reader_of(catalog, folder, events)
    assert look(again) == (7,)
    assert given(again, 0, 7) == ["c", "a", "b", "0", "f", "d", "e"]


def test_two_processes_find_the_same_files(tmp_path: Path, catalog: Catalog) -> None:
    """Each file has one number, whichever process finds it first, and both processes read the same rows."""
    folder = tmp_path / "in"
    with closing(Catalog(tmp_path / "w")) as another:
        one, other = reader_of(catalog, folder), reader_of(another, folder)
        for place, (name, first, second) in enumerate([("a", one, other), ("b", other, one), ("c", one, other)]):
            os.utime(put_numbers(folder, name, [1]), ns=(place, place))
            assert first.look() == (place + 1,)
            assert given(first, place, place + 1) == [name]
            assert second.look() == (place + 1,)
            assert given(second, 0, place + 1) == ["a", "b", "c"][: place + 1]
        for name in ("d", "e"):
            put_numbers(folder, name, [1])
        assert one.look() == (5,)
        put_numbers(folder, "f", [1])
        assert other.look() == (6,)
        assert one.look() == (6,)
        for reader in (one, other):
            assert given(reader, 3, 6)[2:] == ["f"]
            assert sorted(given(reader, 3, 5)) == ["d", "e"]
            assert given(reader, 0, 3) == ["a", "b", "c"]


def test_an_epoch_does_not_ask_for_files_that_were_just_found(tmp_path: Path, catalog: Catalog) -> None:
    folder = tmp_path / "in"
    reader = reader_of(catalog, folder)
    asked: list[str] = []
    catalog._file._reading.set_trace_callback(asked.append)
    for number in range(3):
        put_numbers(folder, str(number), [number])
        assert reader.look() == (number + 1,)
        asked.clear()
        assert given(reader, number, number + 1) == [str(number)]
        assert asked == []
    assert given(reader, 0, 2) == ["0", "1"]
    assert len(asked) == 1


def test_files_that_come_while_the_folder_is_listed(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing has the third file, and not the second, which has its place before it."""
    folder, scan, listings = tmp_path / "in", os.scandir, 0
    put_numbers(folder, "1", [1])

    class Scan:
        def __init__(self, path: str) -> None:
            nonlocal listings
            listings += 1
            new = {1: ("2", "3"), 2: ("4",)}.get(listings, ())
            for place, name in enumerate(new):
                os.utime(put_numbers(folder, name, [1]), ns=(0, time.time_ns() + listings * 1000 + place))
            self._hidden = "2" if listings == 1 else ""
            self._entries = scan(path)

        def __enter__(self) -> list[os.DirEntry[str]]:
            return [entry for entry in self._entries if entry.name != self._hidden]

        def __exit__(self, *_: object) -> None:
            self._entries.close()

    reader = reader_of(catalog, folder, events)
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", Scan)
        assert look(reader) == (3,)
        assert given(reader, 0, 3) == ["1", "2", "3"]
        if events is not None:
            assert listings == 1
            put_numbers(folder, "4", [1])
        assert look(reader) == (4,)
    assert listings == (3 if events is None else 1)
    assert given(reader, 3, 4) == ["4"]


def test_a_folder_may_come_later(tmp_path: Path, catalog: Catalog, events: FolderEvents | None) -> None:
    reader = reader_of(catalog, tmp_path / "in", events)
    assert look(reader) == (0,)
    put_numbers(tmp_path / "in", "below/deep/a", [1])
    assert look(reader) == (1,)
    put_numbers(tmp_path / "in", "below/deeper/b", [1])
    assert look(reader) == (2,)
    (tmp_path / "in").rename(tmp_path / "away")
    assert look(reader) == (2,)
    put_numbers(tmp_path / "away", "c", [1])
    put_numbers(tmp_path / "in", "d", [1])
    assert look(reader) == (3,)
    assert given(reader, 2, 3) == ["d"]


def test_what_is_not_whole_or_not_a_file_is_left_alone(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    reader = reader_of(catalog, folder, events)
    assert look(reader) == (0,)
    for name in (".hidden", "_marker", "a.tmp", "a.part", "_below/a", "b._COPYING_"):
        put_numbers(folder, name, [1])
    secret = put_numbers(tmp_path / "elsewhere", "secret", [1])
    (folder / "link").symlink_to(secret)
    (folder / "links").symlink_to(secret.parent)
    os.mkfifo(folder / "pipe")
    assert look(reader) == reader_of(catalog, folder).look() == (0,)
    # The path had a file before; now it leads to another folder.
    put_numbers(folder, "below/secret", [1])
    assert look(reader) == (1,)
    (folder / "below").rename(tmp_path / "below")
    (folder / "below").symlink_to(secret.parent)
    put_numbers(secret.parent, "more", [1])
    assert look(reader) == (1,)


def test_a_file_that_is_being_written_is_read_once_it_is_closed(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None
) -> None:
    folder = tmp_path / "in"
    put_numbers(folder, "0", [0])
    reader = reader_of(catalog, folder, events)
    for number in (1, 2):
        with (folder / f"a{number}").open("w") as file:
            for _ in range(3):
                file.write("{}\n")
                file.flush()
                assert look(reader) == (number,)
                assert reader.unsettled_seconds() > 0
        assert look(reader) == (number + 1,)
        assert reader.unsettled_seconds() == 0.0


def test_a_file_may_be_there_before_its_writer_has_it_open(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sharkpy.streaming.sources.folder_finder._WRITTEN_SECONDS", 1000.0)
    folder = tmp_path / "in"
    put_numbers(folder, "0", [0])
    reader = reader_of(catalog, folder, events)
    assert look(reader) == (1,)
    (folder / "a").touch()
    assert look(reader) == (1,)
    with (folder / "a").open("w") as file:
        file.write("{}\n")
        file.flush()
        assert look(reader) == (1,)
    assert look(reader) == (2,)
    (folder / "empty").touch()
    assert look(reader) == (2,)
    assert 0 < reader.unsettled_seconds() <= 1000
    monkeypatch.setattr("sharkpy.streaming.sources.folder_finder._WRITTEN_SECONDS", 0.05)
    until(lambda: look(reader) == (3,))


@pytest.mark.parametrize("tells", [True, False])
def test_a_file_settles(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None, monkeypatch: pytest.MonkeyPatch, tells: bool
) -> None:
    """Files of programs that open them again and again, and of systems that do not say who writes."""
    folder = tmp_path / "in"
    folder.mkdir()
    if not tells:
        monkeypatch.setattr("sharkpy.streaming.sources.folder_finder.has_writer", lambda _: None)
        monkeypatch.setattr("sharkpy.streaming.sources.folder_finder._SETTLE_NS", 300_000_000)
    reader = reader_of(catalog, folder, events, settle=300 if tells else None)
    path = folder / "a"
    for _ in range(3):
        with path.open("a") as file:
            file.write("{}\n")
        assert look(reader) == (0,)
        assert 0 < reader.unsettled_seconds() <= 0.3
    until(lambda: look(reader) == (1,))
    assert reader.unsettled_seconds() == 0.0
    path.with_name("b").write_text("{}\n")
    os.utime(path.with_name("b"), ns=(time.time_ns() + 10**15,) * 2)
    until(lambda: look(reader) == (2,))


def test_a_lease_is_no_danger_to_who_asks(tmp_path: Path) -> None:
    """Another process opens the file for writing, again and again, while it is asked about."""
    path = tmp_path / "a"
    path.write_text("")
    text = "import sys\nfor _ in range(3000): open(sys.argv[1], 'a').close()"
    with subprocess.Popen([sys.executable, "-c", text, str(path)]) as other:
        found = set()
        while other.poll() is None:
            found.add(has_writer(str(path)))
    assert other.returncode == 0
    assert found <= {True, False}
    assert has_writer(str(path)) is False
    assert has_writer(str(tmp_path / "nowhere")) is None


def test_new_files_are_seen_however_soon_they_come(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None
) -> None:
    """The folder's time need not change between two files."""
    folder = tmp_path / "in"
    reader = reader_of(catalog, folder, events)
    for number in range(50):
        put_numbers(folder, str(number), [number])
        assert look(reader) == (number + 1,)


def test_a_look_at_an_unchanged_folder_lists_nothing(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sharkpy.streaming.sources.folder_finder._FULL_SECONDS", 1e9)
    folder = tmp_path / "in"
    put_numbers(folder, "a", [1])
    reader = reader_of(catalog, folder, events)
    time.sleep(0.2)
    assert look(reader) == (1,)
    listed: list[object] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    for _ in range(5):
        assert look(reader) == reader.look() == (1,)
    assert not listed
    put_numbers(folder, "b", [2])
    assert look(reader) == (2,)
    assert bool(listed) == (events is None)


def test_a_file_that_changes_after_it_was_found_is_an_error(tmp_path: Path, catalog: Catalog) -> None:
    folder = tmp_path / "in"
    path = put_numbers(folder, "a", [1])
    reader, careless = (
        reader_of(catalog, folder, properties=properties) for properties in ((), (("failOnDataLoss", "false"),))
    )
    assert reader.look() == careless.look() == (1,)
    with path.open("a") as file:
        file.write("{}\n")
    with pytest.raises(SourceError, match="was changed after the stream numbers had found it"):
        given(reader, 0, 1)
    put_numbers(folder, "b", [2])
    with pytest.raises(SourceError, match="was changed after the stream numbers had found it"):
        reader.look()
    assert careless.look() == (2,)
    assert given(careless, 0, 2) == ["a", "b"]


def test_a_file_that_is_gone_before_it_was_read_is_an_error(tmp_path: Path, catalog: Catalog) -> None:
    folder = tmp_path / "in"
    put_numbers(folder, "b", [2])
    path = put_numbers(folder, "a", [1])
    reader, careless = (
        reader_of(catalog, folder, properties=properties) for properties in ((), (("failOnDataLoss", "false"),))
    )
    assert reader.look() == (2,)
    path.unlink()
    with pytest.raises(SourceError, match="does not exist"):
        given(reader, 0, 2)
    assert given(careless, 0, 2) == ["b"]


def test_two_processes_agree_on_the_numbers(tmp_path: Path, catalog: Catalog, events: FolderEvents | None) -> None:
    folder = tmp_path / "in"
    with closing(Catalog(tmp_path / "w")) as other:
        readers = [reader_of(catalog, folder, events), reader_of(other, folder)]
        for number in range(6):
            put_numbers(folder, str(number), [number])
            look(readers[number % 2])
        assert [look(one) for one in readers] == [(6,), (6,)]
        assert given(readers[0], 0, 6) == given(readers[1], 0, 6) == [str(number) for number in range(6)]


def test_what_a_look_has_found_that_failed_is_found_again(
    tmp_path: Path, catalog: Catalog, events: FolderEvents | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    reader = reader_of(catalog, folder, events)
    for number in range(3):
        assert look(reader) == (number,)
        put_numbers(folder, str(number), [number])

        def fail(_: str, files: list[StreamFile]) -> None:
            raise ResourceError("disk full", sqlstate="53100")

        with monkeypatch.context() as patch:
            patch.setattr(catalog.streams, "add_files", fail)
            with pytest.raises(ResourceError):
                look(reader)
    assert look(reader) == (3,)
    assert given(reader, 0, 3) == ["0", "1", "2"]


def test_a_transaction_may_ask_for_the_first_file_while_a_look_waits_for_it(tmp_path: Path, catalog: Catalog) -> None:
    """A rollback does so while the engine looks at another query of the stream."""
    folder = tmp_path / "in"
    put_numbers(folder, "a", [1])
    reader = reader_of(catalog, folder)
    assert reader.look() == (1,)
    put_numbers(folder, "b", [2])
    looking = threading.Thread(target=reader.look, daemon=True)
    found: list[Position] = []
    asking = threading.Thread(target=lambda: found.append(reader.first()), daemon=True)
    with catalog.transaction():
        looking.start()
        until(reader._lock.locked)
        asking.start()
        asking.join(10)
        assert found == [(0,)]
    looking.join()
    assert reader.end == (2,)


def test_epochs_are_cut(tmp_path: Path, catalog: Catalog) -> None:
    reader = reader_of(catalog, tmp_path, most=10)
    assert [reader.cut((3,), (end,)) for end in (5, 100, 13)] == [(5,), (13,), (13,)]
