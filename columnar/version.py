"""Versions of a stored table: ordered blocks under a sequence number, published atomically."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from sharkpy.base.errors import CorruptionError, ExecutionError
from sharkpy.base.records import dataclass
from sharkpy.base.uri import Locations
from sharkpy.columnar import block_folders
from sharkpy.columnar.block import Block
from sharkpy.columnar.column_statistics import PackedStatistics
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.statistics_table import BlockFigures, StatisticsTable
from sharkpy.values.type_parser import parse_type, type_text
from sharkpy.values.types import Field, Schema

_FORMAT = 5
"""Version of manifests and of their blocks. Blocks of earlier formats are rebuilt from their files."""
_KEPT_MANIFESTS = 2
_NAME = re.compile(r"manifest-(\d{12})\.json")


@dataclass(frozen=True, slots=True)
class BlockOrigin:
    """The source split of a block. The content of a file is identified by size, time and, for remote files, `tag`.

    `partition` is the name of the Hive partition, empty if the table has none. `form` describes the format and columns
    of its files if they differ from the table's.
    """

    path: str
    start: int
    length: int
    file_bytes: int
    modified_ns: int
    partition: str = ""
    form: str = ""
    tag: str = ""


Origins = tuple[BlockOrigin, ...]
"""Sources of a block's rows, in order; empty without a source. Blocks of equal origins share their rows."""


@dataclass(frozen=True, slots=True)
class DamagedBlock:
    """A block of a stored version that could not be opened: its position, origins, and the reason."""

    position: int
    handle: BlockHandle
    origins: Origins
    reason: str


@dataclass(frozen=True, slots=True)
class TableVersion:
    """An immutable list of blocks. Readers keep the version that they started with.

    1. `statistics` and `origins` follow the order of `blocks`.
    2. `damaged` lists the blocks that were left out when the version was loaded. Their `position` counts in the
       published version.
    """

    sequence: int
    schema: Schema
    blocks: tuple[BlockHandle, ...]
    statistics: StatisticsTable
    origins: tuple[Origins, ...]
    damaged: tuple[DamagedBlock, ...] = ()

    @property
    def num_rows(self) -> int:
        return sum(block.num_rows for block in self.blocks)

    @property
    def size_bytes(self) -> int:
        return sum(block.size_bytes for block in self.blocks)

    @classmethod
    def empty(cls, schema: Schema) -> TableVersion:
        return cls(0, schema, (), StatisticsTable.of(schema, ()), ())

    def append(
        self,
        blocks: Sequence[BlockHandle],
        statistics: Sequence[BlockFigures],
        origins: Sequence[Origins] | None = None,
    ) -> TableVersion:
        """Return the next version, with more blocks after these. Blocks of a Hive partition, or of a bucket, stay
        adjacent.
        """
        origins = origins if origins is not None else [()] * len(blocks)
        appended = TableVersion(
            self.sequence + 1,
            self.schema,
            (*self.blocks, *blocks),
            self.statistics.append(statistics) if self.blocks else StatisticsTable.of(self.schema, statistics),
            (*self.origins, *origins),
        )
        # Most blocks belong to a single Hive partition, or are added to the last one.
        is_behind = all(
            block.bucket is None and partition_of(of) == partition_of(self.origins[-1] if self.origins else origins[0])
            for block, of in zip(blocks, origins, strict=True)
        )
        return appended if is_behind else appended._in_order()

    def _in_order(self) -> TableVersion:
        """Return this version with its blocks by Hive partition, in order of first appearance, and by bucket."""
        partitions = [partition_of(origins) for origins in self.origins]
        first = {name: place for place, name in reversed(list(enumerate(partitions)))}
        return self.in_order_of(
            [(first[name], _bucket_order(block)) for name, block in zip(partitions, self.blocks, strict=True)]
        )

    def in_order_of(self, keys: Sequence[tuple[int, int]]) -> TableVersion:
        """Return this version with its blocks in the order of their keys. The sort is stable."""
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return self if order == list(range(len(order))) else self._at(order)

    def without(self, block_ids: Iterable[str]) -> TableVersion:
        """Return the next version, without the blocks `block_ids`."""
        gone = set(block_ids)
        kept = [index for index, block in enumerate(self.blocks) if block.block_id not in gone]
        return TableVersion(
            self.sequence + 1,
            self.schema,
            tuple(self.blocks[index] for index in kept),
            self.statistics.take(np.array(kept, np.int64)),
            tuple(self.origins[index] for index in kept),
        )

    def with_merged(
        self, first: int, count: int, block: BlockHandle, statistics: BlockFigures, origins: Origins
    ) -> TableVersion:
        """Return the next version, with `block` instead of `count` blocks that have the same rows."""
        places = np.arange(len(self.blocks))
        parts = [
            self.statistics.take(places[:first]),
            StatisticsTable.of(self.schema, [statistics]),
            self.statistics.take(places[first + count :]),
        ]
        return TableVersion(
            self.sequence + 1,
            self.schema,
            (*self.blocks[:first], block, *self.blocks[first + count :]),
            StatisticsTable.concat(parts),
            (*self.origins[:first], origins, *self.origins[first + count :]),
        )

    def with_others(
        self,
        gone: Collection[str],
        blocks: Sequence[BlockHandle],
        statistics: Sequence[BlockFigures],
        origins: Sequence[Origins],
    ) -> TableVersion:
        """Return the next version, with `blocks` at the position of the first block of `gone`, and without `gone`."""
        left = [place for place, block in enumerate(self.blocks) if block.block_id not in gone]
        first = next((number for number, place in enumerate(left) if place > number), len(left))
        before, behind = (self._at(places) for places in (left[:first], left[first:]))
        parts = (before.statistics, StatisticsTable.of(self.schema, statistics), behind.statistics)
        return TableVersion(
            self.sequence + 1,
            self.schema,
            (*before.blocks, *blocks, *behind.blocks),
            StatisticsTable.concat([part for part in parts if len(part)] or parts[:1]),
            (*before.origins, *origins, *behind.origins),
        )

    def _at(self, places: Sequence[int]) -> TableVersion:
        """Return this version with only the blocks at some positions."""
        return TableVersion(
            self.sequence,
            self.schema,
            tuple(self.blocks[place] for place in places),
            self.statistics.take(np.array(places, np.int64)),
            tuple(self.origins[place] for place in places),
        )

    def with_origins(self, place: int, origins: Origins) -> TableVersion:
        """Return the next version, in which the block at `place` has other origins for the same rows."""
        known = (*self.origins[:place], origins, *self.origins[place + 1 :])
        return TableVersion(self.sequence + 1, self.schema, self.blocks, self.statistics, known)

    def with_blocks(self, blocks: Sequence[BlockHandle]) -> TableVersion:
        """Return this version with its blocks at other places."""
        return TableVersion(self.sequence, self.schema, tuple(blocks), self.statistics, self.origins, self.damaged)


