"""Local copies of remote objects, for readers that need files. A copy has only those bytes that were fetched."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable

from sharkpy.base.cancellation import cancellable_lock
from sharkpy.sources.failures import io_error
from sharkpy.sources.storage.ranges import Range, coalesced
from sharkpy.sources.storage.spans import Spans
from sharkpy.sources.storage.store import ObjectFacts, Store, is_identified

_MOST_FILES = 256
_MOST_BYTES = 4 << 30
_SHARE_OF_DISK = 16
"""Share of the disk's free space that the copies of a process may take: one in this many."""
_HOLE_BYTES = 1 << 20


class FetchedFile:
    """Sparse copy of an object, at its full size. Safe to use from several threads.

    1. Readers `fetch` all bytes that they use. A hole silently reads as other bytes than the object's.
    2. `path` can be opened as long as this object exists. The file has no name in any folder, so that the system frees
       it when its last user closes it, even after a kill.
    """

    def __init__(self, facts: ObjectFacts, folder: str | None = None, hole: bytes = b"") -> None:
        """`folder`: folder of the file, by default the system's temporary one. `hole`: byte that holes read as, in
        tests.
        """
        self.facts = facts
        self._spans = Spans()
        self._lock = threading.Lock()
        self._folder = folder or tempfile.gettempdir()
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                for start in range(0, facts.size_bytes if hole else 0, _HOLE_BYTES):
                    file.write(hole * min(_HOLE_BYTES, facts.size_bytes - start))
                file.flush()
                file.truncate(facts.size_bytes)
                self._descriptor = os.dup(file.fileno())
        except OSError as error:
            raise io_error(error, self._folder) from None
        weakref.finalize(self, os.close, self._descriptor).atexit = False

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self._descriptor}"

    @property
    def size_bytes(self) -> int:
        """Number of bytes fetched so far."""
        return self._spans.size_bytes

    def fetch(self, store: Store, ranges: Iterable[Range]) -> None:
        """Fetch the missing bytes of some ranges, near ones by one request. Ranges may reach past the end of the
        object.
        """
        size = self.facts.size_bytes
        wanted = [(max(start, 0), min(end, size)) for start, end in ranges]
        with cancellable_lock(self._lock):
            missing = coalesced(self._spans.missing(wanted))
            for (start, end), content in zip(missing, store.read(self.facts, missing), strict=True):
                self._write(start, content)
                self._spans.add(start, end)

    def _write(self, start: int, content: memoryview) -> None:
        try:
            while content:
                written = os.pwrite(self._descriptor, content, start)
                start, content = start + written, content[written:]
        except OSError as error:
            raise io_error(error, self._folder) from None


class FetchedFiles:
    """Copies that this process used last, as a cache of fetched bytes."""

    def __init__(self, folder: str | None = None, most_bytes: int | None = None, hole: bytes = b"") -> None:
        """Cache copies of at most `most_bytes` in all, by default a share of the disk's free space. Copies that readers
        hold are not counted.
        """
        self._folder = folder
        self._most_bytes = most_bytes
        self._hole = hole
        self._lock = threading.Lock()
        self._known = OrderedDict[tuple[str, ObjectFacts], FetchedFile]()

    def lie_in(self, folder: str) -> None:
        """Put new copies into `folder`, and take the limit on their bytes from its disk."""
        with self._lock:
            if folder != self._folder:
                self._folder, self._most_bytes = folder, None

    def file(self, facts: ObjectFacts, access_id: str) -> FetchedFile:
        """Copy of an object for readers with this access."""
        if not is_identified(facts):
            return FetchedFile(facts, self._folder, self._hole)
        key = access_id, facts
        with self._lock:
            found = self._known.pop(key, None) or FetchedFile(facts, self._folder, self._hole)
            self._known[key] = found
            self._shrink()
            return found

    def _shrink(self) -> None:
        if self._most_bytes is None:
            self._most_bytes = min(_MOST_BYTES, _free_bytes(self._folder) // _SHARE_OF_DISK)
        size = sum(one.size_bytes for one in self._known.values())
        while len(self._known) > 1 and (len(self._known) > _MOST_FILES or size > self._most_bytes):
            _, oldest = self._known.popitem(last=False)
            size -= oldest.size_bytes


def _free_bytes(folder: str | None) -> int:
    try:
        return shutil.disk_usage(folder or tempfile.gettempdir()).free
    except OSError:
        return 0


FETCHED = FetchedFiles()
