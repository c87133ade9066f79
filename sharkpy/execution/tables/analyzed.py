"""Statistics of ANALYZE TABLE in the catalog, if they still hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from itertools import takewhile

from sharkpy.base import uri
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_statistics import TableStatistics, merged_statistics
from sharkpy.sources.layout import DataFile


def content_of(files: Sequence[DataFile]) -> str:
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


def is_content_of(content: str, files: Sequence[DataFile]) -> bool:
    """True if `content` is the digest of these files. Older digests had the whole paths."""
    return content in (content_of(files), _digest(files, 0))


def _digest(files: Iterable[DataFile], start: int) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        tag = f"\0{file.tag}" if file.tag else ""
        name = f"{file.path[start:]}\0{file.size_bytes}\0{file.modified_ns}{tag}\n"
        digest.update(name.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def mark_of(one: HivePartition) -> str:
    """Return a mark of a Hive partition that changes with each of the engine's writes."""
    return f"{one.partition_id}/{one.newest}/{one.location or ''}"


def table_statistics(catalog: Catalog, table: Table, files: Sequence[DataFile]) -> TableStatistics | None:
    """Return the statistics of an unpartitioned table with the data `files`, or None if they are outdated."""
    found = catalog.statistics(table).get("")
    return found if found is not None and is_content_of(found.content, files) else None


def all_partitions_statistics(catalog: Catalog, table: Table) -> TableStatistics | None:
    """Return the statistics of all Hive partitions together, or None if some are missing or outdated."""
    kept = catalog.statistics(table)
    if not kept:
        return None
    partitions = catalog.partitions(table)
    found = [kept[one.name] for one in partitions if one.name in kept and kept[one.name].mark == mark_of(one)]
    return merged_statistics(found) if len(found) == len(partitions) else None
