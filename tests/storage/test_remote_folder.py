"""Folders in buckets that are listed: manifests of earlier releases, what they cost, and staged files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base.errors import SourceError, StorageRefusedError, UnsupportedError
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.sources.folders.manifests import Manifest, ManifestCache, decode_manifest
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file
from sharkpy.sources.storage.store import ObjectFacts
from tests.catalog.test_wanted_files import Names
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.old_generations import put_generation
from tests.storage.places import memory_store, s3_store
from tests.storage.s3_servers import S3Server

HOME = "s3://b/t"


def home(address: str, folder: str, *, is_sorted: bool = False) -> RemoteFolder:
    return RemoteFolder(folder, s3_store(address, is_sorted=is_sorted), uuid4().hex)


def add(folder: RemoteFolder, name: str, text: str) -> None:
    facts = folder.store.put(f"{folder.path}/_files/{uuid4().hex}/part-0", text.encode())
    put_generation(folder.store, folder.path, name, [facts])


def texts(folder: RemoteFolder, files: Iterable[DataFile]) -> list[str]:
    """First letters of files."""
    return [bytes(next(folder.store.read(object_of_file(one), [(0, 1)]))).decode() for one in files]


@pytest.mark.parametrize("is_sorted", [True, False])
def test_generations_in_a_bucket(moto: S3Server, folder: str, is_sorted: bool) -> None:
    one = home(moto.address, folder, is_sorted=is_sorted)
    one.store.put(f"{folder}/Plain", b"p")
    one.store.put(f"{folder}/sub/plain", b"q")
    for number, text in enumerate("abc", 1):
        add(one, f"delta_000000{number}", text)
    assert texts(one, one.files()) == ["p", "q", "a", "b", "c"]
    add(one, "base_0000004", "d")
    add(one, "delta_0000005", "e")
    assert texts(one, one.files()) == ["d", "e"]
    assert texts(one, one.files(lambda: 3)) == ["p", "q", "a", "b", "c"]
    one.remove_beyond(4)
    assert texts(one, one.files()) == ["d"]


def test_a_small_folder_takes_one_list_and_manifests_are_read_once(proxy: FaultProxy, folder: str) -> None:
    one = home(proxy.address, folder, is_sorted=True)
    for number, text in enumerate("abc", 1):
        add(one, f"delta_000000{number}", text)
    one.files()
    proxy.seen.clear()
    assert texts(one, one.files()) == ["a", "b", "c"]
    assert (proxy.count("GET", r"list-type"), proxy.count("GET", "_generations/")) == (2, 0)


def test_files_that_nobody_reported_are_not_staged(moto: S3Server, folder: str) -> None:
    one = home(moto.address, folder)
    staging = one.make_staging(one.new_staging())
    facts = one.store.put(f"{staging}/part-0", b"a")
    STAGED.report(staging, [DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag)])
    one.store.put(f"{staging}/part-0-of-a-task-that-was-lost", b"x")
    assert texts(one, one.staged_files(staging)) == ["a"]
    one.discard_staging(staging)
    assert list(one.store.list(staging)) == []


@pytest.mark.parametrize("is_placed", [True, False])
def test_what_a_dead_process_has_staged_goes_unless_it_counts(moto: S3Server, folder: str, is_placed: bool) -> None:
    one = home(moto.address, folder)
    staging = one.new_staging()
    part = one.staged_subfolder(staging, "day=1/hour=2")
    facts = one.store.put(f"{part}/part-0", b"a")
    one.store.put(f"{staging}/day=2/part-0", b"b")
    partition = RemoteFolder(f"{folder}/day=1/hour=2", one.store, one.access_id)
    if is_placed:
        put_generation(one.store, partition.path, "delta_0000001", [facts])
    one.discard_staging(staging)
    assert [facts.path for facts in one.store.list(staging)] == [facts.path] * is_placed
    assert texts(partition, partition.partition_files(1, "day=1/hour=2")) == ["a"] * is_placed


def test_a_discard_that_fails_forgets_nothing(proxy: FaultProxy, folder: str) -> None:
    one = home(proxy.address, folder)
    staging = one.make_staging(one.new_staging())
    one.store.put(f"{staging}/part-0", b"a")
    proxy.rules.append(Rule("POST", "delete", status=403, code="AccessDenied"))
    proxy.rules.append(Rule("DELETE", status=403, code="AccessDenied"))
    with pytest.raises(StorageRefusedError):
        one.discard_staging(staging)
    proxy.rules.clear()
    assert STAGED.knows(staging)
    one.discard_staging(staging)
    assert list(one.store.list(staging)) == []


def test_files_that_a_stream_wants_stay(moto: S3Server, folder: str) -> None:
    one = home(moto.address, folder)
    staging = one.new_staging()
    wanted = one.store.put(f"{staging}/part-0", b"a").path
    one.store.put(f"{staging}/part-1", b"left")
    wants = Names([wanted])
    WANTED.add(wants)
    try:
        one.discard_staging(staging)
        assert [facts.path for facts in one.store.list(staging)] == [wanted]
    finally:
        WANTED.forget(wants)


def test_manifests_name_files_of_their_folder_alone() -> None:
    write = "0" * 32
    file = DataFile(f"s3://b/t/_files/{write}/day=1/x", 1, 2, tag='"3"')
    content = json.dumps(
        {"version": 1, "write": write, "files": [[f"../_files/{write}/day=1/x", 1, 2, '"3"']]}
    ).encode()
    assert decode_manifest(content, "s3://b/t/day=1/_generations/delta_0000001", "").files == (file,)
    for path in (
        "../u/x",
        "../../../_files/w/x",
        "_files/w/../../u/x",
        "x",
        "_files/x",
        "../_files",
        "",
        "/_files/w/x",
    ):
        body = json.dumps({"version": 1, "write": write, "files": [[path, 1, 2, ""]]}).encode()
        with pytest.raises(SourceError, match="is not a list of the files"):
            decode_manifest(body, f"{HOME}/_generations/delta_0000001", "")


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"{}", b'{"version":1,"write":"w","files":[["_files/w/x",-1,2,""]]}', b"[" * 5000]
)
def test_objects_that_are_no_manifests(content: bytes) -> None:
    with pytest.raises(SourceError, match="is not a list of the files"):
        decode_manifest(content, f"{HOME}/_generations/delta_0000001", "")


def test_manifests_of_later_releases() -> None:
    with pytest.raises(UnsupportedError, match="of version 2"):
        decode_manifest(b'{"version":2}', f"{HOME}/_generations/delta_0000001", "")


def test_the_least_used_manifests_are_forgotten() -> None:
    kept = ManifestCache(most_files=5)
    facts = [ObjectFacts(f"{HOME}/{number}", 1, 0, f'"{number}"') for number in range(3)]
    manifests = [Manifest("w", (DataFile(str(number), 1, 1),)) for number in range(3)]
    for one, manifest in zip(facts[:2], manifests, strict=False):
        kept.keep(one, "a", manifest)
    assert kept.find(facts[0], "a") is manifests[0]
    kept.keep(facts[2], "a", manifests[2])
    assert [kept.find(one, "a") for one in facts] == [manifests[0], None, manifests[2]]
    assert kept.find(facts[0], "of another access") is None


def test_stores_that_cannot_be_written() -> None:
    store = memory_store()
    store.traits = dataclasses.replace(memory_store().traits, writes=False)  # type: ignore[misc]
    with pytest.raises(UnsupportedError, match="is read-only"):
        RemoteFolder(HOME, store).make_staging(f"{HOME}/_files/w")
