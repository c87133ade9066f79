"""Folders of tables in buckets: manifests, what they cost, and what comes of requests that are not answered."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterable, Iterator
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base.cancellation import Cancellation, check_cancelled
from sharkpy.base.errors import CancelledError, ExecutionError, SourceError, StorageRefusedError, UnsupportedError
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.manifests import Manifest, ManifestCache, decode_manifest, encode_manifest
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file
from sharkpy.sources.storage.store import ObjectFacts
from tests.catalog.test_wanted_files import Names
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.places import memory_store, s3_store
from tests.storage.s3_servers import S3Server

HOME = "s3://b/t"


def home(address: str, folder: str, *, is_sorted: bool = False) -> RemoteFolder:
    return RemoteFolder(folder, s3_store(address, is_sorted=is_sorted), uuid4().hex)


def stage(folder: RemoteFolder, text: str, name: str = "part-0") -> str:
    """Stage a file as a task does that reports it."""
    staging = folder.make_staging(folder.new_staging())
    facts = folder.store.put(f"{staging}/{name}", text.encode())
    STAGED.report(staging, [DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag)])
    return staging


def add(folder: RemoteFolder, text: str, *, overwrite: bool = False) -> Placed:
    staging = stage(folder, text)
    placed = folder.place(staging, overwrite)
    folder.discard_staging(staging)
    assert placed is not None
    return placed


def texts(folder: RemoteFolder, files: Iterable[DataFile]) -> list[str]:
    """First letters of files."""
    return [bytes(next(folder.store.read(object_of_file(one), [(0, 1)]))).decode() for one in files]


@pytest.fixture(autouse=True)
def no_rules(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "proxy" in request.fixturenames:
        request.getfixturevalue("proxy").rules.clear()


@pytest.mark.parametrize("is_sorted", [True, False])
def test_generations_in_a_bucket(moto: S3Server, folder: str, is_sorted: bool) -> None:
    one = home(moto.address, folder, is_sorted=is_sorted)
    one.store.put(f"{folder}/Plain", b"p")
    one.store.put(f"{folder}/sub/plain", b"q")
    add(one, "a")
    taken = add(one, "b")
    add(one, "c")
    assert texts(one, one.files()) == ["p", "q", "a", "b", "c"]
    one.take_back(taken)
    assert texts(one, one.files()) == ["p", "q", "a", "c"]
    add(one, "d", overwrite=True)
    assert one.hidden() == {"Plain", "sub", "delta_0000001", "delta_0000003"}
    one.remove_hidden(keep_seconds=60)
    assert len(one.hidden()) == 4
    one.remove_hidden()
    assert texts(one, one.files()) == ["d"]
    assert sorted(facts.path.removeprefix(f"{folder}/").partition("/")[0] for facts in one.store.list(folder)) == [
        "_files",
        "_generations",
    ]


def test_a_small_folder_takes_one_list_and_manifests_are_read_once(proxy: FaultProxy, folder: str) -> None:
    one = home(proxy.address, folder, is_sorted=True)
    for text in "abc":
        add(one, text)
    one.files()
    proxy.seen.clear()
    assert texts(one, one.files()) == ["a", "b", "c"]
    assert (proxy.count("GET", r"list-type"), proxy.count("GET", "_generations/")) == (2, 0)


def test_files_that_nobody_reported_do_not_count(moto: S3Server, folder: str) -> None:
    one = home(moto.address, folder)
    staging = stage(one, "a")
    one.store.put(f"{staging}/part-0-of-a-task-that-was-lost", b"x")
    one.place(staging, overwrite=False)
    assert texts(one, one.files()) == ["a"]
    one.discard_staging(staging)
    assert [facts.path for facts in one.store.list(staging)] == [file.path for file in one.files()]


@pytest.mark.parametrize("is_placed", [True, False])
def test_what_a_dead_process_has_staged_goes_unless_it_counts(moto: S3Server, folder: str, is_placed: bool) -> None:
    one = home(moto.address, folder)
    staging = one.make_staging(one.new_staging())
    part = one.staged_subfolder(staging, "day=1/hour=2")
    one.store.put(f"{part}/part-0", b"a")
    one.store.put(f"{staging}/day=2/part-0", b"b")
    partition = RemoteFolder(f"{folder}/day=1/hour=2", one.store, one.access_id)
    if is_placed:
        partition.place_after(part, 0, overwrite=False)
    STAGED.end(staging)
    one.discard_staging(staging)
    left = [facts.path for facts in one.store.list(staging)]
    assert left == ([f"{part}/part-0"] if is_placed else [])
    assert texts(partition, partition.partition_files(1, "day=1/hour=2")) == ["a"] * is_placed


def test_what_others_put_beside_a_base_stays(moto: S3Server, folder: str) -> None:
    one = home(moto.address, folder)
    one.store.put(f"{folder}/early", b"e")
    add(one, "a", overwrite=True)
    time.sleep(1.1)
    one.store.put(f"{folder}/late", b"l")
    add(one, "b")
    one.remove_hidden()
    assert texts(one, one.files()) == ["a", "b"]
    assert [facts.path for facts in one.store.children(folder)[0]] == [f"{folder}/late"]
    time.sleep(1.1)
    add(one, "c", overwrite=True)
    one.remove_hidden()
    assert one.store.children(folder)[0] == []


def test_a_write_lists_plain_files_no_more_where_a_manifest_is_behind_them(proxy: FaultProxy, folder: str) -> None:
    """Other writers wait while a number is chosen."""
    one = home(proxy.address, folder)
    one.store.put(f"{folder}/plain", b"p")
    add(one, "a")
    staging = stage(one, "b")
    proxy.seen.clear()
    one.place(staging, overwrite=True)
    listed = [seen.path for seen in proxy.seen if "list-type" in seen.path]
    assert len(listed) == 1
    assert "_generations" in listed[0]
    assert texts(one, one.files()) == ["b"]


@pytest.mark.parametrize("lost", [1, 1000])
def test_an_answer_that_is_lost_is_looked_for(proxy: FaultProxy, folder: str, lost: int) -> None:
    one = home(proxy.address, folder)
    staging = stage(one, "a")
    proxy.rules.append(Rule("PUT", "_generations", no_answer=True, times=lost))
    assert one.place(staging, overwrite=False) == Placed(folder, "delta_0000001", staging.rpartition("/")[2])
    one.discard_staging(staging)
    assert texts(one, one.files()) == ["a"]


@pytest.mark.variants(2)
@pytest.mark.parametrize("is_done", [True, False])
def test_what_is_not_known_is_told_and_kept(proxy: FaultProxy, folder: str, is_done: bool) -> None:
    one = home(proxy.address, folder)
    staging = stage(one, "a")
    proxy.rules.append(Rule("PUT", "_generations", no_answer=is_done, cut_upload=None if is_done else 10))
    proxy.rules.append(Rule("HEAD|GET", "_generations/delta", status=503))
    with pytest.raises(ExecutionError, match="is not known") as caught:
        one.place(staging, overwrite=False)
    assert caught.value.sqlstate == "40003"
    assert caught.value.hint is not None
    assert "_generations/delta_0000001" in caught.value.hint
    proxy.rules.clear()
    one.discard_staging(staging)
    assert len(list(one.store.list(staging))) == 1
    assert texts(one, one.visible()[0][1] if is_done else []) == ["a"] * is_done


def test_a_refusal_is_no_doubt(proxy: FaultProxy, folder: str) -> None:
    one = home(proxy.address, folder)
    staging = stage(one, "a")
    proxy.rules.append(Rule("PUT", "_generations", status=403, code="AccessDenied"))
    with pytest.raises(StorageRefusedError):
        one.place(staging, overwrite=False)
    one.discard_staging(staging)
    proxy.rules.clear()
    assert not one.exists()


def test_a_name_that_another_takes_first(proxy: FaultProxy, folder: str) -> None:
    one = home(proxy.address, folder)
    proxy.rules.append(Rule("PUT", "delta_0000001", times=1, before=lambda: add(one, "other")))
    assert add(one, "a").number == 2
    assert texts(one, one.files()) == ["o", "a"]


def test_manifests_name_files_of_their_folder_alone() -> None:
    write = "0" * 32
    file = DataFile(f"s3://b/t/_files/{write}/day=1/x", 1, 2, tag='"3"')
    manifest = Manifest(write, (file,))
    content = encode_manifest(manifest, "s3a://b/t/day=1")
    assert json.loads(content)["files"] == [[f"../_files/{write}/day=1/x", 1, 2, '"3"']]
    assert decode_manifest(content, "s3://b/t/day=1/_generations/delta_0000001", "").files == (file,)
    for place in ("s3://b/u", "s3://c/t"):
        with pytest.raises(UnsupportedError, match="among those of the folder"):
            encode_manifest(manifest, place)
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
    one = RemoteFolder(HOME, store)
    for traits, sentence in (({"puts_new": False}, "no conditional writes"), ({"writes": False}, "is read-only")):
        store.traits = dataclasses.replace(memory_store().traits, **traits)  # type: ignore[misc]
        with pytest.raises(UnsupportedError, match=sentence):
            one.make_staging(one.new_staging())


def test_what_is_cancelled_is_taken_back_and_discarded(moto: S3Server, folder: str) -> None:
    one = home(moto.address, folder)
    staging, statement = stage(one, "a"), Cancellation()
    placed = one.place(staging, overwrite=False)
    assert placed is not None
    with statement.active():
        statement.cancel()
        one.take_back(placed)
        one.discard_staging(staging)
        with pytest.raises(CancelledError):
            check_cancelled()
    assert not one.exists()


def test_what_cannot_be_taken_back_is_told_and_kept(proxy: FaultProxy, folder: str) -> None:
    one = home(proxy.address, folder)
    staging = stage(one, "a")
    placed = one.place(staging, overwrite=False)
    assert placed is not None
    proxy.rules.append(Rule("POST|DELETE", status=503))
    with pytest.raises(ExecutionError, match="count is not known") as caught:
        one.take_back(placed)
    assert caught.value.sqlstate == "40003"
    proxy.rules.clear()
    one.discard_staging(staging)
    assert texts(one, one.files()) == ["a"]


def test_doubts_outlast_the_statement(proxy: FaultProxy, folder: str) -> None:
    """Nothing is deleted that may come to count."""
    one = home(proxy.address, folder)
    staging = stage(one, "a")
    proxy.rules.append(Rule("PUT", "_generations", cut_upload=10))
    with pytest.raises(ExecutionError, match="is not known"):
        one.place(staging, overwrite=False)
    proxy.rules.clear()
    for _ in range(2):
        one.discard_staging(staging)
        assert STAGED.knows(staging)
    assert len(list(one.store.list(staging))) == 1


def test_a_discard_that_fails_forgets_nothing(proxy: FaultProxy, folder: str) -> None:
    """The next try keeps committed files too, though their manifest is not in the place that the folder's name says."""
    one = home(proxy.address, folder)
    staging = one.make_staging(one.new_staging())
    part = one.staged_subfolder(staging, "day=1")
    facts = one.store.put(f"{part}/part-0", b"a")
    STAGED.report(part, [DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag)])
    partition = RemoteFolder(f"{folder}/apart", one.store, one.access_id)
    partition.place_after(part, 0, overwrite=False)
    proxy.rules[:] = [Rule(method="GET", status=403, code="AccessDenied")]
    with pytest.raises(StorageRefusedError):
        one.discard_staging(staging)
    proxy.rules.clear()
    one.discard_staging(staging)
    assert texts(partition, partition.partition_files(1, "day=1")) == ["a"]
    assert not STAGED.knows(staging)


def test_files_that_a_stream_wants_outlast_the_notes_of_their_write(moto: S3Server, folder: str) -> None:
    one = home(moto.address, folder)
    staging = stage(one, "a")
    one.place(staging, overwrite=False)
    (file,) = one.files()
    one.store.put(f"{staging}/part-1", b"left")
    wants = Names([file.path])
    WANTED.add(wants)
    try:
        add(one, "b", overwrite=True)
        one.remove_hidden()
        STAGED.end(staging)
        one.discard_staging(staging)
        assert [facts.path for facts in one.store.list(staging)] == [file.path]
    finally:
        WANTED.forget(wants)
