"""Failures of Google's storage and of Azure's, their lists, and marks of folders."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-gs is not installed")

from sharkpy.base.errors import (
    ConfigurationError,
    ExecutionError,
    ResourceError,
    SharkError,
    SourceError,
    StorageRefusedError,
)
from sharkpy.sources.storage.bucket_store import BucketStore
from sharkpy.sources.storage.object_reader import ObjectReader
from sharkpy.sources.storage.store import ObjectFacts, Store, StoreTraits
from sharkpy.sources.storage.stores import store_of
from tests.ports import free_ports
from tests.storage.azurite import ACCOUNT, AzuriteServer, container_signature
from tests.storage.fault_proxy import FaultProxy, Rule, fault_proxy
from tests.storage.gcs_server import GcsServer
from tests.storage.loopback import LoopbackServer, QuietHandler
from tests.storage.places import BUCKET, QUICK, Place, access_to, azure_place, ended, gcs_place
from tests.waiting import allowed, until

PART = 5 << 20
SORTED = StoreTraits(writes=True, lists=True, puts_new=True, is_sorted=True)


@pytest.fixture(params=["gcs", "azurite"])
def proxy(request: pytest.FixtureRequest) -> Iterator[FaultProxy]:
    with fault_proxy(request.getfixturevalue(request.param).address) as proxy:
        yield proxy


@pytest.fixture
def kind(request: pytest.FixtureRequest, proxy: FaultProxy) -> str:
    return str(request.node.callspec.params["proxy"])


@pytest.fixture
def place(proxy: FaultProxy, kind: str) -> Place:
    return gcs_place(proxy.address) if kind == "gcs" else azure_place(proxy.address)


def read(place: Place, facts: ObjectFacts, start: int, end: int) -> bytes:
    (content,) = place.store.read(facts, [(start, end)])
    return bytes(content)


GCS_REFUSALS = (
    (404, "NoSuchKey", SourceError, "58P01", "does not exist"),
    (404, "NoSuchBucket", SourceError, "58P01", f'there is no bucket "{BUCKET}"'),
    (403, "AccessDenied", StorageRefusedError, "42501", "refuses access"),
    (403, "UserProjectAccountProblem", StorageRefusedError, "42501", "refuses access"),
    (401, "AuthenticationRequired", StorageRefusedError, "28000", "does not accept"),
    (400, "InvalidToken", StorageRefusedError, "28000", "does not accept"),
    (429, "", ExecutionError, "57P03", "too busy .*after 3 tries"),
    (503, "ServiceUnavailable", ExecutionError, "57P03", "too busy .*after 3 tries"),
    (500, "InternalError", ExecutionError, "08006", "not answered in full"),
    (412, "PreconditionFailed", SourceError, "58030", "was changed"),
    (301, "", ConfigurationError, "F0000", "sends requests elsewhere.*fs.gs.storage.root.url"),
)
AZURE_REFUSALS = (
    (404, "BlobNotFound", SourceError, "58P01", "does not exist"),
    (404, "ContainerNotFound", SourceError, "58P01", f'there is no bucket "{BUCKET}"'),
    (409, "ContainerBeingDeleted", SourceError, "58P01", f'there is no bucket "{BUCKET}"'),
    (403, "AuthorizationFailure", StorageRefusedError, "42501", "refuses access"),
    (403, "AuthorizationPermissionMismatch", StorageRefusedError, "42501", "refuses access"),
    (403, "AccountIsDisabled", StorageRefusedError, "42501", "refuses access"),
    (403, "AuthenticationFailed", StorageRefusedError, "28000", "does not accept"),
    (401, "InvalidAuthenticationInfo", StorageRefusedError, "28000", "does not accept"),
    (403, "KeyBasedAuthenticationNotPermitted", StorageRefusedError, "28000", "does not accept"),
    (503, "ServerBusy", ExecutionError, "57P03", "too busy .*after 3 tries"),
    (500, "OperationTimedOut", ExecutionError, "08006", "not answered in full"),
    (412, "ConditionNotMet", SourceError, "58030", "was changed"),
    (412, "LeaseIdMissing", SourceError, "58030", "cannot be read or written .*LeaseIdMissing"),
    (416, "InvalidRange", SourceError, "58030", "was changed"),
    (409, "BlobArchived", SourceError, "58030", "cannot be read or written .*BlobArchived"),
    (507, "", ResourceError, "53100", "no room"),
    (307, "", ConfigurationError, "F0000", "sends requests elsewhere.*fs.azure.storage.endpoint"),
)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("proxy", "refusal"),
    [*(("gcs", one) for one in GCS_REFUSALS), *(("azurite", one) for one in AZURE_REFUSALS)],
    indirect=["proxy"],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]}-{value[1]}",
)
def test_a_refusal_has_its_error(
    proxy: FaultProxy, place: Place, refusal: tuple[int, str, type[SharkError], str, str]
) -> None:
    status, code, kind, sqlstate, message = refusal
    facts = place.store.put(place.path("x"), b"0123456789")
    proxy.rules.append(Rule("GET", status=status, code=code))
    with pytest.raises(SharkError, match=message) as caught:
        read(place, facts, 2, 4)
    assert (type(caught.value), caught.value.sqlstate) == (kind, sqlstate)


def test_a_busy_server_is_asked_again(proxy: FaultProxy, place: Place) -> None:
    facts = place.store.put(place.path("x"), b"0123456789")
    for method in ("GET", "PUT", "HEAD"):
        proxy.rules.append(Rule(method, times=2, status=503))
    assert read(place, facts, 2, 4) == b"23"
    assert place.store.put(place.path("y"), b"1").size_bytes == 1


def test_a_cut_answer_is_continued(proxy: FaultProxy, place: Place) -> None:
    content = os.urandom(2 << 20)
    facts = place.store.put(place.path("x"), content)
    proxy.rules.append(Rule("GET", times=1, cut_answer=1_500_000))
    before = proxy.sent
    assert read(place, facts, 0, len(content)) == content
    assert proxy.sent - before <= 1.1 * len(content)


def test_an_object_that_changes_while_an_answer_is_continued(proxy: FaultProxy, place: Place) -> None:
    facts = place.store.put(place.path("x"), bytes(1_000))
    proxy.rules.append(Rule("GET", times=1, cut_answer=10))
    change = partial(place.store.put, facts.path, b"1" * 1_000)
    proxy.rules.append(Rule("GET", skip=1, times=1, before=change))
    with pytest.raises(SourceError, match="was changed"):
        read(place, facts, 0, 1_000)


def test_an_answer_of_the_wrong_length(proxy: FaultProxy, place: Place) -> None:
    facts = place.store.put(place.path("x"), bytes(1_000))
    proxy.rules.append(Rule("GET", shorter=3))
    with pytest.raises(SourceError, match=r"gave 97 bytes of .* instead of 100"):
        read(place, facts, 0, 100)


def test_a_put_whose_answer_is_lost(proxy: FaultProxy, place: Place) -> None:
    """The store may report the name as taken, by the first try itself."""
    proxy.rules.append(Rule("PUT", times=1, no_answer=True))
    with suppress(ExecutionError):
        assert not place.store.put_new(place.path("x"), b"mine")
    facts = place.store.stat(place.path("x"))
    assert facts is not None
    assert read(place, facts, 0, facts.size_bytes) == b"mine"


def parts(kind: str) -> str:
    return "partNumber=[3-9]" if kind == "gcs" else "comp=block&"


def test_an_upload_that_fails_leaves_nothing(proxy: FaultProxy, place: Place, kind: str, gcs: GcsServer) -> None:
    """In Azure, invisible blocks stay for a week."""
    proxy.rules.append(Rule("PUT", parts(kind), skip=2, status=500))
    with pytest.raises(ExecutionError) as caught:
        place.store.put(place.path("x"), io.BytesIO(bytes(6 * PART)))
    assert caught.value.sqlstate == "08006"
    assert place.store.stat(place.path("x")) is None
    assert list(place.store.list(place.folder)) == []
    assert uploads(gcs, place) == []


def uploads(gcs: GcsServer, place: Place) -> list[str]:
    prefix = place.folder.rpartition("/")[2]
    return [one.key for one in list(gcs.uploads.values()) if one.key.startswith(prefix)]


def test_an_upload_that_is_given_up_leaves_nothing(proxy: FaultProxy, place: Place, kind: str, gcs: GcsServer) -> None:
    proxy.rules.append(Rule("PUT", parts(kind), delay=1))
    call = partial(place.store.put, place.path("x"), io.BytesIO(bytes(12 * PART)))
    assert ended(call, lambda: proxy.count("PUT", parts(kind))) < allowed(0.3)
    until(lambda: uploads(gcs, place) == [])
    assert place.store.stat(place.path("x")) is None


def test_uploads_that_nobody_finished_are_removed(gcs: GcsServer) -> None:
    place = gcs_place(gcs.address)
    prefix = place.folder.rpartition("/")[2]
    for name in ("t/x", "t/a b&c", "t2/x"):
        gcs.begin(f"{prefix}/{name}")
    assert place.store.remove_uploads(place.path("t"), 0) == 0
    assert place.store.remove_uploads(place.path("t"), 1 << 62) == 2
    assert uploads(gcs, place) == [f"{prefix}/t2/x"]


def test_blocks_that_nobody_put_together(azurite: AzuriteServer) -> None:
    """Such blocks are not a blob, and do not disturb writes."""
    place = azure_place(azurite.address)
    name = place.folder.rpartition("/")[2]
    azurite.put_block(f"/{BUCKET}/{name}/x", b"1")
    assert list(place.store.list(place.folder)) == []
    assert place.store.stat(place.path("x")) is None
    place.store.delete([place.path("x")])
    assert place.store.remove_uploads(place.folder, 1 << 62) == 0
    assert place.store.put_new(place.path("x"), b"1")


def test_nobody_listens(kind: str) -> None:
    (port,) = free_ports(1)
    place = gcs_place(f"127.0.0.1:{port}") if kind == "gcs" else azure_place(f"127.0.0.1:{port}")
    with pytest.raises(ExecutionError, match=r"cannot be reached .*nobody listens there") as caught:
        place.store.stat(place.path("x"))
    assert caught.value.sqlstate == "08001"


def test_a_call_ends_with_its_statement(proxy: FaultProxy, place: Place) -> None:
    proxy.rules.append(Rule(delay=60))
    for call in (place.store.list, lambda folder: place.store.put_new(f"{folder}/x", b"1")):
        before = proxy.count()
        assert ended(lambda call=call: list(call(place.folder)), lambda n=before: proxy.count() > n) < allowed(0.3)


# Lists


@pytest.mark.variants(3)
@pytest.mark.parametrize("empty_pages", [False, True])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_pages_of_google(empty_pages: bool, is_sorted: bool) -> None:
    """A page may be empty, and is not the last one then."""
    server = GcsServer(BUCKET)
    server.page, server.empty_pages = 3, empty_pages
    try:
        place = gcs_place(server.address)
        store: Store = place.store
        assert isinstance(store, ObjectReader)
        store = BucketStore(store.client, store.name, QUICK, SORTED) if is_sorted else store
        wanted = sorted([*(place.path(f"{number}") for number in range(8)), place.path("a/b"), place.path("a/c")])
        for path in wanted:
            store.put(path, b"1")
        assert [facts.path for facts in store.list(place.folder)] == wanted
        between = [facts.path for facts in store.list(place.folder, after=place.path("2"), until=place.path("a/b"))]
        assert between == wanted[3:9]
        objects, folders = store.children(place.folder)
        assert sorted(facts.path for facts in objects) == wanted[:8]
        assert list(folders) == [place.path("a")]
    finally:
        server.close()


def test_pages_of_azure(azurite: AzuriteServer) -> None:
    with fault_proxy(azurite.address) as proxy:
        # A signature does not depend on other parameters, nor on its position among them.
        options = {
            "fs.azure.storage.endpoint": f"http://{proxy.address}/{ACCOUNT}",
            "fs.azure.sas.fixed.token": container_signature(BUCKET),
        }
        root = f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net"
        place = Place(store_of(root, access_to(options), QUICK), f"{root}/{uuid4().hex}")
        wanted = [place.path(f"{number}/x") for number in range(8)]
        for path in wanted:
            place.store.put(path, b"1")
        by_three = Rule("GET", "comp=list", change=lambda path: f"{path}&maxresults=3")
        proxy.rules.append(by_three)
        assert [facts.path for facts in place.store.list(place.folder)] == wanted
        assert by_three.met == 3
        assert list(place.store.children(place.folder)[1]) == [path.removesuffix("/x") for path in wanted]
        assert by_three.met == 6


class Folders(QuietHandler):
    """A container with a hierarchical namespace: its lists have folders, and so do its answers to HEAD."""

    owner: list[str]

    def do_GET(self) -> None:
        self.owner.append(self.path)
        if "comp=list" not in self.path:
            told = {"ETag": '"0x1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
            kind = "file" if self.path.endswith("/x") else "directory"
            self.answer(200, b"1" if kind == "file" else b"", {**told, "x-ms-resource-type": kind})
            return
        is_first = "marker=" not in self.path
        blobs = [("t/d", 0, "directory"), ("t/d/x", 1, "file")] if not is_first else []
        text = "".join(
            f"<Blob><Name>{name}</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified>"
            f"<Etag>0x1</Etag><ResourceType>{kind}</ResourceType><Content-Length>{size}</Content-Length>"
            "<Content-Type>application/octet-stream</Content-Type></Properties></Blob>"
            for name, size, kind in blobs
        )
        marker = "<NextMarker>2</NextMarker>" if is_first else "<NextMarker />"
        self.answer(200, f"<EnumerationResults><Blobs>{text}</Blobs>{marker}</EnumerationResults>".encode(), {})


def test_folders_of_azure_are_no_objects() -> None:
    asked: list[str] = []
    server = LoopbackServer(Folders, asked)
    try:
        place = replace(azure_place(server.address), folder=f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net/t")
        assert [(facts.path, facts.size_bytes) for facts in place.store.list(place.folder)] == [(place.path("d/x"), 1)]
        assert len(asked) == 2
        assert place.store.stat(place.path("d")) is None
        assert place.store.stat(place.path("d/x")) is not None
    finally:
        server.close()


def test_marks_of_folders(gcs: GcsServer, azurite: AzuriteServer) -> None:
    """Objects of no bytes, as the console of Google leaves them, and Hadoop in a container without folders."""
    google, azure = gcs_place(gcs.address), azure_place(azurite.address)
    name = google.folder.rpartition("/")[2]
    for key in ("", "d/", "d/x", "none/"):
        gcs.put(f"{name}/{key}", b"1" if key.endswith("x") else b"")
    key = azure.folder.rpartition("/")[2]
    for mark in ("d", "none"):
        azurite.put(f"/{BUCKET}/{key}/{mark}", b"", hdi_isfolder="true")
    azure.store.put(azure.path("d/x"), b"1")
    for place in (google, azure):
        found = list(place.store.list(place.folder))
        assert [facts.path for facts in found if facts.size_bytes] == [place.path("d/x")]
        assert place.folder not in {facts.path for facts in found}
        objects, folders = place.store.children(place.folder)
        assert [facts for facts in objects if facts.size_bytes] == []
        assert place.path("d") in folders


def test_deletes_that_are_refused(azurite: AzuriteServer) -> None:
    """The answer to many deletes has the status of success, and contains the failed deletes."""
    options = {"fs.azure.storage.endpoint": azurite.endpoint, "fs.azure.sas.fixed.token": container_signature(BUCKET)}
    root = f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net"
    folder = f"{root}/{uuid4().hex}"
    store_of(root, access_to(options), QUICK).put(f"{folder}/x", b"1")
    options["fs.azure.sas.fixed.token"] = container_signature(BUCKET, "rwl")
    store = store_of(root, access_to(options), QUICK)
    with pytest.raises(StorageRefusedError, match="refuses access") as caught:
        store.delete([f"{folder}/x"])
    assert caught.value.sqlstate == "42501"
    assert store.stat(f"{folder}/x") is not None


def test_an_empty_file_of_google_in_parts(gcs: GcsServer) -> None:
    place = gcs_place(gcs.address)
    facts = place.store.put(place.path("x"), io.BytesIO(b""))
    assert (facts.size_bytes, facts.tag != "") == (0, True)


def test_one_content_has_one_tag_and_its_generation_moves(gcs: GcsServer) -> None:
    """Google's tag is a digest: an object that is put again is the same, if its content is."""
    place = gcs_place(gcs.address)
    first = place.store.put(place.path("x"), b"0123456789")
    place.store.put(place.path("x"), b"0123456789")
    assert read(place, first, 2, 4) == b"23"


def test_a_server_that_sends_requests_elsewhere(proxy: FaultProxy, place: Place) -> None:
    inside: list[str] = []
    server = LoopbackServer(Folders, inside)
    try:
        to = f"http://localhost:{server.address.partition(':')[2]}/latest/meta-data"
        proxy.rules.append(Rule(status=307, headers={"Location": to}))
        for call in (
            lambda: place.store.stat(place.path("x")),
            lambda: list(place.store.list(place.folder)),
            lambda: place.store.put(place.path("x"), b"1"),
            lambda: place.store.delete([place.path("x")]),
        ):
            with pytest.raises(SharkError):
                call()
        if place.folder.startswith("gs:"):
            with pytest.raises(SharkError):
                place.store.remove_uploads(place.folder, 0)
        assert inside == []
    finally:
        server.close()
