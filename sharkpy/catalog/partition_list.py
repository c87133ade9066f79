"""Hive partitions of a table at one moment, and changes to them in one transaction."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, overload

from sharkpy.base.records import dataclass
from sharkpy.catalog.hive_partition import HivePartition

_T = TypeVar("_T")


class PartitionNames:
    """Names of a table's Hive partitions, in order. Lists share this object while the names stay the same.

    `derived` caches what callers compute from exactly these names.
    """

    __slots__ = ("_indexes", "derived", "texts")

    def __init__(
        self, texts: tuple[str, ...], indexes: Mapping[Hashable, tuple[Any, tuple[str, ...]]] | None = None
    ) -> None:
        self.texts = texts
        self.derived: dict[Hashable, Any] = {}
        self._indexes = {} if indexes is None else dict(indexes)
        """Indexes by their keys, with the names that each lacks."""

    def grown(self, texts: tuple[str, ...], added: Sequence[str]) -> PartitionNames:
        """Return the names after `added` ones came."""
        indexes = list(self._indexes.items())
        return PartitionNames(texts, {key: (index, (*lacking, *added)) for key, (index, lacking) in indexes})

    def indexed(self, key: Hashable, new: Callable[[], _T], add: Callable[[_T, Sequence[str]], object]) -> _T:
        """Return an index of the names. `new` makes an empty one, and `add` adds names to it, perhaps twice.

        Later names share it. So it may also have names that are not here.
        """
        index, lacking = self._indexes.get(key) or (new(), self.texts)
        if lacking:
            add(index, lacking)
        self._indexes[key] = (index, ())
        return index

    def position(self, name: str) -> int | None:
        """Return the position of a name, or None if it is not there."""
        index = bisect_left(self.texts, name)
        return index if index < len(self.texts) and self.texts[index] == name else None


class PartitionList(Sequence[HivePartition]):
    """Hive partitions of a table, by name. Immutable.

    1. `names` and unchanged Hive partitions are the same objects in later lists, so a later list costs little.
    2. `formed` has the Hive partitions with a format or columns of their own.
    3. In a list of an earlier version, the last generation of each is that version.
    """

    __slots__ = ("_found", "_version", "formed", "names")

    def __init__(
        self,
        found: Sequence[HivePartition] = (),
        names: PartitionNames | None = None,
        formed: Sequence[HivePartition] | None = None,
        version: int | None = None,
    ) -> None:
        """Make a list of Hive partitions in the order of their names. The other values are computed if not given."""
        self._found = tuple(found)
        self._version = version
        self.names = PartitionNames(tuple(one.name for one in found)) if names is None else names
        self.formed = tuple(one for one in found if one.storage or one.columns) if formed is None else tuple(formed)

    def find(self, name: str) -> HivePartition | None:
        """Return the Hive partition with a name, or None."""
        position = self.names.position(name)
        return None if position is None else self[position]

    def with_changes(self, changed: Iterable[HivePartition]) -> PartitionList:
        """Return the list after Hive partitions were added, or changed under their names."""
        found, added, by_name = list(self._found), list[HivePartition](), {one.name: one for one in changed}
        for one in by_name.values():
            if (position := self.names.position(one.name)) is None:
                added.append(one)
            else:
                found[position] = one
        formed = [one for one in self.formed if one.name not in by_name]
        formed += [one for one in by_name.values() if one.storage or one.columns]
        if not added:
            return PartitionList(found, self.names, formed)
        added.sort(key=lambda one: one.name)
        new_names = [one.name for one in added]
        places = [bisect_left(self.names.texts, name) for name in new_names]
        names = self.names.grown(tuple(_spliced(self.names.texts, new_names, places)), new_names)
        return PartitionList(_spliced(found, added, places), names, formed)

    def at(self, version: int, later: Iterable[str], past: Sequence[HivePartition]) -> PartitionList:
        """Return the list of an earlier version: `later` names came after it, and `past` ones have gone since."""
        gone = set(later)
        if not gone and not past:
            return PartitionList(self._found, self.names, self.formed, version)
        found = sorted((*(one for one in self._found if one.name not in gone), *past), key=lambda one: one.name)
        return PartitionList(found, version=version)

    def changed_since(self, before: PartitionList, has_changed: Callable[[HivePartition], bool]) -> PartitionList:
        """Return the Hive partitions that an earlier list lacks, has in another folder, or whose files have changed."""
        pairs = ((one, before.find(one.name)) for one in self)
        return PartitionList(
            [one for one, old in pairs if old is None or old.location != one.location or has_changed(one)]
        )

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[HivePartition]:
        return map(self._then, self._found)

    @overload
    def __getitem__(self, index: int) -> HivePartition: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[HivePartition]: ...
    def __getitem__(self, index: int | slice) -> HivePartition | Sequence[HivePartition]:
        found = self._found[index]
        return self._then(found) if isinstance(found, HivePartition) else tuple(map(self._then, found))

    def _then(self, one: HivePartition) -> HivePartition:
        return one if self._version is None else replace(one, newest=self._version)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionList | tuple):
            return NotImplemented
        return self is other or tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def _spliced(old: Sequence[_T], new: Sequence[_T], places: Sequence[int]) -> list[_T]:
    """Return `old` with each of `new` before the item at its place."""
    found, start = list[_T](), 0
    for one, place in zip(new, places, strict=True):
        found += old[start:place]
        found.append(one)
        start = place
    return found + list(old[start:])


NO_PARTITIONS = PartitionList()


class ChangedPartitions(Mapping[str, HivePartition]):
    """Hive partitions by name, after changes to the Hive partitions of a list."""

    def __init__(self, before: PartitionList) -> None:
        self._before = before
        self._changed: dict[str, HivePartition | None] = {}

    def put(self, one: HivePartition) -> None:
        self._changed.pop(one.name, None)
        self._changed[one.name] = one

    def remove(self, name: str) -> None:
        self._changed[name] = None

    def __getitem__(self, name: str) -> HivePartition:
        found = self._changed[name] if name in self._changed else self._before.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self._before.names.texts if name not in self._changed)
        yield from (name for name, one in self._changed.items() if one is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def partitions_before(known: PartitionList, undone: Mapping[int, int | None]) -> PartitionList:
    """Return the Hive partitions before some changes.

    `undone` holds the earlier last generation of each changed partition by id, or None for a partition that did not
    exist.
    """
    then = ((one, undone.get(one.partition_id, one.newest)) for one in known)
    return PartitionList(
        [replace(one, newest=newest) for one, newest in then if newest is not None or one.partition_id not in undone]
    )


@dataclass(frozen=True, slots=True)
class CommittedFiles:
    """Committed files of a table: generations up to `newest` (None: all), or the files of its Hive partitions."""

    newest: int | None = None
    partitions: PartitionList = NO_PARTITIONS
