"""Objects below many folders of one store: a few folders are listed one by one, many are listed together.

A request lists a page of objects, whether it has one or a thousand. So folders with few objects each are best listed by
the folder that holds them all. A store that lists by name is listed in parallel ranges of names, which skip objects
between the wanted folders. Other stores are listed by one list, given up once lists of each folder would be faster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from sharkpy.sources.side_by_side import AT_ONCE, side_by_side
from sharkpy.sources.storage.listed import counted
from sharkpy.sources.storage.store import ObjectFacts, Store

T = TypeVar("T")
Keep = Callable[[ObjectFacts, str], T | None]
"""Converts an object below a folder; None to leave it out."""
_LISTS = 64
"""Most folders that are listed one by one; number of ranges for more."""
_PAGE = 1000
"""Objects in one page of a list."""
_LAST = "\U0010ffff"
"""Sorts after all other names."""


def objects_in_folders(store: Store, folders: Sequence[str], keep: Keep[T]) -> dict[str, list[T]]:
    """Results of `keep` for the objects below each of some folders, at any depth and in any order.

    No folder may be in another one. Folders without results may be left out.
    """
    ordered = sorted(folders, key=lambda folder: f"{folder}/")
    if len(ordered) > _LISTS:
        if store.traits.is_sorted:
            return _joined(side_by_side(lambda run: _kept(_between(store, run), keep), _runs(ordered)))
        if (found := _listed_together(store, ordered, keep)) is not None:
            return found
    return _joined(side_by_side(lambda folder: _kept(_in_one(store, folder), keep), ordered))


def _in_one(store: Store, folder: str) -> Iterator[tuple[str, ObjectFacts]]:
    return ((folder, facts) for facts in store.list(folder))


def _between(store: Store, folders: Sequence[str]) -> Iterator[tuple[str, ObjectFacts]]:
    """Objects below folders in the order of names, in a store that lists by name."""
    home, ends = _folder_of_all(folders), [f"{folder}/{_LAST}" for folder in folders]
    place = strays = 0
    while place < len(folders):
        for facts in store.list(home, after=f"{folders[place]}/", until=ends[-1]):
            while facts.path > ends[place]:
                place += 1
            if facts.path.startswith(f"{folders[place]}/"):
                strays = 0
                yield folders[place], facts
            elif (strays := strays + 1) == _PAGE:
                # Many unwanted objects may follow: begin the next list after them.
                strays = 0
                break
        else:
            return


def _listed_together(store: Store, folders: Sequence[str], keep: Keep[T]) -> dict[str, list[T]] | None:
    """Results from one list of the folder that holds all folders.

    None once that list has more pages than lists of each folder would take, with as many lists at a time as allowed.
    """
    depth = folders[0].count("/") + 1
    if any(folder.count("/") + 1 != depth for folder in folders):
        return None
    found = {folder: list[T]() for folder in folders}
    most = len(folders) * _PAGE // AT_ONCE
    for number, facts in enumerate(counted(store.list(_folder_of_all(folders)))):
        if number == most:
            return None
        folder = "/".join(facts.path.split("/", depth)[:depth])
        if folder in found and (kept := keep(facts, folder)) is not None:
            found[folder].append(kept)
    return found


def _folder_of_all(folders: Sequence[str]) -> str:
    """Folder that holds all of several folders."""
    first, last = min(folders), max(folders)
    if first == last:
        return first
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    start = "".join(one for one, _ in same)
    return start[: start.rindex("/")]


def _runs(folders: Sequence[str]) -> list[Sequence[str]]:
    """Runs of neighbouring folders, as many as there will be lists, of nearly equal length."""
    bounds = [len(folders) * number // _LISTS for number in range(_LISTS + 1)]
    return [folders[start:end] for start, end in itertools.pairwise(bounds)]


def _kept(objects: Iterable[tuple[str, ObjectFacts]], keep: Keep[T]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for folder, facts in counted(objects):
        if (kept := keep(facts, folder)) is not None:
            found.setdefault(folder, []).append(kept)
    return found


def _joined(parts: Iterable[dict[str, list[T]]]) -> dict[str, list[T]]:
    return {folder: kept for part in parts for folder, kept in part.items()}
