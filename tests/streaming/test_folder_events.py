"""Files that the system tells of: found without a listing, in the same order, and where it tells nothing found too."""

from __future__ import annotations

import itertools
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.streaming.sources import folder_events, folder_finder
from sharkpy.streaming.sources.folder_events import FolderEvents, FolderWatch, Inotify
from sharkpy.streaming.sources.folder_finder import FolderFinder, is_ignored
from tests.examples import examples
from tests.paths_below import paths_below
from tests.streaming.watched_folders import MOST_QUEUED, needs_events, num_watched
from tests.waiting import PATIENCE, allowed, until

pytestmark = needs_events


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def events(told: list[str]) -> Iterator[FolderEvents]:
    with closing(FolderEvents(told.append)) as events:
        yield events


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is listed because time has passed."""
    monkeypatch.setattr(folder_finder, "_FULL_SECONDS", 1e9)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Folders that were listed."""
    found: list[str] = []
    scandir = os.scandir

    def noted(path: str) -> object:
        found.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    return found


class Reading:
    """Files that a stream has read, by name, with numbers in the order in which they were found."""

    def __init__(self, events: FolderEvents, folder: Path, owner: str = "stream") -> None:
        self.folder = folder
        self.known: dict[str, int] = {}
        self.finder = FolderFinder(str(folder), None, lambda: events.watch(owner, is_ignored))

    def look(self) -> list[str]:
        """Names of the files that are found now."""
        found = self.finder.find(self.known, time.monotonic(), is_thorough=False)
        whole = [one for one in found if one.is_whole and one.name not in self.known]
        new = [one.name for one in sorted(whole, key=lambda one: (one.modified_ns, one.name))]
        assert len(set(new)) == len(new)
        self.known |= {name: len(self.known) + place for place, name in enumerate(new)}
        return new


def put(folder: Path, name: str) -> Path:
    """Write a file elsewhere, and move it to its place."""
    aside = folder.with_name(f"{folder.name}-aside")
    aside.mkdir(exist_ok=True)
    path = folder / name
    (aside / path.name).write_text("x")
    return (aside / path.name).rename(path)


def deafen(events: FolderEvents) -> None:
    """Drop the events so far, as if another machine had made the changes."""
    assert events._inotify is not None
    assert list(events._inotify.events())


def reading_of(events: FolderEvents, folder: Path, owner: str = "stream") -> Reading:
    """Return a reading of two files; an event announced one of them."""
    reading = Reading(events, folder, owner)
    folder.mkdir(exist_ok=True)
    put(folder, f"{owner} 1")
    assert f"{owner} 1" in reading.look()
    put(folder, f"{owner} 2")
    assert f"{owner} 2" in reading.look()
    assert events.tells(owner)
    return reading


def test_nothing_is_listed_while_the_system_tells_what_happens(
    events: FolderEvents, told: list[str], tmp_path: Path, listed: list[str]
) -> None:
    reading, folder = reading_of(events, tmp_path / "in"), tmp_path / "in"
    (folder / "below").mkdir()
    assert reading.look() == []
    listed.clear()
    assert reading.look() == []
    put(folder, "below/b")
    for name in ("c", "a"):
        os.utime(put(folder, name), ns=(5, 5))
    assert reading.look() == ["a", "c", "below/b"]
    (folder / "a").rename(folder / "d")
    os.link(folder / "c", folder / "below" / "e")
    assert sorted(reading.look()) == ["below/e", "d"]
    (folder / "c").unlink()
    (folder / "d").rename(tmp_path / "d")
    put(folder, "f").unlink()
    assert reading.look() == []
    told.clear()
    for name in ("_g", ".g", "g.tmp"):
        put(folder, name)
    (folder / ".below").mkdir()
    assert reading.look() == []
    assert told == []
    (folder / "g.tmp").rename(folder / "g")
    assert reading.look() == ["g"]
    with (folder / "h").open("w") as file:
        assert reading.look() == []
        file.write("x")
        file.flush()
        assert reading.look() == []
        assert not events.tells("stream")
        put(folder, "i")
        assert reading.look() == ["i"]
    assert reading.look() == ["h"]
    assert events.tells("stream")
    assert set(told) == {"stream"}
    assert listed == []


