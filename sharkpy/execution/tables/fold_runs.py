"""Runs of neighbouring generations that are worth a fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.layout import DataFile

GenerationFiles: TypeAlias = tuple[Generation, Sequence[DataFile]]
Generations: TypeAlias = Sequence[GenerationFiles]
"""Generations with their listed files."""


def small_run(generations: Generations, least: int, most_bytes: int) -> list[GenerationFiles]:
    """Return the newest deltas that are worth a fold: at least `least`, with at most `most_bytes`.

    More than `least` deltas are taken only while an older one has no more bytes than all newer ones. So each byte is
    folded only a few times, however many generations come.
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
    """Return the places between generations at which a run may begin or end, so that no block spans one.

    `merged` has the files of each block with rows of several.
    """
    places = {file: place for place, (_, files) in enumerate(generations) for file in files}
    inside = set[int]()
    for files in merged:
        found = [places[file] for file in files if file in places]
        inside.update(range(min(found, default=0) + 1, max(found, default=0) + 1))
    return [place for place in range(len(generations) + 1) if place not in inside]


def longest_run(generations: Generations, wanted: Sequence[DataFile]) -> list[GenerationFiles]:
    """Return the longest run of neighbouring deltas whose files are consecutive in `wanted`."""
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
