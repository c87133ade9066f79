"""Files of a stream's folder as they are found, and the interface of who finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sharkpy.catalog.stream_store import StreamFile
    from sharkpy.sources.layout import DataFile

_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", "._COPYING_")
"""Endings of the names that programs give to files that they are still writing."""


@dataclass(frozen=True, slots=True)
class Found:
    """File as it was found. `name`: its path below the folder; `tag`: that of a remote file's content."""

    name: str
    size_bytes: int
    modified_ns: int
    settles: float
    """Seconds after which nobody seems to write it; 0: nobody does."""
    tag: str = ""

    @property
    def is_whole(self) -> bool:
        return self.settles <= 0


@dataclass(slots=True)
class LookFigures:
    """Looks at a remote folder, and the requests of their lists."""

    looks: int = 0
    requests: int = 0


class Finder(Protocol):
    """Finder of the files at and below a folder. One thread at a time calls it.

    Of two whole files the one that came first is found first, or with the other.
    """

    unsettled: float
    """Seconds after which all files that were found may be whole."""
    figures: LookFigures | None
    """Those of looks that cost something."""

    def has_news(self) -> bool:
        """True if it has heard of files that were not looked at."""

    def is_due(self, now: float) -> bool:
        """True if looks that are repeated may look again; the error of the last one, until it is time for another."""

    def find(self, known: dict[str, StreamFile], now: float, *, is_thorough: bool) -> list[Found]:
        """Files that are not `known` by their names, and of those that are known the ones that may have changed: all of
        them where anything has changed and it `is_thorough`, which looks that are repeated are not.

        `now` is by the monotonic clock. After an error, or where what was found does not come to be known, `list_again`
        has to be called. `known` is in the order of the files' numbers.
        """

    def list_again(self, fault: BaseException) -> None:
        """Find all files again with the next look: this one has failed."""

    def data_files(self, files: Sequence[StreamFile], *, is_strict: bool) -> Sequence[DataFile | None]:
        """Files to be read, as they are now; None for those that are gone. Where it `is_strict`, as they were found, if
        the reading of them tells of a change.
        """

    def close(self) -> None:
        """Let go of what it holds."""


def is_left_alone(name: str) -> bool:
    """True for names of files and folders that are no part of a stream, or not yet."""
    return name.startswith(("_", ".")) or name.endswith(_UNFINISHED)


def is_same(file: StreamFile, found: Found | DataFile) -> bool:
    """True if a file has the content that it had when it got its number: by the tags, or else by size and time."""
    if file.tag and found.tag:
        return file.tag == found.tag
    return (file.size_bytes, file.modified_ns) == (found.size_bytes, found.modified_ns)
