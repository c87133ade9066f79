"""Files that writes of this process have put into remote folders, until the end of their statements."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from sharkpy.sources.folders.manifest import root_of
from sharkpy.sources.layout import DataFile


@dataclass(slots=True)
class StagedWrite:
    """A write, with its files by the folder where they were staged; None if no files were reported."""

    staged: dict[str, list[DataFile]] | None = None
    placed: set[str] = field(default_factory=set)
    """Locations of the files that a manifest names."""
    is_uncertain: bool = False
    """True if it is not known whether a manifest of the write was put."""


class StagedWrites:
    """Writes by the folders that they stage files in. Safe to use from several threads."""

    def __init__(self) -> None:
        self._writes: dict[str, StagedWrite] = {}
        self._lock = threading.Lock()

    def begin(self, staging: str) -> None:
        with self._lock:
            self._writes.setdefault(root_of(staging), StagedWrite())

    def report(self, staging: str, files: Iterable[DataFile]) -> None:
        """Add files to the reported ones of `staging`, in this order.

        From then on only reported files belong to the write. Files of tasks whose results are discarded are never
        reported.
        """
        with self._lock:
            write = self._writes.setdefault(root_of(staging), StagedWrite())
            write.staged = {} if write.staged is None else write.staged
            write.staged.setdefault(staging, []).extend(files)

    def reported(self, staging: str) -> list[DataFile] | None:
        """Files of a folder and of the folders below it; None if the whole write has reported none."""
        with self._lock:
            write = self._writes.get(root_of(staging))
            if write is None or write.staged is None:
                return None
            below = f"{staging}/"
            return [
                file
                for folder, files in write.staged.items()
                for file in files
                if folder == staging or folder.startswith(below) or file.path.startswith(below)
            ]

    def note_placed(self, staging: str, files: Iterable[DataFile]) -> None:
        with self._lock:
            self._writes.setdefault(root_of(staging), StagedWrite()).placed.update(file.path for file in files)

    def note_uncertain(self, staging: str) -> None:
        with self._lock:
            self._writes.setdefault(root_of(staging), StagedWrite()).is_uncertain = True

    def note_taken_back(self, files: Iterable[DataFile]) -> None:
        """Note that no manifest names these files any more."""
        with self._lock:
            for file in files:
                if (write := self._writes.get(root_of(file.path))) is not None:
                    write.placed.discard(file.path)

    def find(self, staging: str) -> StagedWrite | None:
        """A write that has not ended; None if it is not a write of this process."""
        with self._lock:
            return self._writes.get(root_of(staging))

    def end(self, staging: str) -> StagedWrite | None:
        """Forget a write, unless it is uncertain whether it counts; None if it is not a write of this process."""
        with self._lock:
            write = self._writes.get(root_of(staging))
            if write is not None and not write.is_uncertain:
                del self._writes[root_of(staging)]
            return write

    def knows(self, staging: str) -> bool:
        """True for a write that has not ended, or if it is not known whether it counts."""
        with self._lock:
            return root_of(staging) in self._writes


STAGED = StagedWrites()
