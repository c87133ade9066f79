"""Names in a table's folder: generations, which of them count, and which ones they hide. All kinds of folders use them.

A folder holds plain files (generation 0: put there by hand or by other engines, subfolders included), `delta_N` of
INSERT INTO and `base_N` of INSERT OVERWRITE. The newest base hides everything older than it. `delta_M_N` has the rows
of all generations from M to N, folded into few files, and hides them. Names that begin with `_` or `.` are never data.

A partitioned table has such a folder for each Hive partition. The catalog records up to which generation each of them
counts. So one transaction can add new files to many Hive partitions at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from sharkpy.base import uri
from sharkpy.base.records import dataclass

_GENERATION = re.compile(r"(base|delta)_(?:(\d+)_)?(\d+)")
"""Kind; first generation, for a fold; last or only generation."""
_CACHED_NAMES = 1 << 15
"""Size of the cache of parsed names: each statement lists a folder, which may have thousands."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Entry of a table's folder: a generation, a fold of the generations from `first` to `last`, or plain files."""

    name: str
    first: int
    last: int
    is_base: bool = False

    @staticmethod
    def of(name: str) -> Generation:
        return _generation(name)

    @property
    def is_delta(self) -> bool:
        return self.last > 0 and not self.is_base


@lru_cache(_CACHED_NAMES)
def _generation(name: str) -> Generation:
    match = _GENERATION.fullmatch(name)
    if match is None:
        return Generation(name, 0, 0)
    last = int(match.group(3))
    return Generation(name, int(match.group(2) or last), last, match.group(1) == "base")


@dataclass(frozen=True, slots=True)
class Placed:
    """Generation that a write has put in place, by the location of its folder and its name there.

    `mark` tells it from what another process may have put there under the same name since. In a logged folder, `place`
    is the local folder of its files, empty if they are elsewhere, and `paths` has the files.
    """

    location: str
    name: str
    mark: str
    place: str = ""
    paths: frozenset[str] = frozenset()

    @property
    def number(self) -> int:
        return Generation.of(self.name).last

    def named(self, name: str) -> Placed:
        return replace(self, name=name)


def visible_of(names: Sequence[str], newest: int | None) -> list[Generation]:
    """Visible entries of a folder with these names, up to generation `newest`, in the order of their rows."""
    found = (Generation.of(name) for name in names if not is_hidden_name(name))
    entries = [entry for entry in found if not _is_beyond(entry, newest)]
    base = max((entry.last for entry in entries if entry.is_base), default=-1)
    kept: list[Generation] = []
    folded = -1
    for entry in sorted(entries, key=lambda one: (one.first, -one.last, not one.is_base, one.name)):
        if entry.last < base or entry.last <= folded:
            continue
        kept.append(entry)
        if entry.first < entry.last:
            folded = entry.last
    return kept


def hidden_of(names: Sequence[str], newest: int | None) -> frozenset[str]:
    """Names of data that a newer base or a fold hides.

    Generations after `newest` are ignored: they hide nothing yet, and are not hidden.
    """
    visible = {entry.name for entry in visible_of(names, newest)}
    return frozenset(
        name
        for name in names
        if not is_hidden_name(name) and name not in visible and not _is_beyond(Generation.of(name), newest)
    )


_MOST_GENERATIONS = 1000


def generations_between(after: int, until: int) -> range | None:
    """Numbers of the generations after `after`, up to `until`; None if there are too many to look at one by one."""
    return range(after + 1, until + 1) if until - after <= _MOST_GENERATIONS else None


def fold_name(first: int, last: int) -> str:
    """Name of the fold of the generations from `first` to `last`."""
    return f"delta_{first:07d}_{last:07d}"


def is_folded(path: str) -> bool:
    """True for the location of a file in the folder of a fold, which may have more in its name, after a hyphen."""
    one = Generation.of(uri.name_of(uri.parent(path)).partition("-")[0])
    return one.first < one.last


def is_hidden_name(name: str) -> bool:
    """True for names that are never data."""
    return name.startswith(("_", "."))


def is_hidden_path(path: str) -> bool:
    """True for a relative path with a name in it that is never data."""
    return is_hidden_name(path) or "/_" in path or "/." in path


def _is_beyond(entry: Generation, newest: int | None) -> bool:
    return newest is not None and entry.last > newest
