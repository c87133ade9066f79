"""Check of the links among a table's files, during writes of the same table."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from sharkpy.base.errors import NotAllowedError, SourceError, UnsupportedError
from sharkpy.catalog.path_gate import PathGate


def test_remote_locations_are_open_without_bounds_alone(tmp_path: Path) -> None:
    """Only locations may be remote; no other path may."""
    bounded = PathGate((tmp_path,))
    PathGate().check_location("s3://b/t")
    bounded.check_location(str(tmp_path / "t"))
    bounded.check_links("s3://b/t")
    with pytest.raises(NotAllowedError, match="bounds"):
        bounded.check_location("s3://b/t")
    with pytest.raises(NotAllowedError):
        bounded.check_location("/etc")
    for gate in (PathGate(), bounded):
        with pytest.raises(UnsupportedError, match=r"\*\*\*@b/t"):
            gate.check_location("s3://KEY:SECRET@b/t")
        with pytest.raises(UnsupportedError, match="only local files"):
            gate.check("s3://b/t")


def test_remote_locations_within_the_bounds(tmp_path: Path) -> None:
    gate = PathGate((tmp_path,), remote=("s3://b/open", "https://data.example/sets"))
    for location in ("s3://b/open", "s3a://b/open/x/", "S3N://b/open/%2e%2e/x", "https://data.example/sets/a%20b"):
        gate.check_location(location)
    for location in (
        *("s3://b/opened", "s3://b", "s3://b/open/../x", "s3://B/open/x", "s3://b/Open/x", "gs://b/open/x"),
        *("https://data.example/sets/%2e%2E/x", "https://data.example/sets%2F..%2Fx", "https://data.example:1/sets/x"),
    ):
        with pytest.raises(NotAllowedError, match="bounds") as caught:
            gate.check_location(location)
        assert f"{tmp_path}, s3://b/open, https://data.example/sets" in str(caught.value.hint)


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "t"
    (table / "base_0000002").mkdir(parents=True)
    (table / "base_0000002" / "part").symlink_to("/etc/hostname")
    with pytest.raises(NotAllowedError):
        PathGate((tmp_path,)).check_links(str(table))


def test_files_may_go_while_they_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer deletes the generation that its own hides once it has no readers; one may have come since."""
    table = tmp_path / "t"
    for number in (1, 2):
        (table / f"base_000000{number}").mkdir(parents=True)
    (table / "base_0000002" / "part").symlink_to("/etc/hostname")
    scan = os.scandir

    def removing(path: object) -> object:
        if isinstance(path, str) and path.endswith("base_0000001"):
            shutil.rmtree(path)
        return scan(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", removing)
    with pytest.raises(NotAllowedError):
        PathGate((tmp_path,)).check_links(str(table))
    assert not (table / "base_0000001").exists()


def test_files_come_and_go_beside_the_check(tmp_path: Path) -> None:
    table, ended = tmp_path / "t", threading.Event()
    table.mkdir()

    def write() -> None:
        for number in range(300):
            folder = table / f"base_{number}" / "inner"
            folder.mkdir(parents=True)
            (folder / "part").touch()
            shutil.rmtree(folder.parent)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        PathGate((tmp_path,)).check_links(str(table))
    writer.join()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    table = tmp_path / "t"
    table.mkdir(mode=0)
    try:
        with pytest.raises(SourceError, match="cannot be read"):
            PathGate((tmp_path,)).check_links(str(table))
    finally:
        table.chmod(0o700)
