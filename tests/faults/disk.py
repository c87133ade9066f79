"""Disks that fill: a small file system, and its use."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.paths_below import paths_below


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Mount a file system of `size` bytes at `folder`; skips the test if that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Let nothing be written to a mounted file system, until the end of the body."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


@contextmanager
def ballast(disk: Path, size: int) -> Iterator[None]:
    """Leave only `size` bytes free, until the end of the body."""
    path = disk / "ballast"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    path.write_bytes(b"\0" * max(0, free - size))
    try:
        yield
    finally:
        path.unlink()


def used(folder: Path) -> int:
    """Bytes of files of data and blocks: the catalog's own file may grow."""
    files = (path for path in paths_below(folder) if path.is_file() and "ballast" not in path.name)
    return sum(path.stat().st_size for path in files if not path.name.startswith("catalog"))
