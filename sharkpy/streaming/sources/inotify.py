"""Linux's inotify(7): a descriptor that reports changes in folders."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from functools import cache

CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF, UNMOUNT, OVERFLOW, IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
IS_FOLDER = 0x40000000
"""Kinds of events.

These are: a file closed after writing, names that appear or disappear, the end of a watched folder, lost events, a
folder that is no longer watched. IS_FOLDER is added to another kind if the name is the name of a folder.
"""
_ONLY_FOLDERS = 0x01000000
_WANTED = CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF | _ONLY_FOLDERS

_HEAD = struct.Struct("iIII")
"""Head of an event: number of the watched folder, kinds, a cookie, and the length of the name that follows."""
_READ_BYTES = 1 << 16
_LARGEST_EVENT = _HEAD.size + 256
_MOST_READS = 64

Event = tuple[int, int, str]
"""Number of a watched folder, kinds of the event, and the name of the file or folder in it."""


class Inotify:
    """Descriptor of watched folders. Each has a number, which is not used again. One thread at a time calls it."""

    def __init__(self, library: ctypes.CDLL, file: int) -> None:
        self._library = library
        self.file = file

    @classmethod
    def begin(cls) -> Inotify | None:
        """Open a descriptor, which child processes do not inherit. Return None if the system has none."""
        library = _library()
        file = -1 if library is None else int(library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        return None if library is None or file < 0 else cls(library, file)

    def add(self, path: str) -> int:
        """Watch a folder, and return its number, which is negative if the system refuses.

        A folder that is watched already has the same number.
        """
        return int(self._library.inotify_add_watch(self.file, os.fsencode(path), _WANTED))

    def remove(self, number: int) -> None:
        self._library.inotify_rm_watch(self.file, number)

    def events(self) -> Iterator[Event]:
        """Yield the events up to now, in their order.

        If there are more than one call reads, the last one is OVERFLOW. So the call ends even if events keep arriving.
        """
        for _ in range(_MOST_READS):
            try:
                data = os.read(self.file, _READ_BYTES)
            except BlockingIOError:
                return
            yield from _events(data)
            # A read returns as many events as fit.
            if len(data) <= _READ_BYTES - _LARGEST_EVENT:
                return
        yield -1, OVERFLOW, ""

    def close(self) -> None:
        os.close(self.file)


def _events(data: bytes) -> Iterator[Event]:
    place = 0
    while place < len(data):
        number, kinds, _, length = _HEAD.unpack_from(data, place)
        place += _HEAD.size + length
        yield number, kinds, os.fsdecode(data[place - length : place].rstrip(b"\0"))


@cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(None)
        library.inotify_init1.argtypes = (ctypes.c_int,)
        library.inotify_add_watch.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        library.inotify_rm_watch.argtypes = (ctypes.c_int, ctypes.c_int)
    except (OSError, AttributeError):
        return None
    return library
