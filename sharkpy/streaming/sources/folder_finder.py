"""Finder of the files in a local folder and its subfolders: by the names that a watch has heard, or by a listing."""

from __future__ import annotations

import errno
import fcntl
import math
import os
import signal
import stat
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path

from sharkpy.base.errors import SourceError
from sharkpy.catalog.stream_store import StreamFile
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.streaming.sources.folder_events import FolderChanges, FolderWatch
from sharkpy.streaming.sources.interfaces import FoundFile, LookFigures, is_ignored

_SETTLE_NS = 1_000_000_000
_WRITTEN_SECONDS = 0.1
"""Time after which a file that is being written is looked at again."""
_CLOCK_SECONDS = 0.02
"""Two changes of a folder within this time may have the same timestamp: two ticks of a clock of 100 Hz."""
_FULL_SECONDS = 5.0
"""Interval at which a folder is listed even if nothing has changed, since a file may be written in place."""

FolderState = tuple[int, int, int]
"""Device and inode of a folder, and its time of the last change, in nanoseconds."""


class FolderFinder:
    """`Finder` of the files in a folder of this machine and its subfolders.

    1. If a watch has heard all changes since the last look, the finder only looks at the files that the watch names,
       and at files that are being written. Otherwise it lists the folders, if they have changed at all.
    2. It lists the folders every few seconds in any case. This finds changes that a watch does not report, such as
       writes by other machines into a network file system.
    """

    def __init__(self, folder: str, settle_ns: int | None, begin_watch: Callable[[], FolderWatch | None]) -> None:
        """`settle_ns`: nanoseconds without a write after which a file is complete.

        None: as soon as no program writes it. `begin_watch` returns a watch without folders, or None. Repeated looks
        call it.
        """
        self._folder = folder
        self._settle_ns = settle_ns
        self._begin_watch = begin_watch
        self._watch: FolderWatch | None = None
        self._watch_due = -math.inf
        self._is_heard = False
        """True if the watch has reported the last change, so it is reliable. In some file systems it reports none."""
        self._known: Container[str] = ()
        self._listed = -math.inf
        self._compared = -math.inf
        """Time of the last look for changes of known files."""
        self._folders: dict[str, FolderState] | None = None
        """States of the folders at the last look; None if a listing is due."""
        self._waiting: frozenset[str] = frozenset()
        """Names of files that are not complete."""
        self._seen: dict[str, tuple[tuple[int, int], int]] = {}
        """Size and time of files that are not complete, and when they were first seen in that state."""
        self._can_tell = False
        """True if the system has reported for a file in the folder that no program writes it.

        So it can report the opposite too.
        """
        self.unsettled = 0.0
        self.figures: LookFigures | None = None

    def has_news(self) -> bool:
        return self._watch is not None and self._watch.has_news()

    def find(self, known: Container[str], now: float, *, is_thorough: bool) -> list[FoundFile]:
        self._known = known
        names = self._heard()
        lacks_watch = self._watch is None and not is_thorough and now >= self._watch_due
        if lacks_watch:
            self._watch, self._watch_due = self._begin_watch(), now + _FULL_SECONDS
        if names is None or lacks_watch or now - self._listed >= _FULL_SECONDS or (names and is_thorough):
            found = self._list(now, is_thorough=is_thorough)
        else:
            found = self._named(names)
        waiting = [one for one in found if not one.is_whole]
        self._waiting = frozenset(one.name for one in waiting)
        self._seen = {name: self._seen[name] for name in self._waiting if name in self._seen}
        self.unsettled = max((one.settles for one in waiting), default=0.0)
        if self._watch is not None:
            self._watch.tells = self._is_heard and self._folders is not None and not waiting
        return found

    def list_again(self, fault: BaseException) -> None:  # noqa: ARG002 - the next look will tell
        self._folders = None

    def is_due(self, now: float) -> bool:  # noqa: ARG002 - a look costs little
        return True

    def data_files(self, files: Sequence[StreamFile], *, is_strict: bool) -> list[DataFile | None]:  # noqa: ARG002
        return [_data_file(str(Path(self._folder, one.name))) for one in files]

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()

    # By name

    def _heard(self) -> frozenset[str] | None:
        """Return the names of files that are new, or may be complete now; None if only a listing can tell."""
        before, self._folders = self._folders, None
        heard = self._taken()
        now = None if before is None or heard.is_lost else _states(before)
        if before is None or now is None:
            return None
        changed = {path for path in before if now[path] != before[path]}
        if not changed <= heard.folders:
            # The system changes a folder just before it reports the change.
            heard |= self._taken()
        if heard.is_lost or any(now[path][:2] != before[path][:2] for path in changed):
            return None
        if not changed <= heard.folders:
            self._is_heard = False
            return None
        self._folders = now
        return heard.names | self._waiting

    def _named(self, names: Iterable[str]) -> list[FoundFile]:
        """Return the files with these names that exist."""
        return [one for name in names if (one := self._found(f"{self._folder}/{name}", name)) is not None]

    def _taken(self) -> FolderChanges:
        """Return the changes that the watch has heard; without a watch, none."""
        if self._watch is None:
            return FolderChanges()
        heard = self._watch.take()
        self._is_heard = self._is_heard or bool(heard.folders)
        if not self._watch.is_open:
            self._leave_watch(-math.inf)
        return heard

    def _leave_watch(self, due: float) -> None:
        """Close the watch, and use none until `due`."""
        self.close()
        self._watch, self._is_heard, self._watch_due = None, False, due

    # By listing

    def _list(self, now: float, *, is_thorough: bool) -> list[FoundFile]:
        """List the folders. Known files are included if `is_thorough`, or after a long time without a look at them.

        A system lists a folder piece by piece: if files arrive meanwhile, it may find a later one and miss an earlier
        one. Files that a watch names are added. Without these names the folder is listed again, and files newer than
        all new files of the first listing are left for the next look.
        """
        self._listed = now
        if is_compared := is_thorough or now - self._compared >= _FULL_SECONDS:
            self._compared = now
        left_out: Container[str] = () if is_compared else self._known
        began_ns, files = time.time_ns(), self._listed_once(left_out, now)
        names = self._heard()
        if names is not None:
            files += self._named(names.difference(one.name for one in files))
        elif new := [one.modified_ns for one in files if one.name not in self._known]:
            listed, latest = self._listed_once(left_out, now), max(new)
            files = [one for one in listed if one.name in self._known or one.modified_ns <= latest]
            self._folders = None if len(files) < len(listed) else self._folders
        if not self._is_heard and not self._is_settled(files, began_ns):
            self._folders = None
        return files

    def _is_settled(self, files: Iterable[FoundFile], listed_ns: int) -> bool:
        """Return True if the folders' times will show later changes.

        This is so if the times are older than the listing, and if none of the listed files is being written.
        """
        newest_ns = max((modified_ns for _, _, modified_ns in (self._folders or {}).values()), default=0)
        return listed_ns - newest_ns > _CLOCK_SECONDS * 1e9 and all(one.is_whole for one in files)

    def _listed_once(self, left_out: Container[str], now: float) -> list[FoundFile]:
        """List the folder, except the files `left_out`, and store the states that all folders had before."""
        folders: dict[str, FolderState] = {}
        files = list(self._files(self._folder, "", folders, left_out))
        if self._watch is not None and not self._watch.retain(folders):
            self._leave_watch(now + _FULL_SECONDS)
        # A folder that does not exist yet is looked for again.
        self._folders = folders or None
        return files

    def _files(
        self, folder: str, prefix: str, folders: dict[str, FolderState], left_out: Container[str]
    ) -> Iterator[FoundFile]:
        """Yield the files in a folder and its subfolders, except the names `left_out`.

        The states of the folders are added to `folders`. A folder that does not exist yet has no files.
        """
        if self._watch is not None:
            self._watch.add(folder, prefix)
        try:
            folders[folder] = _state(folder)
            with os.scandir(folder) as scan:
                entries = list(scan)
        except FileNotFoundError:
            folders.pop(folder, None)
            return
        except OSError as error:
            raise io_error(error, folder) from None
        for entry in entries:
            name = f"{prefix}{entry.name}"
            if is_ignored(entry.name) or name in left_out:
                continue
            # A link could lead to a file that its creator may not read.
            if entry.is_dir(follow_symlinks=False):
                yield from self._files(entry.path, f"{name}/", folders, left_out)
            elif (found := self._found(entry.path, name)) is not None:
                yield found

    # A file

    def _found(self, path: str, name: str) -> FoundFile | None:
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise io_error(error, path) from None
        if not stat.S_ISREG(status.st_mode):
            return None
        return FoundFile(name, status.st_size, status.st_mtime_ns, self._settles(path, name, status))

    def _settles(self, path: str, name: str, status: os.stat_result) -> float:
        """Return the seconds after which a file counts as complete; 0 if it is complete."""
        if name in self._known:
            return 0.0
        is_written = has_writer(path)
        self._can_tell = self._can_tell or is_written is False
        if is_written and self._can_tell:
            return _WRITTEN_SECONDS
        is_free = is_written is False and self._settle_ns is None
        if is_free and status.st_size:
            return 0.0
        # A file's time may be in the future if a clock went back: then the time since the file was first seen counts.
        now, state = time.monotonic_ns(), (status.st_size, status.st_mtime_ns)
        seen, since = self._seen.get(name, (state, now))
        self._seen[name] = (state, since if seen == state else now)
        age = max(time.time_ns() - status.st_mtime_ns, now - self._seen[name][1])
        was_moved = status.st_ctime_ns > status.st_mtime_ns
        settle_ns = _SETTLE_NS if self._settle_ns is None else self._settle_ns
        if is_free:
            # A new file exists for a moment before the program that makes it has it open.
            settle_ns = int(_WRITTEN_SECONDS * 1e9)
        return 0.0 if was_moved else max(0, settle_ns - age) / 1e9


def _data_file(path: str) -> DataFile | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise io_error(error, path) from None
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f'"{path}" was a file when the stream had found it, and is none now')
    return DataFile(path, status.st_size, status.st_mtime_ns)


def _state(path: str) -> FolderState:
    status = os.stat(path)  # noqa: PTH116
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _states(paths: Iterable[str]) -> dict[str, FolderState] | None:
    """Return the current states of folders, or None if one cannot be read."""
    try:
        return {path: _state(path) for path in paths}
    except OSError:
        return None


def has_writer(path: str) -> bool | None:
    """Return True if a program has the file open for writing, or None if the system does not say.

    Linux grants a file's owner a read lease if no program has the file open for writing. The lease is returned at once.
    A program that opens the file for writing meanwhile waits for that. The signal that reports this has no effect.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    finally:
        os.close(file)
    return False
