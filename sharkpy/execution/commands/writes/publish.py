"""All targets of a statement put in place together, or none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from sharkpy.catalog.store import Catalog


class StagedWrite(Protocol):
    """The rows of one target, written aside where no reader looks.

    1. `prepare`: what takes time or may fail for want of room. Nothing can be seen yet.
    2. `place`, inside a transaction of the catalog, which holds other writers off: renames and catalog rows.
    3. `take_back`, where any target of the statement could not be placed or the transaction failed.
    4. `show`, after the transaction: what is in memory alone. It does not fail.
    5. `clean`: what is hidden now is deleted, and blocks of new files are loaded.
    6. `discard` frees what was written aside, at any time, and again.
    """

    def prepare(self) -> None: ...

    def place(self) -> None: ...

    def take_back(self) -> None: ...

    def show(self) -> None: ...

    def clean(self) -> None: ...

    def discard(self) -> None: ...


def publish(writes: Sequence[StagedWrite], catalog: Catalog) -> None:
    """The targets in their order, as far as the same one occurs twice.

    Hive partitions count from the commit on. Folders without a catalog entry of their own, those of tables that
    are not partitioned, are renamed right before it: a process killed between leaves each one old or new.
    """
    with discarding(writes):
        for write in writes:
            write.prepare()
        try:
            with catalog.transaction():
                for write in writes:
                    write.place()
        except BaseException:
            for write in reversed(writes):
                write.take_back()
            raise
        for write in writes:
            write.show()
        for write in writes:
            write.clean()


@contextlib.contextmanager
def discarding(writes: Sequence[StagedWrite]) -> Iterator[None]:
    """What `writes` has of staged rows at the end is freed."""
    try:
        yield
    finally:
        for write in writes:
            write.discard()
