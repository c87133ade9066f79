"""Runs of generations side by side that are worth a fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.layout import DataFile

GenerationFiles: TypeAlias = tuple[Generation, Sequence[DataFile]]
Generations: TypeAlias = Sequence[GenerationFiles]
"""Generations with their files, as they are listed."""


def small_run(generations: Generations, least: int, most_bytes: int) -> list[GenerationFiles]:
    """The newest deltas that are worth a fold: at least `least`, of at most `most_bytes`, the older ones only if they
    have no more bytes than those behind them. So each byte is folded a few times, however many generations come.
    """
    found: list[GenerationFiles] = []
    total = 0
    for one, files in reversed(generations):
        size = sum(file.size_bytes for file in files)
        if not one.is_delta or total + size > most_bytes or (len(found) >= least and size > total):
            break
        found.append((one, files))
        total += size
    return found[::-1] if len(found) >= least else []


def bounds_of_blocks(generations: Generations, merged: Iterable[Sequence[DataFile]]) -> list[int]:
    """Numbers of generations that runs may begin with, or end before: no block has rows of some before and of some
    behind. `merged`: the files of each block that has rows of several.
    """
    places = {file: place for place, (_, files) in enumerate(generations) for file in files}
    inside = set[int]()
    for files in merged:
        found = [places[file] for file in files if file in places]
        inside.update(range(min(found, default=0) + 1, max(found, default=0) + 1))
    return [place for place in range(len(generations) + 1) if place not in inside]


def longest_run(generations: Generations, wanted: Sequence[DataFile]) -> list[GenerationFiles]:
    """The longest run of deltas, side by side, whose files are side by side in `wanted` in the same order."""
    places = {file.path: place for place, file in enumerate(wanted)}
    best: list[GenerationFiles] = []
    run: list[GenerationFiles] = []
    after = -1
    for one, files in generations:
        found = [places.get(file.path, -1) for file in files]
        is_whole = one.is_delta and bool(found) and found[0] >= 0
        is_whole = is_whole and found == list(range(found[0], found[0] + len(found)))
        is_whole = is_whole and all(_is_same(file, wanted[place]) for file, place in zip(files, found, strict=True))
        if not is_whole:
            run = []
            continue
        run = [*run, (one, files)] if run and found[0] == after else [(one, files)]
        after = found[-1] + 1
        best = run if len(run) > len(best) else best
    return best


def _is_same(listed: DataFile, known: DataFile) -> bool:
    return (listed.size_bytes, listed.modified_ns) == (known.size_bytes, known.modified_ns)
