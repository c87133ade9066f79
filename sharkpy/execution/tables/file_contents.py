"""Hashes of tables' contents, which folding of files does not change."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from sharkpy.base import uri
from sharkpy.sources.layout import DataFile

_PRIME = (1 << 127) - 1
_BASE = 0x5BD1E995_9E3779B9_7F4A7C15_85EBCA6B
_BYTES = 15


@dataclass(frozen=True, slots=True)
class SequenceHash:
    """Hash of a sequence of files. The hashes of two sequences give that of their concatenation.

    It is a polynomial in `_BASE` modulo a prime; `power` is `_BASE` to the length of the sequence.
    """

    value: int = 0
    power: int = 1

    def followed_by(self, other: SequenceHash) -> SequenceHash:
        return SequenceHash((self.value * other.power + other.value) % _PRIME, self.power * other.power % _PRIME)


class FileContents:
    """Hashes of files; it knows the sources of this process's folds. Thread-safe."""

    def __init__(self) -> None:
        self._folds: dict[DataFile, SequenceHash] = {}
        self._lock = threading.Lock()

    def of(self, files: Iterable[DataFile]) -> SequenceHash:
        """Return the hash of `files`: equal for the same files in the same order, before and after folds."""
        found = SequenceHash()
        for file in files:
            found = found.followed_by(self._folds.get(file) or _hash(file))
        return found

    def note_fold(self, folded: Sequence[DataFile], files: Sequence[DataFile]) -> None:
        """Note that `folded`, together, have the rows of `files`, which will be removed."""
        whole = self.of(files)
        with self._lock:
            for file in files:
                self._folds.pop(file, None)
            # The first has the hash of all.
            self._folds.update(zip(folded, (whole, *[SequenceHash()] * (len(folded) - 1)), strict=False))

    def forget(self, folder: str) -> None:
        """Forget the folds in a dropped folder."""
        with self._lock:
            for file in [file for file in self._folds if uri.below(file.path, folder)]:
                del self._folds[file]


def _hash(file: DataFile) -> SequenceHash:
    identity = f"{file.path}\0{file.size_bytes}\0{file.modified_ns}\0{file.partition}\0{file.form}"
    identity += f"\0{file.tag}" if file.tag else ""
    digest = blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=_BYTES).digest()
    return SequenceHash(int.from_bytes(digest, "big"), _BASE % _PRIME)
