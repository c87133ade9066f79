"""Writes that have not ended: notes of their folders, so that the next start finds them after a kill, and threads
that sync their files to disk.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from sharkpy.base.records import dataclass
from sharkpy.base.uri import Locations, is_outside
from sharkpy.columnar.block_folders import storage_error


@dataclass(frozen=True, slots=True)
class Note:
    """Noted folder: a staging folder, or with `table_id` the folder of a Hive partition that gets a new generation.

    `is_new`: the staging folder is in the folder of a table that is about to be created.
    """

    folder: str
    table_id: str = ""
    is_new: bool = False


class UnfinishedWrites:
    """Files of notes, one per process that uses the warehouse, which locks its file. The owner of an unlocked file is
    dead.

    1. A note is written before the folder is created, and ends with its statement. While other writes run, another line
       records the end. Notes of Hive partitions stay until then.
    2. `abandoned` yields the notes of dead processes, and forgets each list once it has been handled.
    3. Notes that are not handled when a process ends are left to the next one.
    4. The file begins with its own inode. In a copy of it, from a copied warehouse, notes of folders outside the
       warehouse are ignored: the process that wrote them may be alive.
    """

    def __init__(self, folder: str, locations: Locations) -> None:
        self._folder = folder
        self._locations = locations
        self._path = Path(folder, uuid.uuid4().hex)
        self._file = -1
        self._open: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, staging: str, *, is_new: bool = False) -> None:
        """Note a folder before it is created. Raise ResourceError or ExecutionError if that fails: then the folder must
        not be created.
        """
        with self._lock:
            self._note([Note(staging, is_new=is_new)])
            self._open.add(staging)

    def keep(self, staging: str) -> None:
        """Note that a folder stays, since its files are about to be committed. Raise ResourceError or ExecutionError if
        that fails: then they must not be committed.
        """
        with self._lock:
            try:
                self._append([self._line_of_kept(staging)])
            except OSError as error:
                raise storage_error(str(self._path), error) from None

    def _line_of_kept(self, staging: str) -> str:
        return json.dumps({"kept": self._locations.stored(staging)})

    def adopt(self, notes: Iterable[Note]) -> None:
        """Take over notes of a dead process. Each stays until `end` reports it as handled, from another thread or the
        next process.
        """
        taken = list(notes)
        with self._lock:
            self._note(taken)
            self._open.update(note.folder for note in taken)

    def _note(self, notes: Iterable[Note]) -> None:
        try:
            if self._file < 0:
                Path(self._folder).mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._file, fcntl.LOCK_EX)
            self._write(notes)
        except OSError as error:
            raise storage_error(str(self._path), error) from None

    def note_partitions(self, table_id: str, folders: Iterable[str]) -> None:
        with self._lock:
            if self._file >= 0:
                try:
                    self._write([Note(folder, table_id) for folder in folders])
                except OSError as error:
                    raise storage_error(str(self._path), error) from None

    def end(self, staging: str) -> None:
        with self._lock:
            if self._file >= 0 and self._open - {staging}:
                # If this fails, the next start finds that the folder is committed or removed.
                with suppress(OSError):
                    self._append([self._line_of_kept(staging)])
            self._close(staging)

    def end_partition(self, folder: str) -> None:
        """End an adopted note of a Hive partition. Statements of this process may have noted it too."""
        with self._lock:
            self._close(folder)

    def _close(self, folder: str) -> None:
        self._open.discard(folder)
        if self._file >= 0 and not self._open:
            os.ftruncate(self._file, 0)

    def open_folders(self) -> frozenset[str]:
        """Return noted folders of unfinished writes, and adopted ones that have not been handled."""
        with self._lock:
            return frozenset(self._open)

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                if not self._open:
                    self._path.unlink(missing_ok=True)
                os.close(self._file)
                self._file = -1

    @property
    def has_others(self) -> bool:
        """True if other processes, dead or alive, have notes."""
        return any(path != self._path for path in self._files())

    def abandoned(self) -> Iterator[list[Note]]:
        """Yield the notes of each dead process."""
        for path in self._files():
            try:
                file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield self._notes(path)
                path.unlink(missing_ok=True)
            except BlockingIOError:
                continue
            finally:
                os.close(file)

    def _files(self) -> list[Path]:
        return list(Path(self._folder).iterdir()) if Path(self._folder).is_dir() else []

    def _write(self, notes: Iterable[Note]) -> None:
        stored = self._locations.stored
        self._append([json.dumps([stored(note.folder), note.table_id, note.is_new]) for note in notes])

    def _append(self, lines: list[str]) -> None:
        """Append all lines or none: a line after a partial line could not be read."""
        status = os.fstat(self._file)
        before = status.st_size
        if not before:
            lines.insert(0, json.dumps({"inode": status.st_ino}))
        content = "".join(f"{line}\n" for line in lines).encode()
        try:
            if os.write(self._file, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        except OSError:
            os.ftruncate(self._file, before)
            raise

    def _notes(self, path: Path) -> list[Note]:
        """Read notes. A line that a kill has truncated names a folder that was not created."""
        is_copy = True
        notes: list[Note] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                match json.loads(line):
                    case {"inode": inode}:
                        is_copy = inode != path.stat().st_ino
                    case {"kept": folder}:
                        kept = self._locations.absolute(self._locations.stored(folder))
                        notes = [note for note in notes if note.folder != kept]
                    case [folder, *facts]:
                        stored = self._locations.stored(folder)
                        if not (is_copy and is_outside(stored)):
                            notes.append(Note(self._locations.absolute(stored), *facts))
        return notes


_THREADS = 8


class FileSyncs:
    """Thread pool that syncs files of a warehouse. The threads are reused, so that no statement waits for a thread to
    start.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "sharkpy-sync")

    def begin(self, sync: Callable[[], None]) -> Future[None]:
        """Start to sync a file, in parallel with other files. The future completes when the file is on disk."""
        try:
            return self._threads.submit(sync)
        except RuntimeError:
            # The process is exiting and cannot start threads.
            return _done(sync)

    def close(self) -> None:
        self._threads.shutdown()


def _done(sync: Callable[[], None]) -> Future[None]:
    done: Future[None] = Future()
    try:
        sync()
    except Exception as error:  # noqa: BLE001  raised by the future
        done.set_exception(error)
    else:
        done.set_result(None)
    return done
