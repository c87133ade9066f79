"""Interfaces of stream sources: the reader of a source, and the finder of the files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import Position

if TYPE_CHECKING:
    from sharkpy.catalog.stream_store import StreamFile
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.sources.layout import DataFile


class SourceReader(Protocol):
    """Reader of a source. In each partition its items are numbered from 0, in an order that never changes.

    1. All continuous queries of a stream share one reader. Several threads call its methods.
    2. A number belongs to the same item after every restart.
    """

    @property
    def keeps_items(self) -> bool:
        """True if items are stored only for the queries, and deleted when all queries have read them."""

    @property
    def end(self) -> Position:
        """Position after the last item that was seen."""

    def look(self, age: float = 0.0) -> Position:
        """Look for new items. Return the position after the last item that may be read.

        An earlier look counts if it is not older than `age` seconds.
        """

    def first(self) -> Position:
        """Return the position of the first item that still exists, or the end if there is none."""

    def since(self, moment_ms: int) -> Position | None:
        """Return the position of the first seen items that are not older than a time, in milliseconds since 1970.

        This is the end if there are none, and None if the source does not know when its items arrived.
        """

    def num_gone(self) -> int:
        """Return the number of items at the beginning of the stream that no longer exist."""

    def release(self, end: Position) -> None:
        """Release the items before `end`, which all queries have read."""

    def unsettled_seconds(self) -> float:
        """Return the seconds after which items that may still change should be readable; 0 if there are none."""

    def cut(self, start: Position, end: Position) -> Position:
        """Return the end of an epoch that begins at `start`: `end`, or an earlier one if there are too many items."""

    def give(self, snapshot: QuerySnapshot, start: Position, end: Position) -> None:
        """Set the rows of the stream in `snapshot` to the items from `start` to before `end`.

        Raise SourceError if items are gone.
        """

    def close(self) -> None:
        """Release all resources. The reader is not used any more."""


_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", "._COPYING_")
"""Endings of the names that programs give to files that they are still writing."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """File as it was found.

    `name` is its path relative to the folder; `tag` identifies the content of a remote file.
    """

    name: str
    size_bytes: int
    modified_ns: int
    settles: float
    """Seconds after which the file counts as complete; 0 if it is complete."""
    tag: str = ""

    @property
    def is_whole(self) -> bool:
        return self.settles <= 0


@dataclass(slots=True)
class LookFigures:
    """Numbers of looks at a remote folder, and of the requests of their listings."""

    looks: int = 0
    requests: int = 0


class Finder(Protocol):
    """Finder of the files in a folder and its subfolders. One thread at a time calls it.

    Of two complete files the earlier one is found first, or together with the later one.
    """

    unsettled: float
    """Seconds after which all files that were found may be complete."""
    figures: LookFigures | None
    """Figures of looks, if they cost requests."""

    def has_news(self) -> bool:
        """Return True if the finder has heard of files that it has not looked at."""

    def is_due(self, now: float) -> bool:
        """Return True if a repeated look may look again.

        Otherwise return False, or raise the error of the last look if it failed.
        """

    def find(self, known: dict[str, StreamFile], now: float, *, is_thorough: bool) -> list[FoundFile]:
        """Return the files that are not `known` by name, and known files that may have changed.

        If `is_thorough` and anything has changed, all known files that may have changed are included. Repeated looks
        are not thorough. `now` is a time of the monotonic clock. `known` is in the order of the files' numbers. Call
        `list_again` after an error, or if the found files do not become known.
        """

    def list_again(self, fault: BaseException) -> None:
        """Find all files again with the next look, since this one has failed."""

    def data_files(self, files: Sequence[StreamFile], *, is_strict: bool) -> Sequence[DataFile | None]:
        """Return the current files to read, with None for files that are gone.

        If `is_strict` and reading itself detects changes, return the files as they were found.
        """

    def close(self) -> None:
        """Release all resources."""


def is_ignored(name: str) -> bool:
    """Return True for names of files and folders that do not belong to a stream, or not yet."""
    return name.startswith(("_", ".")) or name.endswith(_UNFINISHED)


def is_same(file: StreamFile, found: FoundFile | DataFile) -> bool:
    """Return True if a file still has the content that it had when it got its number.

    This compares the tags, or else size and time.
    """
    if file.tag and found.tag:
        return file.tag == found.tag
    return (file.size_bytes, file.modified_ns) == (found.size_bytes, found.modified_ns)