class VersionStore:
    """The manifests of a table's versions in one folder.

    1. A manifest is written to a temporary file, synced, and linked to its name. So it is whole or absent, and the
       second of two writers of a sequence number fails. A manifest that is synced later may be lost until then.
    2. Blocks without a durable copy are left out, and rebuilt when the version is loaded.
    3. Manifests store origins as `locations` does: blocks of a moved warehouse refer to its own files.
    4. The text of a block is built once, since successive versions share most blocks.
    """

    def __init__(self, directory: str, locations: Locations | None = None) -> None:
        self.directory = directory
        self._locations = Locations() if locations is None else locations
        self._texts: dict[str, tuple[str, Origins, str]] = {}
        """Texts of the last published blocks by id, each after the path and origins that it was built from."""

    def publish(self, version: TableVersion, *, is_synced: bool = True) -> None:
        """Make `version` the one that `load` returns: on disk at once if `is_synced`, else after `sync`.

        Raise ExecutionError if its sequence number is taken.
        """
        self._texts = {
            block.block_id: self._text_of(block, block.durable_path, origins)
            for block, origins in zip(version.blocks, version.origins, strict=True)
            if block.durable_path is not None
        }
        text = _manifest_text(version, [text for _, _, text in self._texts.values()])
        path = self._path(version.sequence)
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            block_folders.write_file(temporary, memoryview(text.encode()), sync=is_synced)
            path.hardlink_to(temporary)
            if is_synced:
                block_folders.sync_directory(self.directory)
        except FileExistsError:
            raise ExecutionError(f"version {version.sequence} is already published", sqlstate="40001") from None
        except OSError as error:
            raise block_folders.storage_error(str(path), error) from None
        finally:
            block_folders.remove(temporary)
        for sequence in self._sequences()[:-_KEPT_MANIFESTS]:
            block_folders.remove(str(self._path(sequence)))

    def sync(self) -> None:
        """Sync the newest manifest. Until then, a power loss may leave the previous one, or one that is not whole."""
        sequence = self.latest_sequence()
        if sequence is not None:
            block_folders.sync_file(str(self._path(sequence)))
            block_folders.sync_directory(self.directory)

    def latest_sequence(self) -> int | None:
        """Return the sequence number of the newest manifest, without reading it."""
        sequences = self._sequences()
        return sequences[-1] if sequences else None

    def load(self) -> TableVersion | None:
        """Return the newest version with an intact manifest. Blocks that cannot be opened are listed in its `damaged`.

        Return None if no version was published, or only in an earlier format. Raise CorruptionError if no manifest is
        intact.
        """
        damage: CorruptionError | None = None
        for sequence in reversed(self._sequences()):
            path = self._path(sequence)
            try:
                return _parse_manifest(path.read_text("utf-8", "surrogateescape"), self.directory, self._locations)
            except FileNotFoundError:
                continue
            except (ValueError, KeyError, TypeError) as error:
                damage = damage or CorruptionError(f'"{path}" is damaged: {error}')
        if damage is not None:
            raise damage
        return None

    def sweep(self, in_use: Iterable[TableVersion] = ()) -> list[str]:
        """Remove durable blocks of the folder to which neither the newest manifests nor `in_use` refer, and manifests
        of other formats. Return their ids.

        Only the table's single writer may call this, and not while it has unpublished blocks.
        """
        needed = {block.block_id for version in in_use for block in version.blocks}
        for sequence in self._sequences():
            content = _checked(self._path(sequence).read_text("utf-8"))
            if content["format"] == _FORMAT:
                needed.update(block["block_id"] for block in content["blocks"])
            else:
                block_folders.remove(str(self._path(sequence)))
        removed = []
        for entry in list(os.scandir(self.directory)):
            block_id = entry.name.removesuffix(block_folders.SUFFIX)
            is_unfinished = (entry.name.startswith(".") and entry.name != block_folders.NAME) or entry.name.endswith(
                ".tmp"
            )
            if is_unfinished or (entry.name.endswith(block_folders.SUFFIX) and block_id not in needed):
                block_folders.remove(entry.path)
                removed.append(block_id)
        return removed

    def _text_of(self, block: BlockHandle, path: str, origins: Origins) -> tuple[str, Origins, str]:
        known = self._texts.get(block.block_id)
        if known is not None and known[0] == path and known[1] is origins:
            return known
        place = os.path.relpath(path, self.directory)
        return path, origins, _block_text(block, place, origins, self._locations)

    def _path(self, sequence: int) -> Path:
        return Path(self.directory, f"manifest-{sequence:012}.json")

    def _sequences(self) -> list[int]:
        try:
            names = os.listdir(self.directory)  # noqa: PTH208  a Path for each of thousands of blocks would cost more
        except FileNotFoundError:
            return []
        found = (_NAME.fullmatch(name) for name in names if name.startswith("manifest-"))
        return sorted(int(match.group(1)) for match in found if match)


