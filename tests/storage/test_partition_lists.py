"""Lists of Hive partitions in buckets: what they cost, what they find, and MSCK REPAIR TABLE."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import ResourceError, SourceError, StorageRefusedError
from sharkpy.sources import remote_files
from sharkpy.sources.remote_files import files_in_folders
from sharkpy.sources.storage import buckets
from sharkpy.sources.storage.meter import LISTED
from sharkpy.sources.storage.store import ObjectFacts, StoreTraits
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.listing_server import ListingServer
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server
from tests.waiting import allowed

HOME = "s3://memory/t"
SORTED = StoreTraits(writes=True, lists=True, puts_new=True, is_sorted=True)
UNSORTED = StoreTraits(writes=True, lists=True, puts_new=True, is_sorted=False)


class Listing:
    """A store of objects by name, which says what it was asked for and how much of that was taken."""

    def __init__(self, paths: Sequence[str], traits: StoreTraits) -> None:
        self.paths = paths
        self.traits = traits
        self.asked: list[str] = []
        self.given = 0

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:
        self.asked.append(folder)
        for path in self.paths:
            if path.startswith(f"{folder}/") and path > after and (not until or path <= until):
                self.given += 1
                yield ObjectFacts(path, 1, 0)


def listed(store: Listing, folders: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    with monkeypatch.context() as patch:
        patch.setattr(remote_files, "store_for_access", lambda *_: store)
        found = files_in_folders(dict.fromkeys(folders), "mine")
    return {folder: sorted(file.path for file in files) for folder, files in found.items() if files}


NAMES = st.sampled_from(["a", "a-b", "a.c", "a=1", "a=1 ", "a=1-2", "a=10", "a=2", "a=é", "b", "_x", "a=1/b=2"])
PATHS = st.lists(st.tuples(NAMES, st.sampled_from(["x", "y/z", "_h/x", ".h", "delta_0000001/p"])), max_size=40)


@pytest.mark.variants(3)
@pytest.mark.parametrize("traits", [SORTED, UNSORTED])
@pytest.mark.parametrize("most", [1, 3])
def test_they_have_the_files_of_the_folders(traits: StoreTraits, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "_LISTS", most)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(PATHS, st.sets(NAMES.filter(lambda name: "/" not in name), min_size=1), st.sampled_from([1, 2, 16, 1000]))
    def check(objects: list[tuple[str, str]], wanted: set[str], page: int) -> None:
        monkeypatch.setattr(remote_files, "_PAGE", page)
        paths = sorted({f"{HOME}/{folder}/{name}" for folder, name in objects})
        folders = [f"{HOME}/{name}" for name in sorted(wanted, reverse=True)]
        shown = [path for path in paths if "/_h/" not in path and "/." not in path]
        expected = {folder: [path for path in shown if path.startswith(f"{folder}/")] for folder in folders}
        found = listed(Listing(paths, traits), folders, monkeypatch)
        assert found == {folder: files for folder, files in expected.items() if files}

    check()


@pytest.mark.slow
def test_what_lies_between_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the store lists by name, a page of unwanted objects ends the list."""
    paths = [f"{HOME}/p={folder:04d}/{number:05d}" for folder in range(200) for number in range(2000)]
    store = Listing(paths, SORTED)
    folders = [f"{HOME}/p={folder:04d}" for folder in range(0, 200, 2)]
    found = listed(store, folders, monkeypatch)
    assert [len(files) for files in found.values()] == [2000] * 100
    assert store.given <= 100 * 2000 + 100 * 1000 + 100
    assert len(store.asked) <= 2 * len(folders)


