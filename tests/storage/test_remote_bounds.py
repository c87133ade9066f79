"""Sessions with restrictions and URIs: what the owner opens to them, and nothing else is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import sharkpy
from sharkpy.base.errors import (
    BindError,
    ConfigurationError,
    NotAllowedError,
    SharkError,
    SourceError,
    UnsupportedError,
)
from sharkpy.execution.restrictions import Restrictions
from sharkpy.sources.storage.access import NO_KEYS, NO_REDIRECTS
from sharkpy.sources.storage.buckets import NO_PROXY
from sharkpy.sources.storage.store import Store
from sharkpy.sources.storage.stores import store_of
from sharkpy.thrift.config import ServerConfig
from tests.rows import rows
from tests.session.test_restrictions import OPENED, PLACES
from tests.storage.fault_proxy import FaultProxy
from tests.storage.loopback import LoopbackServer, QuietHandler
from tests.storage.places import BUCKET, QUICK, access_to, s3_store
from tests.storage.s3_servers import ACCESS_KEY, SECRET


@pytest.fixture(scope="module")
def owner(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as session:
        for name, value in (
            ("access.key", ACCESS_KEY),
            ("secret.key", SECRET),
            ("endpoint", f"http://{proxy.address}"),
        ):
            session.sql(f"SET fs.s3a.{name}={value}").close()
        yield session


@pytest.fixture
def place(s3: Any) -> str:
    """Folder with the files x.csv in `open` and in `closed`."""
    key = uuid4().hex
    for name in ("open", "closed", "opened"):
        s3.put_object(Bucket=BUCKET, Key=f"{key}/{name}/x.csv", Body=b"k\n1\n")
    return f"s3://{BUCKET}/{key}"


@pytest.fixture
def guest(owner: sharkpy.SharkContext, proxy: FaultProxy, place: str, tmp_path: Path) -> sharkpy.SharkContext:
    (tmp_path / "open").mkdir()
    session = owner.new_session(shark_user="ann")
    folders = (Path(owner.catalog.warehouse_dir), tmp_path / "open")
    remote = (f"{place}/open", "https://data.example/sets")
    session.restrictions = Restrictions(
        folders,
        (Path(owner.catalog.state_dir),),
        guards_settings=True,
        refuses_connections=True,
        remote=remote,
    )
    proxy.seen.clear()
    return session


def name() -> str:
    return f"t{uuid4().hex}"


def test_what_the_owner_opens(owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, place: str) -> None:
    for scheme in ("s3", "s3a", "S3N"):
        opened = f"{scheme}{place.removeprefix('s3')}/open"
        for text in (f"'{opened}/x.csv'", f"csv.`{opened}`", f"csv.`{opened}/*`", f"csv.`{opened}/**/*.csv`"):
            assert rows(guest, f"SELECT k FROM {text}") == [(1,)]
    made, parts = name(), name()
    guest.sql(f"CREATE EXTERNAL TABLE {made} (k INT) USING csv OPTIONS (header 'true') LOCATION '{place}/open'").close()
    columns = "(k STRING) PARTITIONED BY (p INT)"
    guest.sql(f"CREATE EXTERNAL TABLE {parts} {columns} LOCATION '{place}/open/parts'").close()
    guest.sql(f"ALTER TABLE {parts} ADD PARTITION (p=7) LOCATION '{place}/open'").close()
    for session in (guest, owner):
        assert rows(session, f"SELECT k FROM {made}") == [(1,)]
        assert rows(session, f"SELECT k, p FROM {parts}") == [("k", 7), ("1", 7)]


def test_what_the_owner_opens_is_written(
    owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, proxy: FaultProxy, place: str
) -> None:
    """The rules are the same as below open local folders: for its own tables, and for tables of the catalog."""
    made = name()
    guest.sql(f"CREATE TABLE {made} LOCATION '{place}/open/new' AS SELECT 1 AS k").close()
    guest.sql(f"INSERT INTO {made} VALUES (2)").close()
    assert rows(owner, f"SELECT k FROM {made} ORDER BY k") == [(1,), (2,)]
    guest.sql(f"DROP TABLE {made}").close()
    whole = name()
    owner.sql(f"CREATE EXTERNAL TABLE {whole} (k INT) LOCATION '{place}/open'").close()
    with pytest.raises(NotAllowedError, match="cannot be replaced completely"):
        guest.sql(f"INSERT OVERWRITE TABLE {whole} VALUES (3)")
    proxy.seen.clear()
    for statement in (
        f"CREATE TABLE {name()} LOCATION '{place}/closed/new' AS SELECT 1 AS k",
        f"CREATE TABLE {name()} (k INT) LOCATION '{place}/opened'",
        f"CREATE TABLE {name()} (k INT) LOCATION '{place}/open/../closed'",
        f"ALTER TABLE {whole} SET LOCATION '{place}/closed'",
    ):
        with pytest.raises(NotAllowedError):
            guest.sql(statement)
    assert proxy.seen == []


@pytest.mark.variants(3)
@pytest.mark.parametrize("statement", dict.fromkeys((*PLACES, *OPENED)))
def test_nothing_else_is_asked_for(
    guest: sharkpy.SharkContext, proxy: FaultProxy, place: str, tmp_path: Path, statement: str
) -> None:
    """Whether it is there or not, the refusal is the same."""
    for made in (
        "CREATE DATABASE IF NOT EXISTS other",
        "DROP TABLE IF EXISTS t",
        "CREATE TABLE t (a INT) STORED AS AVRO",
        "DROP TABLE IF EXISTS p",
        "CREATE TABLE p (a INT) PARTITIONED BY (ds STRING) STORED AS AVRO",
        "ALTER TABLE p ADD PARTITION (ds='one')",
        f"CREATE STREAM IF NOT EXISTS s (a INT) FROM FOLDER '{tmp_path}/open'",
    ):
        guest.sql(made).close()
    proxy.seen.clear()
    if "file:" in statement:
        return
    told = set()
    for end in ("closed/x.csv", "closed/none", "open/../closed/x.csv", "opened/x.csv"):
        with pytest.raises((NotAllowedError, UnsupportedError)) as caught:
            guest.sql(statement.format(f"{place}/{end}"))
        told.add(str(caught.value).replace(f"{place}/{end}", "…"))
    assert len(told) == 1
    assert proxy.seen == []


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "location",
    [
        *("{}/open/../closed/x.csv", "{}/open/./../closed/x.csv", "{}/openx", "{}/open*/x.csv", "{}/*/x.csv", "{}"),
        *("s3:/tests/x", "s3://tests", "s3://TESTS/x", "s3://other/open/x", "s3a://a:b@tests/x", "s3://tests%2Fx/open"),
        *("http://169.254.169.254/latest/meta-data/iam/", "http://2852039166/latest", "http://[fe80::1]/x"),
        *("http://localhost:9000/x.csv", "https://data.example/other/x.csv", "https://data.example/sets/../other"),
        *(
            "https://data.example/sets/%2e%2e/other",
            "https://data.example/sets/%2E./x",
            "https://data.example@evil/sets/x",
        ),
        *("https://data.example.evil/sets/x", "https://data.example:444/sets/x", "http://data.example/sets/x"),
        *("https://data.example\\\\@evil.example/sets/x", "https://data.example/sets\\\\..\\\\..\\\\other/x"),
        *("gs://bucket/x", "abfss://c@account.dfs.core.windows.net/x", "abfss://c@evil.example/x", "az://c/x"),
        *("hdfs://namenode/etc/passwd", "viewfs://x/y", "ftp://host/x", "file+x:/etc/passwd", "jar:/etc/x!/y"),
    ],
)
def test_hostile_locations(guest: sharkpy.SharkContext, proxy: FaultProxy, place: str, location: str) -> None:
    named = location.format(place)
    for text in (f"SELECT * FROM csv.`{named}`", f"CREATE EXTERNAL TABLE {name()} (k INT) LOCATION '{named}'"):
        with pytest.raises((NotAllowedError, UnsupportedError, BindError)):
            rows(guest, text)
    assert proxy.seen == []


def test_keys_of_its_own_open_no_table(guest: sharkpy.SharkContext, place: str) -> None:
    guest.sql("SET fs.s3a.access.key=own; SET fs.s3a.secret.key=own").close()
    with pytest.raises(NotAllowedError, match="bounds"):
        guest.sql(f"CREATE EXTERNAL TABLE {name()} (k INT) LOCATION '{place}/closed'")
    for text in (
        "SET fs.s3a.endpoint.region=x.evil.example/",
        "SET fs.azure.abfs.account.name=evil.example/",
        "SET fs.azure.abfs.account.name=a@evil",
        "SET fs.s3a.endpoint=http://127.0.0.1:1",
    ):
        with pytest.raises((ConfigurationError, NotAllowedError)):
            guest.sql(text)


def test_a_folder_is_not_replaced_as_a_whole(guest: sharkpy.SharkContext, place: str) -> None:
    gate = guest.restrictions.gate
    for folder in (f"{place}/open", f"{place}/open/", place, f"s3a://{BUCKET}"):
        with pytest.raises(NotAllowedError, match="replaced completely"):
            gate.require_below(folder)
    gate.require_below(f"{place}/open/t")


@pytest.mark.parametrize("folder", ["ftp://host/x", "s3://KEY:SECRET@bucket/x", "https://host/x?sig=abc"])
def test_folders_that_cannot_be_opened(folder: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ServerConfig(port=0, location_folders=(folder,))
    assert "SECRET" not in str(caught.value)
    assert "abc" not in str(caught.value)


# Addresses that a session names

OWN_KEYS = f"SET fs.s3a.access.key={ACCESS_KEY}; SET fs.s3a.secret.key={SECRET}"


@pytest.fixture
def connecting(guest: sharkpy.SharkContext) -> sharkpy.SharkContext:
    """A session with keys of its own that may set addresses."""
    guest.restrictions = replace(guest.restrictions, refuses_connections=False)
    guest.sql(OWN_KEYS).close()
    return guest


@pytest.mark.parametrize("host", ["localhost", "127.1", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]"])
def test_no_address_within_the_machine_is_asked(
    connecting: sharkpy.SharkContext, proxy: FaultProxy, place: str, host: str
) -> None:
    connecting.sql(f"SET fs.s3a.endpoint=http://{host}:{proxy.address.partition(':')[2]}").close()
    with pytest.raises(NotAllowedError, match="is at a private address") as caught:
        rows(connecting, f"SELECT * FROM csv.`{place}/closed/x.csv`")
    assert caught.value.sqlstate == "42501"
    assert proxy.seen == []


def test_an_endpoint_of_the_owner_is_open(connecting: sharkpy.SharkContext, proxy: FaultProxy, place: str) -> None:
    connecting.sql(f"SET fs.s3a.endpoint=http://{proxy.address}").close()
    assert rows(connecting, f"SELECT k FROM csv.`{place}/closed/x.csv`") == [(1,)]
    connecting.sql(f"SET fs.s3a.endpoint=http://{proxy.address}/").close()
    with pytest.raises(NotAllowedError, match="private address"):
        rows(connecting, f"SELECT k FROM csv.`{place}/closed/x.csv`")


@pytest.mark.parametrize("listed", ["localhost", "127.0.0.0/8,::1", "other.example, LOCALHOST"])
def test_private_hosts_that_the_owner_lists(
    owner: sharkpy.SharkContext, connecting: sharkpy.SharkContext, proxy: FaultProxy, place: str, listed: str
) -> None:
    port = proxy.address.partition(":")[2]
    connecting.sql(f"SET fs.s3a.endpoint=http://localhost:{port}").close()
    owner.sql(f"SET shark.storage.private.hosts={listed}").close()
    try:
        assert rows(connecting, f"SELECT k FROM csv.`{place}/closed/x.csv`") == [(1,)]
    finally:
        owner.sql("RESET shark.storage.private.hosts").close()
    with pytest.raises(NotAllowedError):
        connecting.sql("SET shark.storage.private.hosts=localhost")


def test_hosts_of_other_clouds_and_of_logins(connecting: sharkpy.SharkContext, proxy: FaultProxy) -> None:
    connecting.sql(f"SET fs.gs.auth.access.token=t; SET fs.gs.storage.root.url=http://{proxy.address}").close()
    with pytest.raises(NotAllowedError, match="private address"):
        rows(connecting, "SELECT * FROM csv.`gs://bucket/x`")
    login = "fs.azure.account.oauth2.client"
    connecting.sql(f"SET {login}.id=i; SET {login}.secret=s").close()
    connecting.sql(f"SET {login}.endpoint=http://{proxy.address}/tenant/oauth2/token").close()
    with pytest.raises(NotAllowedError, match="private address"):
        rows(connecting, "SELECT * FROM csv.`abfss://c@me.dfs.core.windows.net/x`")
    connecting.sql(f"SET fs.azure.storage.endpoint=http://{proxy.address}/me; SET fs.azure.account.key=a2V5").close()
    with pytest.raises(NotAllowedError, match="private address"):
        rows(connecting, "SELECT * FROM csv.`abfss://c@me.dfs.core.windows.net/x`")
    assert proxy.seen == []


def test_a_name_that_is_moved_is_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    from sharkpy.sources.storage import object_reader

    at = ["93.184.216.34"]

    async def addresses(host: str) -> list[str]:
        assert host == "moved.example"
        return at

    monkeypatch.setattr(object_reader, "_addresses", addresses)
    guard = object_reader.HostGuard(("moved.example",), "")
    asyncio.run(guard.check())
    at[:] = ["93.184.216.34", "10.0.0.1"]
    asyncio.run(guard.check())
    monkeypatch.setattr(object_reader, "_KEPT_SECONDS", 0.0)
    with pytest.raises(NotAllowedError):
        asyncio.run(object_reader.HostGuard(("moved.example",), "").check())


PRIVATE = (
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::"),
)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    from sharkpy.sources.storage import object_reader

    async def addresses(_: str) -> list[str]:
        return [address]

    monkeypatch.setattr(object_reader, "_addresses", addresses)
    with pytest.raises(NotAllowedError):
        asyncio.run(object_reader.HostGuard(("host",), "other").check())
    asyncio.run(object_reader.HostGuard(("host",), "HOST".lower()).check())


def test_hosts_that_are_none(owner: sharkpy.SharkContext) -> None:
    for text in ("a b", "10.0.0.1/8", "http://x", "*"):
        with pytest.raises(ConfigurationError, match="neither a host nor a network"):
            owner.sql(f"SET shark.storage.private.hosts={text}")


# Redirects


class Inside(QuietHandler):
    """Server within the machine; it must not get a request."""

    owner: list[str]

    def do_GET(self) -> None:
        self.owner.append(self.path)
        self.send_response(200)
        for header in (("ETag", '"1"'), ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"), ("Content-Length", "3")):
            self.send_header(*header)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"key")


class Outside(QuietHandler):
    """A server that sends all requests on to `owner`."""

    owner: str

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", f"http://{self.owner}/inside")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def outside(asked: list[str]) -> Iterator[str]:
    inside = LoopbackServer(Inside, asked)
    server = LoopbackServer(Outside, f"localhost:{inside.address.partition(':')[2]}")
    try:
        yield server.address
    finally:
        server.close()
        inside.close()


def fails(store: Store, location: str) -> None:
    for call in (
        lambda: store.stat(f"{location}/x"),
        lambda: list(store.list(location)),
        lambda: store.put(location, b"x"),
    ):
        with pytest.raises(SharkError) as caught:
            call()
        assert "redirect" not in caught.value.message


def test_a_store_sends_nobody_elsewhere(outside: str, asked: list[str]) -> None:
    fails(s3_store(outside), f"s3://{BUCKET}/x")
    google = {"fs.gs.auth.type": "UNAUTHENTICATED", "fs.gs.storage.root.url": f"http://{outside}"}
    fails(store_of("gs://bucket", access_to(google), QUICK), "gs://bucket/x")
    azure = {
        "fs.azure.account.key": "a2V5",
        "fs.azure.storage.endpoint": f"http://{outside}/me",
    }
    container = "abfss://c@me.dfs.core.windows.net"
    fails(store_of(container, access_to(azure), QUICK), f"{container}/x")
    assert asked == []


def test_a_site_sends_the_owner_alone_elsewhere(outside: str, asked: list[str]) -> None:
    url = f"http://{outside}"
    with pytest.raises(SharkError):
        store_of(url, access_to({NO_REDIRECTS: "true"}, NO_KEYS), QUICK).stat(f"{url}/x")
    assert asked == []
    facts = store_of(url, access_to({}, NO_KEYS), QUICK).stat(f"{url}/x")
    assert facts is not None
    assert asked == ["/inside"]


def test_sessions_of_others_follow_no_site(
    owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, outside: str, asked: list[str], place: str
) -> None:
    bounds = guest.restrictions
    guest.restrictions = Restrictions(
        bounds.folders, bounds.closed, guards_settings=True, remote=(f"http://{outside}",)
    )
    with pytest.raises(SharkError, match="cannot be reached"):
        rows(guest, f"SELECT * FROM csv.`http://{outside}/x.csv`")
    far = name()
    guest.sql(f"CREATE EXTERNAL TABLE {far} (k STRING) LOCATION 'http://{outside}/x.csv'").close()
    with pytest.raises(SharkError, match="cannot be reached"):
        rows(guest, f"SELECT * FROM {far}")
    assert asked == []
    assert rows(owner, f"SELECT * FROM text.`http://{outside}/x.txt`")[0][0] == "key"


def test_the_machines_own_keys_are_at_no_url(owner: sharkpy.SharkContext) -> None:
    for host in (
        "169.254.169.254",
        "2852039166",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "metadata.google.internal",
    ):
        with pytest.raises(ConfigurationError, match="machines ask there"):
            rows(owner, f"SELECT * FROM csv.`http://{host}/latest/meta-data`")
    with pytest.raises(ConfigurationError, match="not an endpoint"):
        rows(owner, "SELECT * FROM csv.`http://evil host/x`")


def test_proxies_of_the_environment_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    from sharkpy.sources.storage.buckets import client_options

    assert NO_PROXY in str(client_options("http://s3.example", QUICK, "s3.example"))
    assert "proxy_url" not in client_options("http://s3.example", QUICK)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    assert "proxy_url" not in client_options("http://s3.example", QUICK, "s3.example")


def test_errors_of_others_are_what_they_were(owner: sharkpy.SharkContext) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        rows(owner, f"SELECT * FROM 's3://{BUCKET}/none.csv'")


MOVES = (
    "INSERT OVERWRITE DIRECTORY '{}/out' SELECT 1",
    "EXPORT TABLE default.moved TO '{}/out'",
    "LOAD DATA INPATH '{}/x.csv' INTO TABLE default.moved",
    "ADD FILE {}/x.csv",
)


@pytest.mark.variants(3)
@pytest.mark.parametrize("statement", MOVES)
def test_files_move_where_the_owner_opens(
    owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, proxy: FaultProxy, place: str, statement: str
) -> None:
    guest.sql("DROP TABLE IF EXISTS default.moved").close()
    guest.sql("CREATE TABLE default.moved (a STRING) STORED AS TEXTFILE").close()
    proxy.seen.clear()
    for closed in (f"{place}/closed", f"{place}/open/../closed", f"{place}/opened"):
        with pytest.raises(NotAllowedError):
            guest.sql(statement.format(closed)).close()
    assert proxy.seen == []
    guest.sql(statement.format(f"{place}/open")).close()
    with pytest.raises(NotAllowedError, match="cannot be replaced completely"):
        guest.sql(f"INSERT OVERWRITE DIRECTORY '{place}/open' SELECT 1").close()


def test_what_keys_of_a_session_open_is_not_settled(
    owner: sharkpy.SharkContext,
    guest: sharkpy.SharkContext,
    proxy: FaultProxy,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next start would use the owner's keys at a place that another session has chosen."""
    noted: list[str] = []
    unfinished = owner.catalog.unfinished
    monkeypatch.setattr(unfinished, "begin", lambda staging, **_: noted.append(staging))
    guest.restrictions = Restrictions(guest.restrictions.folders, guards_settings=True, remote=(f"{place}/open",))
    guest.sql(f"INSERT OVERWRITE DIRECTORY '{place}/open/out' SELECT 1").close()
    assert len(noted) == 1
    for name, value in (("access.key", ACCESS_KEY), ("secret.key", SECRET), ("endpoint", f"http://{proxy.address}")):
        guest.sql(f"SET fs.s3a.{name}={value}").close()
    guest.sql(f"INSERT OVERWRITE DIRECTORY '{place}/closed/out' SELECT 1").close()
    assert len(noted) == 1
    assert rows(guest, f"SELECT value FROM text.`{place}/closed/out`") == [("1",)]
