"""Writes of this process: their staged files, and the numbers of rows of these."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import field

from sharkpy.base.records import dataclass
from sharkpy.sources.folders.manifests import root_of
from sharkpy.sources.layout import DataFile


@dataclass(slots=True)
class StagedWrite:
    """A write, with its files by the folder where they were staged; None if no files were reported.

    `counts` has the numbers of rows of files, by path.
    """

    staged: dict[str, list[DataFile]] | None = None
    counts: dict[str, int] = field(default_factory=dict)


class StagedWrites:
    """Writes by the folders that they stage files in. Safe to use from several threads."""

    def __init__(self) -> None:
        self._writes: dict[str, StagedWrite] = {}
        self._lock = threading.Lock()

    def begin(self, staging: str) -> None:
        with self._lock:
            self._writes.setdefault(root_of(staging), StagedWrite())

    def report(self, staging: str, files: Iterable[DataFile], counts: Mapping[str, int] | None = None) -> None:
        """Add files to the reported ones of `staging`, in this order.

        From then on only reported files belong to the write. Files of tasks whose results are discarded are never
        reported.
        """
        with self._lock:
            write = self._writes.setdefault(root_of(staging), StagedWrite())
            write.staged = {} if write.staged is None else write.staged
            write.staged.setdefault(staging, []).extend(files)
            write.counts.update(counts or {})

    def note_counts(self, staging: str, counts: Mapping[str, int]) -> None:
        """Note the numbers of rows of files that a write has staged, by path."""
        with self._lock:
            self._writes.setdefault(root_of(staging), StagedWrite()).counts.update(counts)

    def counts(self, staging: str) -> Mapping[str, int]:
        with self._lock:
            write = self._writes.get(root_of(staging))
            return {} if write is None else write.counts

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

    def end(self, staging: str) -> None:
        """Forget a write."""
        with self._lock:
            self._writes.pop(root_of(staging), None)

    def knows(self, staging: str) -> bool:
        """True for a write of this process that has not ended."""
        with self._lock:
            return root_of(staging) in self._writes


STAGED = StagedWrites()
