"""Writes of this process into remote folders: their staged files, and the manifest that makes them count."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled
from sharkpy.base.errors import ConfigurationError, ExecutionError, SharkError
from sharkpy.sources.folders.manifests import Manifest, decode_manifest, encode_manifest, manifest_path, root_of
from sharkpy.sources.layout import DataFile
from sharkpy.sources.storage.store import Store, content_of


@dataclass(slots=True)
class StagedWrite:
    """A write, with its files by the folder where they were staged; None if no files were reported.

    `counts` has the numbers of rows of files, by path.
    """

    staged: dict[str, list[DataFile]] | None = None
    counts: dict[str, int] = field(default_factory=dict)
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


_TRIES = 4
_SECONDS = 30.0
"""Seconds after which no retry begins."""
_UNANSWERED = ("08", "57")
"""Classes of the SQLSTATEs of requests that may have been carried out."""


def put_manifest(store: Store, folder: str, name: str, manifest: Manifest, staging: str) -> bool:
    """Put the manifest of a generation into a folder; False if another write has taken its name.

    A request without an answer may still be carried out at any time. So it is repeated until an answer decides: once
    the name is taken, earlier requests have no effect. ExecutionError 40003 if no answer comes.

    Once the request has begun, cancellation of the statement is ignored: the caller has to learn the result.
    """
    path, content = manifest_path(folder, name), encode_manifest(manifest, folder)
    check_cancelled()
    with Cancellation().active():
        return _put(store, path, content, manifest.write, staging)


def _put(store: Store, path: str, content: bytes, write: str, staging: str) -> bool:
    unanswered: SharkError | None = None
    deadline = time.monotonic() + _SECONDS
    for number in range(_TRIES):
        if number and time.monotonic() > deadline:
            break
        try:
            if store.put_new(path, content):
                return True
        except SharkError as error:
            if unanswered is None and not error.sqlstate.startswith(_UNANSWERED):
                raise
            unanswered = error
        taker = _writer_of(store, path)
        if taker is not None or unanswered is None:
            return taker == write
    STAGED.note_uncertain(staging)
    message = f'whether the rows in "{uri.redacted(staging)}" have come to count is not known'
    reason = "" if unanswered is None else f": {unanswered.message}"
    hint = f'they do if "{uri.redacted(path)}" names them once the storage answers'
    raise ExecutionError(message + reason, hint=hint, sqlstate="40003")


def _writer_of(store: Store, path: str) -> str | None:
    """Id of the write whose manifest has the name; None if there is none, or it cannot be read now."""
    try:
        facts = store.stat(path)
        if facts is None:
            return None
        content = content_of(facts, store)
    except (ExecutionError, ConfigurationError):
        return None
    return decode_manifest(content, path, "").write
