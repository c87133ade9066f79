"""Objects below many folders of one store: of few folders each is listed, many are listed together.

A list costs a request for a page, whether that has one object or a thousand. So folders with few objects each are best
listed by what holds them all: in ranges of names side by side where the store lists by name, which also skip what lies
between the wanted folders; elsewhere by one list, up to where a list of each folder would have been faster.
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
"""What is kept of an object below a folder, None for nothing."""
_LISTS = 64
"""Folders up to which each has a list of its own; the number of ranges of more."""
_PAGE = 1000
"""Objects that a request lists."""
_LAST = "\U0010ffff"
"""Name behind all others."""


def objects_in_folders(store: Store, folders: Sequence[str], keep: Keep[T]) -> dict[str, list[T]]:
    """What `keep` gives for the objects below each of some folders, at whatever depth and in any order. No folder is in
    another one; those of which nothing is kept may be left out.
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
    """Objects below folders that are in the order of names, in a store that lists by name."""
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
                # What follows may be long: the next list begins behind it.
                strays = 0
                break
        else:
            return


def _listed_together(store: Store, folders: Sequence[str], keep: Keep[T]) -> dict[str, list[T]] | None:
    """What is kept of one list of the folder that holds them all; None where that has more pages than there would be
    turns of lists of each folder, with as many at once as there may be.
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
    """Neighbours, in as many runs as there are to be lists, of nearly one length."""
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
