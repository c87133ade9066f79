"""Atomic publication of all targets of a statement."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.unfinished_writes import FileSyncs


class StagedWrite(Protocol):
    """Write of one target, staged in a place that no reader looks at.

    1. `start` begins to sync staged files to the disk, for all targets at once.
    2. `prepare` waits for that, and does other work that takes time or may fail if space runs out. Nothing is visible
       yet.
    3. `place` runs inside a catalog transaction, while other writers wait: renames and catalog rows.
    4. `take_back` runs if any target could not be placed, inside the transaction, or after it if its commit failed.
    5. `show`, after the transaction, publishes data that is only in memory. It does not fail.
    6. `clean` deletes replaced data and loads blocks of new files.
    7. `discard` frees the staged rows. It may be called at any time, and repeatedly.
    """

    def start(self, syncs: FileSyncs) -> None: ...

    def prepare(self) -> None: ...

    def place(self) -> None: ...

    def take_back(self) -> None: ...

    def show(self) -> None: ...

    def clean(self) -> None: ...

    def discard(self) -> None: ...


class QuietWrite:
    """Base of writes that need only a few of the steps of `StagedWrite`."""

    __slots__ = ()

    def start(self, syncs: FileSyncs) -> None:
        pass

    def prepare(self) -> None:
        pass

    def place(self) -> None:
        pass

    def take_back(self) -> None:
        pass

    def show(self) -> None:
        pass

    def clean(self) -> None:
        pass

    def discard(self) -> None:
        pass


def publish(writes: Sequence[StagedWrite], catalog: Catalog) -> None:
    """Publish the targets, in order if one occurs twice.

    Hive partitions become visible with the commit. The folders of other tables have no generation in the catalog and
    are renamed right before the commit. If the process is killed in between, each of them is either old or new.
    """
    with discarding(writes):
        for write in writes:
            write.start(catalog.syncs)
        for write in writes:
            write.prepare()
        is_placed = False
        try:
            with catalog.transaction():
                _place(writes)
                is_placed = True
        except BaseException:
            if is_placed:
                _take_back(writes)
            raise
        for write in writes:
            write.show()
        for write in writes:
            write.clean()


def _place(writes: Sequence[StagedWrite]) -> None:
    """Place all or none. The transaction keeps other writers away until the rest is taken back."""
    try:
        for write in writes:
            write.place()
    except BaseException:
        _take_back(writes)
        raise


def _take_back(writes: Sequence[StagedWrite]) -> None:
    """Take back all writes, the last first, even if one of them fails."""
    with contextlib.ExitStack() as stack:
        for write in writes:
            stack.callback(write.take_back)


@contextlib.contextmanager
def discarding(writes: Sequence[StagedWrite]) -> Iterator[None]:
    """Discard the staged rows of `writes` at the end of the body."""
    try:
        yield
    finally:
        # The body may have added some.
        with contextlib.ExitStack() as stack:
            for write in reversed(writes):
                stack.callback(write.discard)
