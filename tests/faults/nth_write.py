"""Failure of the n-th write of this process below a folder, as on a full disk: opening, making, moving, writing,
syncing.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

_CHANGES = ("os.mkdir", "os.rename", "os.symlink", "os.link", "os.truncate")
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(slots=True)
class NthWrite:
    """Counter of writes below `folder`; the one with the number `failing` and all later ones raise ENOSPC."""

    folder: str
    failing: int
    count: int = 0
    place: str = ""
    """Place of the first failure."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def has_failed(self) -> bool:
        return bool(self.place)

    def write(self, kind: str, path: str) -> None:
        if not path.startswith(self.folder):
            return
        with self._lock:
            self.count += 1
            if self.count < self.failing:
                return
            self.place = self.place or f"{kind} {path}"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, (str, os.PathLike)) and flags & _TO_WRITE:
                self.write(event, os.fspath(path))
        elif event in _CHANGES:
            self.write(event, str(arguments[1 if event in ("os.rename", "os.symlink", "os.link") else 0]))


_active: list[NthWrite] = []
_is_hooked = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    for one in _active:
        one.audit(event, arguments)


def _hook_once() -> None:
    """Install the hook of writes, which stays for the life of the process."""
    global _is_hooked
    if not _is_hooked:
        sys.addaudithook(_hook)
        _is_hooked = True


@contextmanager
def nth_write_fails(folder: Path, number: int) -> Iterator[NthWrite]:
    """Fill the disk from the `number`-th write on, until the end of the body."""
    _hook_once()
    writes = NthWrite(str(folder), number)
    write, sync, file = os.write, os.fsync, pa.OSFile

    def half(descriptor: int, data: Any) -> int:
        content = memoryview(data)
        try:
            writes.write("write", os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            write(descriptor, content[: len(content) // 2])
            raise
        return write(descriptor, data)

    def synced(descriptor: int) -> None:
        writes.write("sync", os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    def opened(path: str, mode: str = "r", *more: Any) -> Any:
        if mode != "r":
            writes.write("OSFile", path)
        return file(path, mode, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", half)
        patch.setattr(os, "fsync", synced)
        patch.setattr(pa, "OSFile", opened)
        _active.append(writes)
        try:
            yield writes
        finally:
            _active.remove(writes)