def partition_of(origins: Origins) -> str:
    """Return the Hive partition of a block with these origins, or "" if there is none."""
    return origins[0].partition if origins else ""


def _bucket_order(block: BlockHandle) -> int:
    return -1 if block.bucket is None else block.bucket


def _manifest_text(version: TableVersion, blocks: Sequence[str]) -> str:
    """Return the text of a manifest: a line with the checksum, a line of JSON."""
    fields = [[field.name, type_text(field.dtype), field.comment] for field in version.schema]
    head = _json({"format": _FORMAT, "sequence": version.sequence, "schema": fields})
    text = f'{head[:-1]},"blocks":[{",".join(blocks)}]}}'
    return f"{xxhash.xxh3_64_hexdigest(text.encode())}\n{text}\n"


def _block_text(block: BlockHandle, path: str, origins: Origins, locations: Locations) -> str:
    stored = {
        "block_id": block.block_id,
        "rows": block.num_rows,
        "bytes": block.size_bytes,
        "path": path,
        "bucket": block.bucket,
        "origins": [asdict(origin) | {"path": locations.stored(origin.path)} for origin in origins],
    }
    return _json(stored)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))


def _checked(text: str) -> dict[str, Any]:
    digest, _, content = text.removesuffix("\n").partition("\n")
    if xxhash.xxh3_64_hexdigest(content.encode("utf-8", "surrogateescape")) != digest:
        raise ValueError("it does not match its checksum")
    return json.loads(content)  # type: ignore[no-any-return]


def _parse_manifest(text: str, directory: str, locations: Locations) -> TableVersion | None:
    content = _checked(text)
    if content["format"] != _FORMAT:
        return None
    schema = Schema(tuple(Field(name, parse_type(dtype), comment) for name, dtype, comment in content["schema"]))
    blocks: list[BlockHandle] = []
    origins: list[Origins] = []
    statistics: list[PackedStatistics] = []
    damaged: list[DamagedBlock] = []
    for position, stored in enumerate(content["blocks"]):
        path = os.path.normpath(Path(directory, stored["path"]))
        handle = BlockHandle(
            stored["block_id"], stored["rows"], stored["bytes"], "", path, {}, bucket=stored.get("bucket")
        )
        made_from = tuple(
            BlockOrigin(**(origin | {"path": locations.absolute(origin["path"])})) for origin in stored["origins"]
        )
        try:
            statistics.append(_statistics(path, schema, handle))
        except (CorruptionError, FileNotFoundError) as error:
            reason = error.message if isinstance(error, CorruptionError) else f'"{path}" is missing'
            damaged.append(DamagedBlock(position, handle, made_from, reason))
            continue
        sizes = dict(zip(schema.names, statistics[-1].sizes, strict=True))
        blocks.append(replace(handle, column_bytes=sizes))
        origins.append(made_from)
    table = StatisticsTable.of(schema, statistics)
    return TableVersion(content["sequence"], schema, tuple(blocks), table, tuple(origins), tuple(damaged))


def _statistics(path: str, schema: Schema, handle: BlockHandle) -> PackedStatistics:
    """Return the block's own statistics. Raise CorruptionError if the file is not the block of the manifest."""
    block = Block.open(path)
    if block.num_rows != handle.num_rows or not block.has_columns(schema):
        raise CorruptionError(f'block "{handle.block_id}" is not the block of its manifest')
    return block.statistics
