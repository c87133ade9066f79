"""Publishing of a statement's targets: all put in place together, or none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from sharkpy.catalog.file_syncs import FileSyncs
from sharkpy.catalog.store import Catalog


class StagedWrite(Protocol):
    """Write of one target, staged where no reader looks.

    1. `start` begins to let what is staged reach the disk, that of all targets at once.
    2. `prepare` does the other work that takes time or may fail for want of room, and waits for that. Nothing can be
       seen yet.
    3. `place`, inside a transaction of the catalog, which holds other writers off: renames and catalog rows.
    4. `take_back`, if any target of the statement could not be placed, still inside the transaction; or behind it, if
       that could not be committed.
    5. `show`, after the transaction, publishes data that is in memory alone. It does not fail.
    6. `clean` deletes data that is hidden now, and loads blocks of new files.
    7. `discard` frees the staged rows, at any time, and repeatedly.
    """

    def start(self, syncs: FileSyncs) -> None: ...

    def prepare(self) -> None: ...

    def place(self) -> None: ...

    def take_back(self) -> None: ...

    def show(self) -> None: ...

    def clean(self) -> None: ...

    def discard(self) -> None: ...


class QuietWrite:
    """Base of writes that have something to do in a few of the steps of `StagedWrite`: the others do nothing."""

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
    """Publish the targets, in their order if the same one occurs twice.

    Hive partitions count from the commit on. Folders without a catalog entry of their own, those of tables that
    are not partitioned, are renamed right before it: a process killed between leaves each one old or new.
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
    """Place all or none, inside the transaction: no other writer has the place of what is taken back."""
    try:
        for write in writes:
            write.place()
    except BaseException:
        _take_back(writes)
        raise


def _take_back(writes: Sequence[StagedWrite]) -> None:
    """Take all back, the last first, also those behind one where that fails."""
    with contextlib.ExitStack() as stack:
        for write in writes:
            stack.callback(write.take_back)


@contextlib.contextmanager
def discarding(writes: Sequence[StagedWrite]) -> Iterator[None]:
    """Free the rows that `writes` has staged, at the end of the body."""
    try:
        yield
    finally:
        # Some may have come in the body.
        with contextlib.ExitStack() as stack:
            for write in reversed(writes):
                stack.callback(write.discard)
