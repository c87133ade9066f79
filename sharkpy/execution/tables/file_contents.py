"""Hashes of a table's files, which tell whether its contents have changed.

Folding does not change the hashes of `FileContents`, which lineage and writers use. The digests of ANALYZE TABLE, in
the catalog, tell whether its statistics are current.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import takewhile

from sharkpy.base import uri
from sharkpy.base.records import dataclass
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_statistics import TableStatistics, merged_statistics
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


def content_digest(files: Sequence[DataFile]) -> str:
    """Return a digest that is equal for the same unchanged files, even if their folder has moved."""
    return _digest(files, _name_start([file.path for file in files]))


def _name_start(paths: Sequence[str]) -> int:
    """Return the offset in the paths at which names relative to their common folder begin."""
    if not paths:
        return 0
    first, last = min(paths), max(paths)
    if not uri.is_remote(first):
        return os.path.commonpath([first, last]).rfind("/") + 1
    common = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return first[: len(list(common))].rfind("/") + 1


def is_digest_of(content: str, files: Sequence[DataFile]) -> bool:
    """True if `content` is the digest of these files. Older digests had the whole paths."""
    return content in (content_digest(files), _digest(files, 0))


def _digest(files: Iterable[DataFile], start: int) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        tag = f"\0{file.tag}" if file.tag else ""
        name = f"{file.path[start:]}\0{file.size_bytes}\0{file.modified_ns}{tag}\n"
        digest.update(name.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def partition_mark(one: HivePartition) -> str:
    """Return a mark of a Hive partition that changes with each of the engine's writes."""
    return f"{one.partition_id}/{one.newest}/{one.location or ''}"


def table_statistics(catalog: Catalog, table: Table, files: Sequence[DataFile]) -> TableStatistics | None:
    """Return the statistics of an unpartitioned table with the data `files`, or None if they are outdated."""
    found = catalog.statistics(table).get("")
    return found if found is not None and is_digest_of(found.content, files) else None


def all_partitions_statistics(catalog: Catalog, table: Table) -> TableStatistics | None:
    """Return the statistics of all Hive partitions together, or None if some are missing or outdated."""
    kept = catalog.statistics(table)
    if not kept:
        return None
    partitions = catalog.partitions(table)
    found = [kept[one.name] for one in partitions if one.name in kept and kept[one.name].mark == partition_mark(one)]
    return merged_statistics(found) if len(found) == len(partitions) else None
