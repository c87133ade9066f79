"""Threads that let files reach the disk: many at once, and none if the process ends."""

from __future__ import annotations

import threading
from concurrent.futures import wait

import pytest

from sharkpy.catalog.unfinished_writes import FileSyncs


def _fail() -> None:
    raise OSError("no disk")


def test_files_reach_the_disk_together() -> None:
    syncs, both = FileSyncs(), threading.Barrier(3)
    begun = [syncs.begin(lambda: both.wait(60)) for _ in range(2)]
    both.wait(60)
    assert not wait(begun, 60).not_done
    with pytest.raises(OSError, match="no disk"):
        syncs.begin(_fail).result()
    syncs.close()


def test_no_thread_begins_when_the_process_ends() -> None:
    syncs, done = FileSyncs(), list[str]()
    syncs.close()
    syncs.begin(lambda: done.append(threading.current_thread().name)).result()
    assert done == [threading.current_thread().name]
    with pytest.raises(OSError, match="no disk"):
        syncs.begin(_fail).result()
