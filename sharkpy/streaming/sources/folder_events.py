"""Watches on folders, by Linux's inotify(7): a reader that hears the names of new files need not list the folder.

A network file system does not report changes by other machines.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator

from inotify_simple import Event, INotify, flags

from sharkpy.base.records import dataclass

_WANTED = (
    flags.CLOSE_WRITE
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.CREATE
    | flags.DELETE
    | flags.DELETE_SELF
    | flags.MOVE_SELF
    | flags.ONLYDIR
)


class Inotify:
    """Descriptor of watched folders. Each has a number, which is not used again. One thread at a time calls it."""

    def __init__(self, watches: INotify) -> None:
        self._watches = watches
        self.file: int = watches.fileno()

    @classmethod
    def begin(cls) -> Inotify | None:
        """Open a descriptor, which child processes do not inherit. Return None if the system has none."""
        try:
            return cls(INotify(nonblocking=True))
        except (OSError, AttributeError):  # a limit is met; a system without inotify
            return None

    def add(self, path: str) -> int:
        """Watch a folder, and return its number, or -1 if the system refuses.

        A folder that is watched already has the same number.
        """
        try:
            return int(self._watches.add_watch(path, _WANTED))
        except (OSError, ValueError):
            return -1

    def remove(self, number: int) -> None:
        with contextlib.suppress(OSError):  # the folder is gone, and its number with it
            self._watches.rm_watch(number)

    def events(self) -> list[Event]:
        """Return the events up to now, in their order. The system queues a limited number, then Q_OVERFLOW."""
        return list(self._watches.read(timeout=0))

    def close(self) -> None:
        self._watches.close()


_COMES = flags.CLOSE_WRITE | flags.MOVED_TO | flags.CREATE
_ENDS = flags.DELETE_SELF | flags.MOVE_SELF | flags.UNMOUNT | flags.IGNORED
_MOST_NAMES = 10_000
"""Maximum number of names that wait to be taken. If there are more, all are dropped."""
_MOST_FOLDERS = 1_000
"""Maximum number of folders of a watch: the system limits the number for all programs of a user."""


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """Changes that a watch has heard.

    `names`: paths, relative to its first folder, of files that are new or were closed after a write. `folders`: the
    folders in which anything has happened. `is_lost`: there may be more changes, which only a listing can find.
    """

    names: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    is_lost: bool = False

    def __or__(self, other: FolderChanges) -> FolderChanges:
        return FolderChanges(self.names | other.names, self.folders | other.folders, self.is_lost or other.is_lost)


class FolderWatch:
    """Watch on a folder and its subfolders, made by `FolderEvents.watch`. Any thread may call it.

    1. The next `take` returns every change that this machine makes in a folder after `add` has returned True for it.
    2. A new or removed subfolder counts as a lost change, since only a listing tells which folders exist.
    """

    def __init__(self, events: FolderEvents, owner: str, is_ignored: Callable[[str], bool]) -> None:
        self.owner = owner
        self.tells = False
        """True if the watch reports all new files, as far as its owner knows. The owner sets this."""
        self._events = events
        self._is_ignored = is_ignored
        self._numbers: dict[str, int] = {}
        """Numbers of the folders by their paths."""
        self._names: set[str] = set()
        self._folders: set[str] = set()
        self._is_lost = False
        self._is_open = True

    @property
    def is_open(self) -> bool:
        """False once the watch was ended, here or by `FolderEvents`. It then hears nothing any more."""
        return self._is_open

    def add(self, path: str, prefix: str) -> bool:
        """Watch a folder. Its files are reported with `prefix` before their names.

        A path that is watched already is watched again if it leads to another folder now. Return False if the system
        refuses, or if there are too many folders.
        """
        with self._events.lock:
            known = self._numbers.get(path)
            is_room = self._is_open and (known is not None or len(self._numbers) < _MOST_FOLDERS)
            number = self._events.enter(self, path, prefix) if is_room else -1
            if known is not None and known != number:
                self._events.leave(self, path, self._numbers.pop(path))
            if number >= 0:
                self._numbers[path] = number
            return number >= 0

    def retain(self, paths: Collection[str]) -> bool:
        """Watch no other folders than `paths`. Return True if all of these are watched."""
        with self._events.lock:
            for path in [one for one in self._numbers if one not in paths]:
                self._events.leave(self, path, self._numbers.pop(path))
            return self._is_open and len(self._numbers) == len(paths)

    def take(self) -> FolderChanges:
        """Return the changes since the last call."""
        self._events.hear()
        with self._events.lock:
            found = FolderChanges(frozenset(self._names), frozenset(self._folders), self._is_lost or not self._is_open)
            self._names.clear()
            self._folders.clear()
            self._is_lost = False
            return found

    def has_news(self) -> bool:
        """Return True if there are new files or lost changes since the last `take`."""
        self._events.hear()
        return bool(self._names) or self._is_lost

    def close(self) -> None:
        self._events.end(self)

    # For FolderEvents, under its lock

    def note(self, path: str, prefix: str, kinds: int, name: str) -> bool:
        """Record an event in a folder. Return True if it is news."""
        self._folders.add(path)
        if kinds & flags.IGNORED:
            self._numbers.pop(path, None)
        if kinds & _ENDS:
            return self.lose()
        if self._is_ignored(name):
            return False
        if kinds & flags.ISDIR or len(self._names) >= _MOST_NAMES:
            return self.lose()
        if kinds & _COMES and not self._is_lost:
            self._names.add(prefix + name)
        return bool(kinds & _COMES)

    def lose(self) -> bool:
        """Record that a change was lost. Return True, since this is news."""
        self._is_lost = True
        self._names.clear()
        return True

    def leave_all(self) -> None:
        self._is_open = self.tells = False
        for path, number in self._numbers.items():
            self._events.leave(self, path, number)
        self._numbers.clear()


class FolderEvents:
    """Watches on folders, which share one descriptor of the system. Any thread may call it.

    1. `told` is called with the owner of a watch that has news, in the thread that hears the news.
    2. If the system reports no changes, or has no more descriptors or watches, there is no watch, or a watch without
       folders.
    """

    def __init__(self, told: Callable[[str], object]) -> None:
        self.lock = threading.RLock()
        """Guards the watches, too."""
        self._told = told
        self._inotify: Inotify | None = None
        self._is_closed = False
        self._watches: dict[str, FolderWatch] = {}
        self._places: dict[int, list[tuple[FolderWatch, str, str]]] = {}
        """Watches of a folder, by its number: the watch, its path of the folder, and its prefix of the files."""

    @property
    def files(self) -> Collection[int]:
        """The descriptor, which can be read once something has happened; empty if nothing is watched."""
        known = self._inotify
        return () if known is None else (known.file,)

    def watch(self, owner: str, is_ignored: Callable[[str], bool]) -> FolderWatch | None:
        """Begin a watch without folders, in place of the owner's earlier one.

        Return None if the system reports no changes. Files and folders with names for which `is_ignored` is true are
        not news.
        """
        with self.lock:
            if self._inotify is None and not self._is_closed:
                self._inotify = Inotify.begin()
            if self._inotify is None:
                return None
            if owner in self._watches:
                self.end(self._watches[owner])
            made = self._watches[owner] = FolderWatch(self, owner, is_ignored)
            return made

    def tells(self, owner: str) -> bool:
        """Return True if an owner has a watch that reports all new files, as far as is known."""
        known = self._watches.get(owner)
        return known is not None and known.tells

    def retain(self, owners: Collection[str]) -> None:
        """End the watches of all other owners."""
        with self.lock:
            for watch in [one for owner, one in self._watches.items() if owner not in owners]:
                self.end(watch)

    def end(self, watch: FolderWatch) -> None:
        with self.lock:
            watch.leave_all()
            if self._watches.get(watch.owner) is watch:
                del self._watches[watch.owner]

    def hear(self) -> None:
        """Read the events up to now, and call `told` for the owners with news."""
        with self.lock:
            owners = {watch.owner for watch in self._heard()}
        for owner in owners:
            self._told(owner)

    def close(self) -> None:
        with self.lock:
            self.retain(())
            self._is_closed = True
            if self._inotify is not None:
                self._inotify.close()
                self._inotify = None

    def _heard(self) -> Iterator[FolderWatch]:
        """Read the events, and yield the watches for which they are news."""
        if self._inotify is None:
            return
        for number, kinds, _, name in self._inotify.events():
            if kinds & flags.Q_OVERFLOW:
                yield from (watch for watch in self._watches.values() if watch.lose())
            for watch, path, prefix in self._places.get(number, ()):
                if watch.note(path, prefix, kinds, name):
                    yield watch
            if kinds & flags.IGNORED:
                self._places.pop(number, None)

    # For watches, under the lock

    def enter(self, watch: FolderWatch, path: str, prefix: str) -> int:
        """Let a watch hear the changes of a folder.

        Return the folder's number, or a negative one if the system refuses.
        """
        number = -1 if self._inotify is None else self._inotify.add(path)
        if number >= 0 and (watch, path, prefix) not in (known := self._places.setdefault(number, [])):
            known.append((watch, path, prefix))
        return number

    def leave(self, watch: FolderWatch, path: str, number: int) -> None:
        left = [place for place in self._places.get(number, ()) if place[:2] != (watch, path)]
        if left:
            self._places[number] = left
        elif self._places.pop(number, None) is not None and self._inotify is not None:
            self._inotify.remove(number)
