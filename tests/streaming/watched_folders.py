"""Folders of which the system tells this process what happens in them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

MOST_QUEUED = Path("/proc/sys/fs/inotify/max_queued_events")
"""File with the number of events that the system keeps for a process that does not read them."""
needs_events = pytest.mark.skipif(not MOST_QUEUED.exists(), reason="the system does not tell what happens in folders")


def num_watched() -> int:
    """Number of folders that the system watches for this process."""
    found = 0
    for path in Path("/proc/self/fdinfo").iterdir():
        with suppress(OSError):
            found += path.read_text().count("inotify wd:")
    return found