def test_a_list_of_all_ends_where_lists_of_each_are_less(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [f"{HOME}/other/{number:06d}" for number in range(50_000)]
    paths += [f"{HOME}/p={folder:03d}/x" for folder in range(100)]
    store = Listing(paths, UNSORTED)
    folders = [f"{HOME}/p={folder:03d}" for folder in range(100)]
    assert listed(store, folders, monkeypatch) == {folder: [f"{folder}/x"] for folder in folders}
    assert store.given <= 100 * 1000 // 16 + 1 + 100
    assert sorted(store.asked) == sorted([HOME, *folders])


@pytest.mark.slow
@pytest.mark.parametrize("traits", [SORTED, UNSORTED])
def test_what_is_not_wanted_takes_no_memory(traits: StoreTraits, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [f"{HOME}/p={folder:04d}/_hidden/{number:05d}" for folder in range(4000) for number in range(50)]
    paths += [f"{HOME}/p={folder:04d}/x" for folder in range(4000)]
    store = Listing(sorted(paths), traits)
    folders = [f"{HOME}/p={folder:04d}" for folder in range(4000)]
    tracemalloc.start()
    try:
        found = listed(store, folders, monkeypatch)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(map(len, found.values())) == 4000
    assert most < 10 << 20


def test_a_list_ends_where_it_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Listing([f"{HOME}/p=1/{number:05d}" for number in range(50_000)], SORTED)
    statement, part = Cancellation(), Cancellation()
    LISTED.allow(statement, 3_500)
    with part.following(statement), part.active(), pytest.raises(ResourceError, match="more than 3,500 files"):
        listed(store, [f"{HOME}/p=1"], monkeypatch)
    assert store.given == 4_000


# Statements


@pytest.fixture(scope="module")
def session(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as session:
        give_keys(session, BUCKET, proxy.address)
        yield session


@pytest.fixture(autouse=True)
def nothing_seen(proxy: FaultProxy) -> None:
    proxy.rules.clear()
    proxy.seen.clear()


@pytest.fixture
def place() -> str:
    return f"s3a://{BUCKET}/{uuid4().hex}"


def give_keys(session: sharkpy.SharkContext, bucket: str, address: str) -> None:
    for name, value in (("access.key", ACCESS_KEY), ("secret.key", SECRET), ("endpoint", f"http://{address}")):
        session.sql(f"SET fs.s3a.bucket.{bucket}.{name}={value}").close()


def put(s3: Any, location: str, content: bytes = b"1\n") -> None:
    bucket, _, key = location.partition("://")[2].partition("/")
    s3.put_object(Bucket=bucket, Key=key, Body=content)


def table(session: sharkpy.SharkContext, location: str, columns: str = "p INT") -> str:
    made = f"t{uuid4().hex}"
    session.sql(f"CREATE EXTERNAL TABLE {made} (k INT) PARTITIONED BY ({columns}) LOCATION '{location}'").close()
    return made


def lists(proxy: FaultProxy) -> list[str]:
    return [one.path for one in proxy.seen if "list-type" in one.path]


def test_a_query_lists_the_partitions_that_it_reads(
    session: sharkpy.SharkContext, s3: Any, proxy: FaultProxy, place: str
) -> None:
    for number in range(5):
        put(s3, f"{place}/p={number}/x", b"%d\n" % number)
    far = table(session, place)
    assert len(rows(session, f"MSCK REPAIR TABLE {far}")) == 6
    proxy.seen.clear()
    assert rows(session, f"SELECT k FROM {far} WHERE p = 3") == [(3,)]
    (one,) = lists(proxy)
    assert "p%3D3%2F" in one
    assert len(proxy.seen) == 2
    proxy.seen.clear()
    assert rows(session, f"SELECT sum(k) FROM {far} WHERE p IN (1, 4) OR p > 7") == [(5,)]
    assert len(lists(proxy)) == 2
    proxy.seen.clear()
    assert rows(session, f"SELECT p FROM {far} WHERE p > 7") == []
    assert rows(session, f"SELECT DISTINCT p FROM {far} WHERE p = 2") == [(2,)]
    assert len(lists(proxy)) <= 1


@pytest.mark.variants(2)
@pytest.mark.parametrize("is_sorted", [True, False])
def test_many_partitions_are_listed_together(
    session: sharkpy.SharkContext,
    s3: Any,
    proxy: FaultProxy,
    place: str,
    is_sorted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote_files, "_LISTS", 4)
    monkeypatch.setattr(buckets, "_UNSORTED", SORTED if is_sorted else UNSORTED)
    give_keys(session, f"{BUCKET}", f"localhost:{proxy.address.partition(':')[2]}" if is_sorted else proxy.address)
    for number in range(40):
        put(s3, f"{place}/p={number}/x", b"%d\n" % number)
    far = table(session, place)
    session.sql(f"MSCK REPAIR TABLE {far}").close()
    proxy.seen.clear()
    assert rows(session, f"SELECT count(*), sum(k) FROM {far} WHERE p <> 7") == [(39, sum(range(40)) - 7)]
    assert len(lists(proxy)) == (4 if is_sorted else 1)
    proxy.seen.clear()
    session.sql(f"ANALYZE TABLE {far} PARTITION (p) COMPUTE STATISTICS NOSCAN").close()
    assert len(lists(proxy)) == (4 if is_sorted else 1)


def test_repair(session: sharkpy.SharkContext, s3: Any, place: str) -> None:
    for name in ("d=2026-01-01/h=1/x", "D=2026-01-02/h=2/x", "d=2026-01-02/h=3/sub/x", "d=2026-01-02/other/x"):
        put(s3, f"{place}/{name}")
    for name in ("_tmp/h=1/x", "d=no/h=1/x", "d=2026-01-03", "d=2026-01-04/h=1/", "d=2026-01-05/h=%25/x", "z"):
        put(s3, f"{place}/{name}", b"" if name.endswith("/") else b"1\n")
    far = table(session, place, "d DATE, h STRING")
    found = "\n".join(str(row[0]) for row in rows(session, f"MSCK REPAIR TABLE {far}"))
    assert f"Skipped folder: {place}/d=2026-01-02/other is not the name" in found
    assert f"Skipped folder: {place}/d=no/h=1 is not the name" in found
    names = [row[0] for row in rows(session, f"SHOW PARTITIONS {far}")]
    assert names == [
        "d=2026-01-01/h=1",
        "d=2026-01-02/h=2",
        "d=2026-01-02/h=3",
        "d=2026-01-04/h=1",
        "d=2026-01-05/h=%25",
    ]
    assert rows(session, f"SELECT cast(d AS STRING), h, k FROM {far} WHERE d = '2026-01-02' ORDER BY h") == [
        ("2026-01-02", "2", 1),
        ("2026-01-02", "3", 1),
    ]
    assert rows(session, f"MSCK REPAIR TABLE {far} SYNC PARTITIONS")[0][0].startswith("Skipped folder")
    s3.delete_object(Bucket=BUCKET, Key=f"{place.partition(f'{BUCKET}/')[2]}/d=2026-01-01/h=1/x")
    found = "\n".join(str(row[0]) for row in rows(session, f"MSCK REPAIR TABLE {far} SYNC PARTITIONS"))
    assert "Dropped partition from metastore" in found
    assert ("d=2026-01-01/h=1",) not in rows(session, f"SHOW PARTITIONS {far}")
    assert rows(session, f"SELECT count(*) FROM {far}") == [(3,)]


def test_repair_asks_for_each_folder_once(
    session: sharkpy.SharkContext, s3: Any, proxy: FaultProxy, place: str
) -> None:
    for number in range(12):
        put(s3, f"{place}/p={number // 4}/q={number}/x")
    far = table(session, place, "p INT, q INT")
    proxy.seen.clear()
    session.sql(f"MSCK REPAIR TABLE {far}").close()
    assert len(proxy.seen) == 1 + 3
    proxy.seen.clear()
    assert rows(session, f"MSCK REPAIR TABLE {far} SYNC PARTITIONS") == []
    assert len(proxy.seen) == 1 + 3


def test_places_of_partitions(
    session: sharkpy.SharkContext, s3: Any, moto: S3Server, place: str, tmp_path: Path
) -> None:
    """Elsewhere in the bucket, in one with other keys, as one file, and on this machine."""
    other = f"o{uuid4().hex}"
    s3.create_bucket(Bucket=other)
    put(s3, f"{place}/p=1/x", b"1\n")
    put(s3, f"{place}/elsewhere/x", b"2\n")
    put(s3, f"s3a://{other}/x", b"3\n")
    put(s3, f"{place}/file.txt", b"4\n")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/x").write_text("5\n")
    far = table(session, place)
    near = table(session, f"{tmp_path}/near")
    for made in (far, near):
        session.sql(
            f"ALTER TABLE {made} ADD PARTITION (p=1) LOCATION '{place}/p=1' "
            f"PARTITION (p=2) LOCATION '{place}/elsewhere' PARTITION (p=4) LOCATION '{place}/file.txt' "
            f"PARTITION (p=5) LOCATION '{tmp_path}/here' "
            f"PARTITION (p=6) LOCATION '{place}/nothing' PARTITION (p=3) LOCATION 's3a://{other}/'"
        ).close()
        assert rows(session, f"SELECT k FROM {made} WHERE p <> 3 ORDER BY p") == [(1,), (2,), (4,), (5,)]
        with pytest.raises(StorageRefusedError, match="there are no keys"):
            rows(session, f"SELECT k FROM {made}")
    give_keys(session, other, moto.address)
    for made in (far, near):
        assert rows(session, f"SELECT p, k FROM {made} ORDER BY p") == [(n, n) for n in range(1, 6)]
        found = str(rows(session, f"MSCK REPAIR TABLE {made} SYNC PARTITIONS"))
        assert found.count("Dropped partition") == 1
        assert "p=6" in found
    s3.delete_object(Bucket=other, Key="x")
    assert rows(session, f"SELECT count(*) FROM {far}") == [(4,)]


def test_failures_of_lists(session: sharkpy.SharkContext, s3: Any, proxy: FaultProxy, place: str) -> None:
    for number in range(3):
        put(s3, f"{place}/p={number}/x")
    far = table(session, place)
    session.sql(f"MSCK REPAIR TABLE {far}").close()
    proxy.rules.append(Rule("GET", "list-type.*p%3D1", status=403, code="AccessDenied"))
    assert rows(session, f"SELECT k FROM {far} WHERE p = 2") == [(1,)]
    with pytest.raises(StorageRefusedError, match="refuses access"):
        rows(session, f"SELECT k FROM {far}")
    proxy.rules[:] = [Rule("GET", "list-type", status=403, code="AccessDenied")]
    with pytest.raises(StorageRefusedError, match="refuses access"):
        session.sql(f"MSCK REPAIR TABLE {far} SYNC PARTITIONS")
    assert len(rows(session, f"SHOW PARTITIONS {far}")) == 3
    give_keys(session, "tests-nobody-has", proxy.address)
    proxy.rules.clear()
    lost = table(session, "s3a://tests-nobody-has/x")
    with pytest.raises(SourceError, match="there is no bucket"):
        session.sql(f"MSCK REPAIR TABLE {lost}")


def test_a_statement_lists_so_many_files(session: sharkpy.SharkContext, s3: Any, place: str) -> None:
    """All folders of it count, in however many threads they are listed."""
    for number in range(6):
        put(s3, f"{place}/p={number % 3}/{number}", b"%d\n" % number)
    far = table(session, place)
    session.sql(f"MSCK REPAIR TABLE {far}").close()
    bounded = session.with_settings({"shark.storage.files.max": "5"})
    refused = (f"SELECT sum(k) FROM {far}", f"SELECT * FROM text.`{place}`", f"SELECT * FROM text.`{place}/*/?`")
    for statement in refused:
        with pytest.raises(ResourceError, match="more than 5 files in buckets") as caught:
            rows(bounded, statement)
        assert caught.value.sqlstate == "54000"
        assert "shark.storage.files.max" in str(caught.value.hint)
    assert rows(bounded, f"SELECT sum(k) FROM {far} WHERE p < 2") == [(0 + 3 + 1 + 4,)]
    assert rows(bounded, f"SELECT sum(k) FROM {far} WHERE p > 0") == [(1 + 4 + 2 + 5,)]
    for most in ("6", "0"):
        allowed_more = session.with_settings({"shark.storage.files.max": most})
        assert rows(allowed_more, f"SELECT sum(k) FROM {far}") == [(15,)]


# Many objects


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("is_sorted", "page_seconds"), [(True, 0.1), (False, 0.0)])
def test_a_hundred_thousand_objects(
    session: sharkpy.SharkContext, is_sorted: bool, page_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5,000 partitions are listed in 5 s: by name in parallel, though each page takes a tenth of a second, as with
    Amazon. If the order is not known, by one list after the other of a server that is near.
    """
    monkeypatch.setattr(buckets, "_UNSORTED", SORTED if is_sorted else UNSORTED)
    bucket = f"many{uuid4().hex}"
    keys = (f"t/p={number // 20}/{number:06d}" for number in range(100_000))
    server = ListingServer(bucket, keys, page_seconds)
    try:
        give_keys(session, bucket, server.address)
        far = table(session, f"s3a://{bucket}/t")
        session.sql(f"MSCK REPAIR TABLE {far}").close()
        assert len(server.lists) == 5
        server.lists.clear()
        start = time.monotonic()
        plan = "\n".join(str(row[0]) for row in rows(session, f"EXPLAIN SELECT count(*) FROM {far}"))
        seconds = time.monotonic() - start
        assert "t" in plan
        assert len(server.lists) <= (100 + 2 * 64 if is_sorted else 101)
        assert server.most_at_once > 8 if is_sorted else server.most_at_once == 1
        assert seconds <= allowed(5)
        server.lists.clear()
        assert rows(session, f"SELECT count(*) FROM {far} WHERE p = 77") == [(20,)]
        assert len(server.lists) == 1
    finally:
        server.close()
