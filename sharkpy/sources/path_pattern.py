"""Patterns of paths with `**` for any folders."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass
from sharkpy.sources.folders.generations import is_hidden_name

SIGNS = "*?["
"""Characters of patterns, as in `glob`."""
ANY_FOLDERS = "**"
State = frozenset[int]
"""Numbers of the parts of a pattern that the next name of a path may match."""


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Parts of a pattern below a folder.

    A path is matched name by name, each against all parts that are possible there. So the time only grows with the
    numbers of names and parts, even if `**` occurs often.
    """

    parts: tuple[str, ...]

    @classmethod
    def of(cls, names: str) -> PathPattern:
        return cls(tuple(part for part in names.split("/") if part))

    @property
    def is_deep(self) -> bool:
        return ANY_FOLDERS in self.parts

    def begin(self) -> State:
        return self._with_skipped((0,))

    def step(self, state: State, name: str) -> State:
        """State after a name; empty if no path that starts like this can match.

        A name that begins with `_` or `.` is hidden, and only matches a part that begins with the same character.
        """
        is_hidden = is_hidden_name(name)
        found = set[int]()
        for number in state:
            if number == len(self.parts):
                continue
            part = self.parts[number]
            if part == ANY_FOLDERS:
                if not is_hidden:
                    found.add(number)
            elif (not is_hidden or part[0] == name[0]) and fnmatch.fnmatchcase(name, part):
                found.add(number + 1)
        return self._with_skipped(found)

    def is_end(self, state: State) -> bool:
        return len(self.parts) in state

    def matches(self, names: Iterable[str]) -> bool:
        """True if the names of a path match the pattern. For a pattern without `**`, everything below a matching folder
        matches.
        """
        state = self.begin()
        for name in names:
            state = self.step(state, name)
            if not self.is_deep and self.is_end(state):
                return True
        return self.is_end(state)

    def _with_skipped(self, numbers: Iterable[int]) -> State:
        """Add the parts after each `**`, which may match no folder."""
        found = set[int]()
        for number in numbers:
            found.add(number)
            while number < len(self.parts) and self.parts[number] == ANY_FOLDERS:
                number += 1
                found.add(number)
        return frozenset(found)


def local_parts(place: str) -> tuple[str, str]:
    """Folder above the first name with a pattern, as it is written, and the rest of the path."""
    first = min(place.index(sign) for sign in SIGNS if sign in place)
    folder = place[: place.rfind("/", 0, first) + 1]
    return folder or ".", place[len(folder) :]


def local_matches(folder: str, names: str) -> Iterator[str]:
    """Paths below a local folder that match a pattern, unordered; for a pattern with `**` distinct files only."""
    pattern = PathPattern.of(names)
    return _walked(folder, pattern, pattern.begin()) if pattern.is_deep else _globbed(folder, names)


def _globbed(root: str, pattern: str) -> Iterator[str]:
    """Files and folders that match a pattern without `**`."""
    # Hidden names match if the pattern itself has a part that begins like them.
    shown = {part[0] for part in pattern.split("/") if is_hidden_name(part)}
    for match in glob.iglob(str(Path(glob.escape(root), pattern))):  # noqa: PTH207  a Path for each match costs more
        if all(part[0] in shown or not is_hidden_name(part) for part in Path(match).relative_to(root).parts):
            yield match


def _walked(folder: str, pattern: PathPattern, state: State, above: frozenset[str] = frozenset()) -> Iterator[str]:
    """Files below a folder that match a pattern with `**`. `above`: folders to which a link must not lead back."""
    check_cancelled()
    above |= {os.path.realpath(folder)}
    try:
        entries = list(os.scandir(folder))
    except OSError:
        # Like a shell, skip folders that cannot be read.
        return
    for entry in entries:
        after = pattern.step(state, entry.name)
        if not after:
            continue
        if not entry.is_dir():
            if pattern.is_end(after):
                yield entry.path
        elif not entry.is_symlink() or os.path.realpath(entry.path) not in above:
            yield from _walked(entry.path, pattern, after, above)