def test_what_comes_together_is_in_the_order_of_its_times(events: FolderEvents, tmp_path: Path) -> None:
    reading, folder = reading_of(events, tmp_path / "in"), tmp_path / "in"
    for place, name in enumerate(("d", "b", "c", "a")):
        os.utime(put(folder, name), ns=(place // 2, place // 2))
    assert reading.look() == ["b", "d", "a", "c"]
    os.utime(put(folder, "e"), ns=(0, 0))
    assert reading.look() == ["e"]


def test_changes_that_nobody_tells_are_found(events: FolderEvents, tmp_path: Path, listed: list[str]) -> None:
    reading, folder = reading_of(events, tmp_path / "in"), tmp_path / "in"
    for number in range(3):
        time.sleep(0.05)
        put(folder, f"silent {number}")
        deafen(events)
        listed.clear()
        assert reading.look() == [f"silent {number}"]
        assert listed
        assert not events.tells("stream")
        put(folder, f"told {number}")
        assert reading.look() == [f"told {number}"]
        assert events.tells("stream")


def test_a_file_that_nobody_tells_of_is_found_in_time(
    events: FolderEvents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file came at the same time as another one, so the folder's time has not changed."""
    reading, folder = reading_of(events, tmp_path / "in"), tmp_path / "in"
    before = folder.stat()
    put(folder, "a")
    deafen(events)
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reading.look() == []
    monkeypatch.setattr(folder_finder, "_FULL_SECONDS", 0.2)
    until(lambda: reading.look() == ["a"])


def test_more_happens_than_the_system_keeps(events: FolderEvents, told: list[str], tmp_path: Path) -> None:
    most = int(MOST_QUEUED.read_text())
    if most > 100_000:
        pytest.skip("it keeps too much")
    reading, folder = reading_of(events, tmp_path / "in"), tmp_path / "in"
    told.clear()
    for number in range(most):
        os.close(os.open(folder / f".{number % 2}", os.O_CREAT | os.O_WRONLY))
    assert told == []
    put(folder, "a")
    assert reading.look() == ["a"]
    assert told == ["stream"]
    put(folder, "b")
    assert reading.look() == ["b"]


def test_more_files_come_than_a_watch_keeps(
    events: FolderEvents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_events, "_MOST_NAMES", 5)
    reading, folder = reading_of(events, tmp_path / "in"), tmp_path / "in"
    for number in range(20):
        names = [f"{number}-{place}" for place in range(number)]
        for name in names:
            put(folder, name)
        assert sorted(reading.look()) == sorted(names)


def test_folders_come_and_go(events: FolderEvents, tmp_path: Path) -> None:
    reading, folder, before = reading_of(events, tmp_path / "in"), tmp_path / "in", num_watched()
    for name in ("a", "a/b", "c"):
        (folder / name).mkdir()
        put(folder, f"{name}/x")
    assert sorted(reading.look()) == ["a/b/x", "a/x", "c/x"]
    assert num_watched() == before + 3
    put(folder, "a/b/y")
    assert reading.look() == ["a/b/y"]
    (folder / "a" / "b").rename(folder / "c" / "d")
    put(folder, "c/d/z")
    assert sorted(reading.look()) == ["c/d/x", "c/d/y", "c/d/z"]
    (folder / "c").rename(tmp_path / "away")
    put(tmp_path / "away", "lost")
    assert reading.look() == []
    assert num_watched() == before + 1
    (tmp_path / "away").rename(folder / "e")
    assert sorted(reading.look()) == ["e/d/x", "e/d/y", "e/d/z", "e/lost", "e/x"]
    shutil.rmtree(folder / "e")
    assert reading.look() == []
    assert num_watched() == before + 1
    put(folder, "a/z")
    assert reading.look() == ["a/z"]
    shutil.rmtree(folder)
    assert reading.look() == []
    assert num_watched() == before - 1
    folder.mkdir()
    put(folder, "new")
    assert reading.look() == ["new"]
    put(folder, "newer")
    assert reading.look() == ["newer"]


def test_a_folder_in_the_place_of_another(events: FolderEvents, tmp_path: Path) -> None:
    """The path is a link, which then leads to another folder; no event announces the change of the link."""
    reading_of(events, tmp_path / "one")
    (tmp_path / "in").symlink_to(tmp_path / "one")
    reading = Reading(events, tmp_path / "in", "linked")
    assert len(reading.look()) == 2
    put(tmp_path / "one", "a")
    assert reading.look() == ["a"]
    (tmp_path / "two").mkdir()
    put(tmp_path / "two", "b")
    (tmp_path / "in").unlink()
    (tmp_path / "in").symlink_to(tmp_path / "two")
    put(tmp_path / "one", "c")
    assert reading.look() == ["b"]
    put(tmp_path / "two", "d")
    assert reading.look() == ["d"]


def test_several_watch_one_folder(events: FolderEvents, told: list[str], tmp_path: Path) -> None:
    folder, before = tmp_path / "in", num_watched()
    one, other = reading_of(events, folder, "one"), reading_of(events, folder, "other")
    assert num_watched() == before + 1
    one.look()
    told.clear()
    put(folder, "a")
    assert one.look() == ["a"]
    assert set(told) == {"one", "other"}
    assert other.look() == ["a"]
    one.finder.close()
    assert num_watched() == before + 1
    put(folder, "b")
    assert other.look() == ["b"]
    # The next look makes another watch.
    assert one.look() == ["b"]
    assert not events.tells("one")
    put(folder, "c")
    assert one.look() == other.look() == ["c"]
    assert events.tells("one")


def test_watches_end(events: FolderEvents, tmp_path: Path) -> None:
    before = num_watched()
    readings = {name: reading_of(events, tmp_path / name, name) for name in ("one", "two", "three")}
    assert num_watched() == before + 3
    (file,) = events.files
    assert not os.get_inheritable(file)
    events.retain({"one", "two", "four"})
    assert num_watched() == before + 2
    readings["one"].finder.close()
    assert num_watched() == before + 1
    assert [name for name in readings if events.tells(name)] == ["two"]
    events.close()
    assert num_watched() == before
    assert events.files == ()
    for name, reading in readings.items():
        put(tmp_path / name, "a")
        assert reading.look() == ["a"]
        time.sleep(0.05)
        put(tmp_path / name, "b")
        assert reading.look() == ["b"]
    assert num_watched() == before
    events.close()


@pytest.mark.parametrize("limit", ["descriptors", "watches", "folders"])
def test_the_system_has_no_more_to_give(
    events: FolderEvents, tmp_path: Path, limit: str, listed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before = tmp_path / "in", num_watched()
    (folder / "below").mkdir(parents=True)
    reading = Reading(events, folder)
    with monkeypatch.context() as patch:
        patch.setattr(folder_finder, "_FULL_SECONDS", 0.05)
        if limit == "descriptors":
            patch.setattr(Inotify, "begin", lambda: None)
        elif limit == "watches":
            add: Callable[[Inotify, str], int] = Inotify.add
            patch.setattr(Inotify, "add", lambda self, path: -1 if "below" in path else add(self, path))
        else:
            patch.setattr(folder_events, "_MOST_FOLDERS", 1)
        for number in range(5):
            put(folder, f"below/{number}")
            assert reading.look() == [f"below/{number}"]
            assert not events.tells("stream")
            assert num_watched() == before
            time.sleep(0.06)
        reading.look()
    # There are some again.
    reading.finder._watch_due = 0.0
    assert reading.look() == []
    assert num_watched() == before + 2
    put(folder, "below/a")
    assert reading.look() == ["below/a"]
    listed.clear()
    put(folder, "below/b")
    assert reading.look() == ["below/b"]
    assert listed == []


def test_what_is_heard_while_others_look(events: FolderEvents, told: list[str], tmp_path: Path) -> None:
    """Any reading may receive the event. Its owner is notified once that there is news, and finds the file later."""
    one, other = (reading_of(events, tmp_path / name, name) for name in ("one", "other"))
    told.clear()
    put(tmp_path / "other", "a")
    assert not told
    assert one.look() == []
    assert told == ["other"]
    assert other.finder.has_news()
    assert other.look() == ["a"]
    assert not other.finder.has_news()
    put(tmp_path / "other", "b")
    events.hear()
    events.hear()
    assert told == ["other", "other"]
    assert other.look() == ["b"]


class Model:
    """A folder, and what is to be found in it."""

    def __init__(self, root: Path, events: FolderEvents) -> None:
        self.events = events
        self.folder = root / "in"
        self.folder.mkdir()
        self.reading = Reading(events, self.folder)
        self.names = itertools.count()
        self.open: dict[Path, IO[str]] = {}
        self.files = ExitStack()

    def folders(self) -> list[Path]:
        return [self.folder, *(path for path in sorted(paths_below(self.folder)) if path.is_dir())]

    def closed(self) -> list[Path]:
        return [path for path in sorted(paths_below(self.folder)) if path.is_file() and path not in self.open]

    def picked(self, paths: list[Path], choice: int) -> Path | None:
        return paths[choice % len(paths)] if paths else None

    def act(self, action: str, choice: int) -> None:
        place = self.picked(self.folders(), choice) or self.folder
        new = place / f"{next(self.names)}"
        file = self.picked(self.closed(), choice)
        below = self.picked(self.folders()[1:], choice)
        if action == "put":
            put(self.folder, str(new.relative_to(self.folder)))
        elif action == "write":
            new.write_text("x")
        elif action == "open":
            opened = self.open[new] = self.files.enter_context(new.open("w"))
            opened.write("x")
            opened.flush()
        elif action == "close":
            for one in self.open.values():
                one.close()
            self.open.clear()
        elif action == "hide":
            new.with_name(f".{new.name}").write_text("x")
            put(self.folder, f"{new.name}.tmp")
        elif action == "make":
            new.mkdir()
        elif action == "silent":
            self.look()
            time.sleep(0.03)
            new.write_text("x")
            deafen(self.events)
            self.look()
        elif action == "look":
            self.look()
        elif file is not None and action == "rename":
            file.rename(new)
        elif file is not None and action == "link":
            os.link(file, new)
        elif file is not None and action == "remove":
            file.unlink()
        elif below is not None and not self.open and action == "move":
            self.moved(below, new)
        elif below is not None and not self.open and action == "clear":
            shutil.rmtree(below)

    def moved(self, folder: Path, to: Path) -> None:
        """Move a folder, also to the place of one that it is in."""
        if not to.is_relative_to(folder):
            folder.rename(to)

    def look(self) -> None:
        self.reading.look()
        visible = {
            str(path.relative_to(self.folder))
            for path in self.closed()
            if not any(map(is_ignored, path.relative_to(self.folder).parts))
        }
        assert visible <= self.reading.known.keys()
        opened = {str(path.relative_to(self.folder)) for path in self.open}
        assert not opened & self.reading.known.keys()
        assert sorted(self.reading.known.values()) == list(range(len(self.reading.known)))

    def end(self) -> None:
        self.act("close", 0)
        self.look()
        self.files.close()


_ACTIONS = (
    *("put", "write", "open", "close", "hide", "make", "silent", "look", "look", "look"),
    *("rename", "link", "remove", "move", "clear"),
)


@settings(max_examples=examples(150), deadline=None)
@given(
    actions=st.lists(st.tuples(st.sampled_from(_ACTIONS), st.integers(0, 20)), max_size=40),
    most_names=st.sampled_from([2, 10_000]),
)
def test_whatever_happens_all_files_are_found(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, int]], most_names: int
) -> None:
    """Each file is found once; unfinished files are not found."""
    root = tmp_path_factory.mktemp("model")
    try:
        with pytest.MonkeyPatch.context() as patch, closing(FolderEvents(lambda _: None)) as events:
            patch.setattr(folder_events, "_MOST_NAMES", most_names)
            model = Model(root, events)
            for action, choice in actions:
                model.act(action, choice)
            model.end()
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("most_names", [1, 3, 10_000])
@pytest.mark.parametrize("full", [0.002, 1e9])
def test_files_that_come_while_others_are_found_are_in_order(
    events: FolderEvents, tmp_path: Path, most_names: int, full: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two folders, however often these are listed between."""
    monkeypatch.setattr(folder_events, "_MOST_NAMES", most_names)
    monkeypatch.setattr(folder_finder, "_FULL_SECONDS", full)
    folder, count = tmp_path / "in", 600
    (folder / "b").mkdir(parents=True)
    (folder / "a").mkdir()
    names = [f"{'ab'[number * 7 % 3 % 2]}/{number:04}" for number in range(count)]
    waiting = tmp_path / "waiting"
    waiting.mkdir()
    first = time.time_ns()
    for number in range(count):
        (waiting / str(number)).write_text("x")
        os.utime(waiting / str(number), ns=(first + number, first + number))
    reading = Reading(events, folder)
    reading.look()

    def arrive() -> None:
        for number, name in enumerate(names):
            (waiting / str(number)).rename(folder / name)
            if number % 20 == 0:
                time.sleep(0.001)

    thread = threading.Thread(target=arrive)
    thread.start()
    deadline = time.monotonic() + allowed(PATIENCE)
    while len(reading.known) < count:
        reading.look()
        assert time.monotonic() < deadline
    thread.join()
    assert list(reading.known) == names


def test_a_watch_of_an_owner_takes_the_place_of_another(events: FolderEvents, tmp_path: Path) -> None:
    before = num_watched()
    first: FolderWatch | None = events.watch("one", is_ignored)
    assert first is not None
    assert first.add(str(tmp_path), "")
    second = events.watch("one", is_ignored)
    assert second is not None
    assert not first.is_open
    assert not first.add(str(tmp_path), "")
    assert first.take().is_lost
    assert num_watched() == before
    assert second.add(str(tmp_path), "x/")
    first.close()
    assert num_watched() == before + 1
    (tmp_path / "a").write_text("")
    assert second.take().names == {"x/a"}
    assert not second.add(str(tmp_path / "a"), "")
    assert not second.add(str(tmp_path / "nowhere"), "")
    assert second.retain([str(tmp_path)])
    assert not second.retain([str(tmp_path), "/nowhere"])
    assert second.retain([])
    assert num_watched() == before
