"""Publishing of several targets together, or of none."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.unfinished_writes import FileSyncs
from sharkpy.execution.commands.writes.staged_write import QuietWrite, publish


@dataclass
class Target(QuietWrite):
    """Target that notes what is done with it, and whether another process could write at that moment."""

    catalog: Catalog
    fails: bool = False
    done: list[tuple[str, bool]] = field(default_factory=list)

    def place(self) -> None:
        self._note("place")
        if self.fails:
            raise ValueError("no place")

    def take_back(self) -> None:
        self._note("take back")

    def discard(self) -> None:
        self._note("discard")

    def _note(self, step: str) -> None:
        with closing(sqlite3.connect(self.catalog.file_path, timeout=0, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                self.done.append((step, False))
            else:
                self.done.append((step, True))


@dataclass
class SyncedTarget(Target):
    """Target whose rows reach the disk when the other targets' rows are on their way, and its own work has begun."""

    others: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))
    is_prepared: threading.Event = field(default_factory=threading.Event)
    syncing: Future[None] | None = None

    def start(self, syncs: FileSyncs) -> None:
        self.syncing = syncs.begin(self._sync)

    def prepare(self) -> None:
        self.is_prepared.set()
        assert self.syncing is not None
        self.syncing.result()
        self._note("prepare")

    def _sync(self) -> None:
        self.others.wait(60)
        assert self.is_prepared.wait(60)


def test_targets_reach_the_disk_together_and_before_they_are_placed(tmp_path: Path) -> None:
    both = threading.Barrier(2)
    with closing(Catalog(str(tmp_path / "w"))) as catalog:
        targets = [SyncedTarget(catalog, others=both) for _ in range(2)]
        publish(targets, catalog)
    for target in targets:
        assert target.done == [("prepare", True), ("place", False), ("discard", True)]


def test_what_is_taken_back_has_its_place_until_then(tmp_path: Path) -> None:
    """Another process that took the same place meanwhile would lose its files there."""
    with closing(Catalog(str(tmp_path / "w"))) as catalog:
        first, second = Target(catalog), Target(catalog, fails=True)
        with pytest.raises(ValueError, match="no place"):
            publish([first, second], catalog)
    assert first.done == second.done == [("place", False), ("take back", False), ("discard", True)]


def test_a_commit_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Catalog(str(tmp_path / "w"))) as catalog:
        target, begin = Target(catalog), catalog.transaction

        @contextmanager
        def failing(**given: bool) -> Iterator[None]:
            with begin(**given):
                yield
                raise OSError("no room")

        monkeypatch.setattr(catalog, "transaction", failing)
        with pytest.raises(OSError, match="no room"):
            publish([target], catalog)
    assert target.done == [("place", False), ("take back", True), ("discard", True)]
