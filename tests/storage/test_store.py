"""The contract of `Store`, kept by every kind of it."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base.errors import ExecutionError, SourceError, StorageRefusedError, UnsupportedError
from sharkpy.sources.storage.local_store import LOCAL
from sharkpy.sources.storage.store import ObjectFacts, Store
from tests.storage.files_server import FilesServer
from tests.storage.places import (
    BUCKET,
    QUICK,
    Place,
    azure_place,
    gcs_place,
    hdfs_place,
    http_store,
    memory_store,
    s3_access,
    s3_store,
)
from tests.storage.s3_servers import S3Server, s3_client

NAMES = (
    *("a b.parquet", "ds=2026%3A11/x", "a#b", "q?u=1&v", "100%", "plus+minus", "käse/日本", "~tilde", "quote'\"s"),
    *("a.b-c_d", "(x)[y]{z}", "back`tick^", "@at:colon;semi,comma", "UPPER/lower", "deep/er/and/deep/er/still"),
)


def place_of_kind(request: pytest.FixtureRequest, kind: str, folder: str) -> Place:
    if kind == "memory":
        return Place(memory_store(), folder)
    if kind == "local":
        return Place(LOCAL, str(request.getfixturevalue("tmp_path") / "place"), has_tags=False)
    server = request.getfixturevalue(kind)
    if kind == "hdfs":
        return hdfs_place(server.hdfs)
    if kind == "gcs":
        return gcs_place(server.address)
    if kind == "azurite":
        return azure_place(server.address)
    return Place(s3_store(server.address, is_sorted=kind == "moto"), folder)


@pytest.fixture(
    params=["moto", "seaweed", "gcs", "azurite", "memory", "local", pytest.param("hdfs", marks=pytest.mark.slow)]
)
def place(request: pytest.FixtureRequest, folder: str) -> Place:
    return place_of_kind(request, request.param, folder)


def content_of(store: Store, facts: ObjectFacts) -> bytes:
    (content,) = store.read(facts, [(0, facts.size_bytes)])
    return bytes(content)


def names(place: Place, **bounds: str) -> list[str]:
    return [facts.path.removeprefix(f"{place.folder}/") for facts in place.store.list(place.folder, **bounds)]


@pytest.mark.variants(3)
def test_an_object_has_the_same_facts_everywhere(place: Place) -> None:
    path = place.path("t/x")
    facts = place.store.put(path, b"0123456789")
    assert (facts.path, facts.size_bytes) == (path, 10)
    assert facts.tag.startswith('"') if place.has_tags else facts.tag == ""
    assert abs(facts.modified_ns / 1e9 - time.time()) < 600
    assert place.store.stat(path) == facts
    assert list(place.store.list(place.folder)) == [facts]
    assert place.store.children(place.path("t")) == ([facts], [])


def test_there_is_nothing(place: Place) -> None:
    assert place.store.stat(place.path("none")) is None
    assert names(place) == []
    assert place.store.children(place.folder) == ([], [])
    message, sqlstate = place.deleted
    with pytest.raises(SourceError, match=f'none" {message}') as caught:
        list(place.store.read(ObjectFacts(place.path("none"), 5, 0, '"tag"'), [(0, 3)]))
    assert caught.value.sqlstate == sqlstate


def test_ranges_come_in_their_order(place: Place) -> None:
    content = os.urandom(100_000)
    facts = place.store.put(place.path("x"), content)
    ranges = [(99_990, 100_000), (0, 1), (5, 5), (0, 100_000), (50_000, 70_000), (1, 2), (0, 1)] * 3
    assert [bytes(view) for view in place.store.read(facts, ranges)] == [content[start:end] for start, end in ranges]


@pytest.mark.parametrize("content", [b"X123456789", b"other", b""])
def test_a_replaced_object_is_not_read(place: Place, content: bytes) -> None:
    facts = place.store.put(place.path("x"), b"0123456789")
    place.store.put(place.path("x"), content)
    for wanted in ((0, 10), (2, 4), (8, 10)):
        with pytest.raises(SourceError, match="was changed while it was being read") as caught:
            list(place.store.read(facts, [wanted]))
        assert caught.value.sqlstate == "58030"


def test_an_object_of_no_bytes(place: Place) -> None:
    facts = place.store.put(place.path("empty"), b"")
    assert facts.size_bytes == 0
    assert content_of(place.store, facts) == b""
    assert names(place) == ["empty"]


def test_names_are_taken_as_they_are(place: Place) -> None:
    wanted = [name for name in NAMES if not place.refused or place.refused not in name]
    for name in wanted:
        place.store.put(place.path(name), name.encode())
    found = {facts.path: facts for facts in place.store.list(place.folder)}
    assert sorted(found) == sorted(place.path(name) for name in wanted)
    for name in wanted:
        facts = found[place.path(name)]
        assert place.store.stat(facts.path) == facts
        assert content_of(place.store, facts) == name.encode()
        assert place.store.copy(facts, place.path(f"copy/{name}")).size_bytes == facts.size_bytes
    place.store.delete(found)
    assert sorted(names(place)) == sorted(f"copy/{name}" for name in wanted)


@pytest.mark.variants(3)
def test_a_large_file_is_put_in_parts_from_where_it_stands(place: Place, tmp_path: Path) -> None:
    content = os.urandom(3 * QUICK.part_bytes + 17)
    (tmp_path / "file").write_bytes(b"skipped" + content)
    with open(tmp_path / "file", "rb") as file:
        file.seek(len(b"skipped"))
        facts = place.store.put(place.path("large"), file)
    assert facts.size_bytes == len(content)
    assert content_of(place.store, facts) == content
    again = place.store.put(place.path("large"), content)
    assert content_of(place.store, again) == content
    assert content_of(place.store, place.store.put(place.path("small"), io.BytesIO(b"small"))) == b"small"


def test_a_name_is_taken_once(place: Place) -> None:
    assert place.store.put_new(place.path("n"), b"first")
    assert not place.store.put_new(place.path("n"), b"second")
    facts = place.store.stat(place.path("n"))
    assert facts is not None
    assert content_of(place.store, facts) == b"first"
    place.store.delete([facts.path])
    assert place.store.put_new(place.path("n"), b"third")


@pytest.mark.slow
def test_of_many_writers_one_takes_a_name(seaweed: S3Server, folder: str) -> None:
    """A writer that a busy server leaves without an answer knows nothing, and may be the one."""
    store = s3_store(seaweed.address)
    for turn in range(8):
        path = f"{folder}/{turn}"
        begin = threading.Barrier(16)

        def take(number: int, path: str = path, begin: threading.Barrier = begin) -> bool | None:
            begin.wait()
            try:
                return store.put_new(path, b"%d" % number)
            except ExecutionError:
                return None

        with ThreadPoolExecutor(16) as writers:
            taken = list(writers.map(take, range(16)))
        assert taken.count(True) == 1 or (True not in taken and None in taken)
        facts = store.stat(path)
        assert facts is not None
        assert taken[int(content_of(store, facts))] is (True if True in taken else None)


def test_a_folder_ends_at_its_slash(place: Place) -> None:
    for name in ("t/a", "t/b/c", "t/b/d/e", "t.x", "t2/a", "ta"):
        place.store.put(place.path(name), b"1")
    inside = Place(place.store, place.path("t"))
    assert sorted(names(inside)) == ["a", "b/c", "b/d/e"]
    objects, folders = place.store.children(place.path("t"))
    assert [facts.path for facts in objects] == [place.path("t/a")]
    assert list(folders) == [place.path("t/b")]
    objects, folders = place.store.children(place.folder)
    assert sorted(facts.path for facts in objects) == [place.path("t.x"), place.path("ta")]
    assert sorted(folders) == [place.path("t"), place.path("t2")]
    bucket = place.folder.rpartition("/")[0]
    assert place.folder in place.store.children(bucket)[1]


def test_lists_between_bounds_are_the_whole_list(place: Place) -> None:
    wanted = sorted(["a-b", "a.txt", "a/-", "a/b/c", "a/x", "a0", "ds=1/p", "ds=1/q", "ds=10/p", "ds=2/p", "z", "é"])
    for name in wanted:
        place.store.put(place.path(name), b"1")
    assert (names(place) if place.store.traits.is_sorted else sorted(names(place))) == wanted
    bounds = ["", *map(place.path, ("a-b", "a/b", "ds=1/p", "ds=10", "ds=10/p", "y")), ""]
    parts = [sorted(names(place, after=after, until=until)) for after, until in pairwise(bounds)]
    assert [name for part in parts for name in part] == wanted
    assert names(place, after=place.path("é")) == []
    assert names(place, until=place.path("A")) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["moto", "gcs", "memory", "local"])
def test_more_than_a_page(request: pytest.FixtureRequest, kind: str, folder: str) -> None:
    place = place_of_kind(request, kind, folder)
    store, folder = place.store, place.folder
    wanted = [f"{folder}/{number:05d}" for number in range(1_050)]
    with ThreadPoolExecutor(8) as writers:
        assert all(writers.map(lambda path: store.put_new(path, b"1"), wanted))
    assert [facts.path for facts in store.list(folder)] == wanted
    assert len(store.children(folder)[0]) == len(wanted)
    # The list is read while the objects that it has returned are deleted.
    store.delete(facts.path for facts in store.list(folder))
    assert list(store.list(folder)) == []


def test_missing_ones_are_deleted_too(place: Place) -> None:
    for name in "abc":
        place.store.put(place.path(name), b"1")
    place.store.delete([place.path("none"), place.path("a"), place.path("no/ne"), place.path("c")])
    assert names(place) == ["b"]
    place.store.delete([])
    place.store.delete([place.path("none")])


WITH_FOLDERS = ["local", pytest.param("hdfs", marks=pytest.mark.slow)]


@pytest.mark.parametrize("kind", WITH_FOLDERS)
def test_empty_folders_are_deleted_by_name(request: pytest.FixtureRequest, kind: str, folder: str) -> None:
    place = place_of_kind(request, kind, folder)
    place.store.put(place.path("t/x"), b"1")
    place.store.delete([place.path("t"), place.path("t/x/below")])
    assert names(place) == ["t/x"]
    place.store.delete([place.path("t/x")])
    assert place.store.has_folder(place.path("t"))
    assert place.store.children(place.folder) == ([], [place.path("t")])
    place.store.delete([place.path("t")])
    assert not place.store.has_folder(place.path("t"))


@pytest.mark.parametrize("kind", WITH_FOLDERS)
def test_a_folder_is_no_object(request: pytest.FixtureRequest, kind: str, folder: str) -> None:
    place = place_of_kind(request, kind, folder)
    place.store.put(place.path("t/x"), b"1")
    assert place.store.stat(place.path("t")) is None
    assert list(place.store.list(place.path("t/x"))) == []
    assert place.store.children(place.path("t/x")) == ([], [])
    assert not place.store.has_folder(place.path("t/x"))
    for path in ("t/x/y", "t"):
        with pytest.raises(SourceError, match=f'{path}"'):
            place.store.put(place.path(path), b"1")


@pytest.mark.variants(3)
def test_a_copy(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    content = os.urandom(2 * QUICK.part_bytes + 1)
    source = place.store.put(place.path("from"), content)
    place.store.put(place.path("to"), b"old")
    copied = place.store.copy(source, place.path("to"))
    assert content_of(place.store, copied) == content
    monkeypatch.setattr("sharkpy.sources.storage.bucket_store._MOST_COPIED", 1_000)
    parts = place.store.copy(source, place.path("in/parts"))
    assert content_of(place.store, parts) == content
    with pytest.raises(SourceError, match='none" does not exist'):
        place.store.copy(ObjectFacts(place.path("none"), 3, 0, '"tag"'), place.path("to"))


def test_marks_of_folders(moto: S3Server, s3: Any, folder: str) -> None:
    store = s3_store(moto.address)
    key = folder.removeprefix(f"s3://{BUCKET}/")
    for name in ("", "ds=1/", "ds=1/x", "none/"):
        s3.put_object(Bucket=BUCKET, Key=f"{key}/{name}", Body=b"1" if name.endswith("x") else b"")
    found = list(store.list(folder))
    assert [facts.path for facts in found if facts.size_bytes] == [f"{folder}/ds=1/x"]
    assert folder not in {facts.path for facts in found}
    objects, folders = store.children(folder)
    assert [facts.path for facts in objects if facts.size_bytes] == []
    assert list(folders) == [f"{folder}/ds=1", f"{folder}/none"]


def test_a_name_with_an_empty_part(moto: S3Server, s3: Any, folder: str) -> None:
    store = s3_store(moto.address)
    key = folder.removeprefix(f"s3://{BUCKET}/")
    s3.put_object(Bucket=BUCKET, Key=f"{key}/a//b", Body=b"1")
    with pytest.raises(UnsupportedError, match=r"empty parts .*/a//b"):
        list(store.list(folder))


@pytest.mark.parametrize("kind", ["moto", "seaweed"])
def test_unfinished_uploads_are_removed(request: pytest.FixtureRequest, kind: str, folder: str) -> None:
    server: S3Server = request.getfixturevalue(kind)
    store = s3_store(server.address)
    client = s3_client(server.address)
    prefix = folder.removeprefix(f"s3://{BUCKET}/")
    for name in ("t/x", "t/a b&c", "t2/x"):
        upload = client.create_multipart_upload(Bucket=BUCKET, Key=f"{prefix}/{name}")
        part = {"Key": f"{prefix}/{name}", "UploadId": upload["UploadId"], "PartNumber": 1, "Body": b"1"}
        client.upload_part(Bucket=BUCKET, **part)
    store.put(f"{folder}/t/there", b"1")
    assert store.remove_uploads(f"{folder}/t", 0) == 0
    assert store.remove_uploads(f"{folder}/t", time.time_ns() + 10**12) == 2
    assert store.remove_uploads(f"{folder}/t", time.time_ns() + 10**12) == 0
    left = client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads", [])
    assert [one["Key"] for one in left] == [f"{prefix}/t2/x"]
    assert store.stat(f"{folder}/t/there") is not None
    client.close()


def test_other_keys_are_refused(seaweed: S3Server, folder: str) -> None:
    for access in (s3_access(seaweed.address, "nobody"), s3_access(seaweed.address, secret="wrong")):
        with pytest.raises(StorageRefusedError, match="does not accept keys of the tests") as caught:
            list(s3_store(seaweed.address, access=access).list(folder))
        assert caught.value.sqlstate == "28000"


@pytest.mark.variants(3)
def test_calls_of_several_threads(place: Place) -> None:
    content = os.urandom(1000)
    facts = place.store.put(place.path("x"), content)

    def read(number: int) -> bytes:
        (view,) = place.store.read(facts, [(number, number + 500)])
        return bytes(view)

    with ThreadPoolExecutor(16) as readers:
        assert list(readers.map(read, range(200))) == [content[at : at + 500] for at in range(200)]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[FilesServer]:
    server = FilesServer(tmp_path)
    yield server
    server.close()


class TestHttp:
    def test_a_file_is_read(self, files: FilesServer) -> None:
        content = os.urandom(10_000)
        files.put("a b/x%41.bin", content)
        store = http_store(files.address)
        facts = store.stat(f"http://{files.address}/a%20b/x%2541.bin")
        assert facts is not None
        assert facts.size_bytes == len(content)
        ranges = [(0, 10), (9_000, 10_000), (0, 10_000)]
        assert [bytes(view) for view in store.read(facts, ranges)] == [content[start:end] for start, end in ranges]
        assert store.stat(f"http://{files.address}/none") is None

    @pytest.mark.parametrize("has_tags", [True, False])
    def test_a_changed_file_is_not_read(self, files: FilesServer, has_tags: bool) -> None:
        files.has_tags = has_tags
        files.put("x", b"0123456789")
        store = http_store(files.address)
        facts = store.stat(f"http://{files.address}/x")
        assert facts is not None
        assert bool(facts.tag) == has_tags
        files.put("x", b"abcdefghij" if has_tags else b"longer than before")
        with pytest.raises(SourceError, match="was changed"):
            list(store.read(facts, [(2, 4)]))

    def test_a_server_without_ranges(self, files: FilesServer) -> None:
        files.has_ranges = False
        files.put("x", b"0123456789")
        store = http_store(files.address)
        facts = store.stat(f"http://{files.address}/x")
        assert facts is not None
        assert content_of(store, facts) == b"0123456789"
        with pytest.raises(UnsupportedError, match="reading parts"):
            list(store.read(facts, [(2, 4)]))

    def test_it_only_reads(self, files: FilesServer) -> None:
        root = f"http://{files.address}"
        store = http_store(files.address)
        facts = ObjectFacts(f"{root}/x", 1, 0)
        refused = (
            lambda: list(store.list(root)),
            lambda: store.children(root),
            lambda: store.put(facts.path, b"1"),
            lambda: store.put_new(facts.path, b"1"),
            lambda: store.copy(facts, facts.path),
            lambda: store.delete([facts.path]),
            lambda: store.stat(f"{facts.path}?a=1"),
        )
        for call in refused:
            with pytest.raises(UnsupportedError):
                call()
        assert not any((store.traits.writes, store.traits.lists, store.traits.puts_new))
