"""Google's storage and Azure's as people meet them: `sharkpy doctor`, named files, and tables."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("obstore", reason="the extra lake-gs is not installed")

import sharkpy
from sharkpy.base.errors import SourceError, StorageRefusedError
from sharkpy.base.settings import Conf
from sharkpy.cli.storage_doctor import storage_checks
from tests.rows import rows
from tests.storage.azurite import ACCOUNT, AzuriteServer, container_signature
from tests.storage.fault_proxy import FaultProxy, Rule, fault_proxy
from tests.storage.gcs_server import GcsServer
from tests.storage.places import BUCKET, Place, azure_options, azure_place, gcs_options, gcs_place
from tests.storage.token_server import TokenServer

ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud behind a proxy, with the settings that open it."""

    kind: str
    proxy: FaultProxy
    options: dict[str, str]

    def place(self) -> Place:
        make = gcs_place if self.kind == "gcs" else azure_place
        return make(self.proxy.address)


@pytest.fixture(scope="module", params=["gcs", "azurite"])
def cloud(request: pytest.FixtureRequest) -> Iterator[Cloud]:
    with fault_proxy(request.getfixturevalue(request.param).address) as proxy:
        options = gcs_options if request.param == "gcs" else azure_options
        yield Cloud(request.param, proxy, options(proxy.address))


@pytest.fixture
def place(cloud: Cloud) -> Place:
    cloud.proxy.rules.clear()
    cloud.proxy.seen.clear()
    return cloud.place()


# Doctor


def checks(location: str, given: dict[str, str], *, writes: bool = False) -> list[tuple[bool, str, str]]:
    return list(storage_checks(location, Conf(given), writes=writes))


def wrong(location: str, given: dict[str, str], *, writes: bool = False) -> tuple[str, str]:
    """Step and sentence of the failure."""
    is_well, step, text = checks(location, given, writes=writes)[-1]
    assert not is_well, text
    assert "\n" not in text
    return step, text


def test_all_is_well(cloud: Cloud, place: Place) -> None:
    place.store.put(place.path("x.csv"), b"k\n1\n")
    found = checks(place.folder, cloud.options, writes=True)
    assert [(step, is_well) for is_well, step, _ in found] == [
        (step, True) for step in ("address", "keys", "list", "read", "write")
    ]
    assert found[2][2] == "1 objects below it"
    assert [facts.path for facts in place.store.list(place.folder)] == [place.path("x.csv")]


RIGHTS = {
    "gcs": ("AccessDenied", "storage.objects.list", "storage.objects.create"),
    "azurite": (
        "AuthorizationPermissionMismatch",
        "the role Storage Blob Data Reader",
        "the role Storage Blob Data Contributor",
    ),
}


def test_rights_that_are_missing(cloud: Cloud, place: Place) -> None:
    code, lists, writes = RIGHTS[cloud.kind]
    cloud.proxy.rules.append(Rule("PUT", status=403, code=code))
    step, text = wrong(place.folder, cloud.options, writes=True)
    assert step == "write"
    assert f"let their owner have {writes}" in text
    cloud.proxy.rules.append(Rule("GET", status=403, code=code))
    step, text = wrong(place.folder, cloud.options)
    assert step == "list"
    assert f"let their owner have {lists}" in text


def test_keys_that_are_wrong(cloud: Cloud, place: Place) -> None:
    code = "AuthenticationRequired" if cloud.kind == "gcs" else "AuthenticationFailed"
    cloud.proxy.rules.append(Rule("GET", status=401, code=code))
    key = "fs.gs.auth.service.account.json.keyfile" if cloud.kind == "gcs" else "fs.azure.account.key"
    assert f"does not accept the keys: correct {key} (keys" in wrong(place.folder, cloud.options)[1]


def test_a_bucket_and_a_server_that_are_none(cloud: Cloud, place: Place) -> None:
    other = place.folder.replace(BUCKET, "nobody-has-it", 1)
    assert "there is no bucket nobody-has-it" in wrong(other, cloud.options)[1]
    endpoint = "fs.gs.storage.root.url" if cloud.kind == "gcs" else "fs.azure.storage.endpoint"
    away = {**cloud.options, endpoint: f"http://127.0.0.1:1/{ACCOUNT}"}
    assert f"correct the host or the port in {endpoint}" in wrong(place.folder, away)[1]
    cloud.proxy.rules.append(Rule("GET", status=301))
    assert f"correct {endpoint}" in wrong(place.folder, cloud.options)[1]


def test_who_gives_tokens(azurite: AzuriteServer) -> None:
    login = TokenServer(set())
    name = "fs.azure.account.oauth2.client"
    given = {f"{name}.id": "i", f"{name}.secret": "s", f"{name}.endpoint": f"http://{login.address}/t/oauth2/token"}
    given["fs.azure.storage.endpoint"] = azurite.endpoint
    folder = f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net/x"
    login.status = 400
    assert "the keys get no token" in wrong(folder, given)[1]
    login.close()
    given[f"{name}.id"] = "another"
    assert "who gives tokens for the keys does not answer" in wrong(folder, given)[1]


# Statements


@pytest.fixture(scope="module")
def session(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as session:
        for name, value in cloud.options.items():
            session.sql(f"SET {name}={value}").close()
        yield session


def packed(form: str) -> bytes:
    table = pa.table({"k": range(ROWS), "s": [f"{number % 7}é" for number in range(ROWS)]})
    file = io.BytesIO()
    match form:
        case "parquet":
            pq.write_table(table, file, row_group_size=1_000)
        case "orc":
            orc.write_table(table, file)
        case "csv":
            file.write(b"k,s\n" + b"".join(f"{n},{n % 7}é\n".encode() for n in range(ROWS)))
        case _:
            file.write(b"".join(f'{{"k": {n}, "s": "{n % 7}é"}}\n'.encode() for n in range(ROWS)))
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "orc", "csv", "json"])
def test_named_files(session: sharkpy.SharkContext, place: Place, form: str) -> None:
    content = packed(form)
    for name in (f"a/x.{form}", f"b/x.{form}"):
        place.store.put(place.path(name), content)
    place.store.put(place.path("a/_SUCCESS"), b"")
    counted = f"SELECT count(*), sum(k), count(DISTINCT s) FROM {form}."
    assert rows(session, f"{counted}`{place.folder}/a`") == [(ROWS, sum(range(ROWS)), 7)]
    assert rows(session, f"{counted}`{place.folder}/*/x.{form}`") == [(2 * ROWS, 2 * sum(range(ROWS)), 7)]
    assert rows(session, f"SELECT s FROM '{place.path(f'a/x.{form}')}' WHERE k = 6") == [("6é",)]


def test_columns_that_are_not_wanted_are_not_fetched(session: sharkpy.SharkContext, cloud: Cloud, place: Place) -> None:
    content = io.BytesIO()
    wide = {"k": range(200_000), "s": [f"{number * 7919}" for number in range(200_000)]}
    pq.write_table(pa.table(wide), content, compression="none", use_dictionary=False)
    place.store.put(place.path("x.parquet"), content.getvalue())
    cloud.proxy.seen.clear()
    assert rows(session, f"SELECT max(k) FROM parquet.`{place.folder}`") == [(199_999,)]
    assert cloud.proxy.sent < len(content.getvalue()) / 1.5


@pytest.mark.slow
def test_tables_with_partitions(session: sharkpy.SharkContext, cloud: Cloud, place: Place) -> None:
    for number in range(3):
        place.store.put(place.path(f"p={number}/x"), b"%d\n" % number)
    name = f"t{place.folder.rpartition('/')[2]}"
    session.sql(f"CREATE EXTERNAL TABLE {name} (k INT) PARTITIONED BY (p INT) LOCATION '{place.folder}'").close()
    session.sql(f"MSCK REPAIR TABLE {name}").close()
    assert rows(session, f"SELECT sum(k), count(*) FROM {name}") == [(3, 3)]
    cloud.proxy.seen.clear()
    assert rows(session, f"SELECT k FROM {name} WHERE p = 2") == [(2,)]
    assert not any("p%3D1" in one.path or "p=1" in one.path for one in cloud.proxy.seen)
    place.store.put(place.path("p=2/x"), b"20\n")
    assert rows(session, f"SELECT k FROM {name} WHERE p = 2") == [(20,)]


def test_a_table_that_is_written(session: sharkpy.SharkContext, place: Place) -> None:
    name = f"w{place.folder.rpartition('/')[2]}"
    session.sql(f"CREATE EXTERNAL TABLE {name} (k INT, s STRING) STORED AS PARQUET LOCATION '{place.folder}'").close()
    session.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')").close()
    session.sql(f"INSERT INTO {name} SELECT k + 2, s FROM {name}").close()
    assert rows(session, f"SELECT k, s FROM {name} ORDER BY k") == [(1, "a"), (2, "b"), (3, "a"), (4, "b")]
    session.sql(f"INSERT OVERWRITE TABLE {name} SELECT k, s FROM {name} WHERE k > 3").close()
    assert rows(session, f"SELECT k, s FROM {name}") == [(4, "b")]


def test_failures_of_statements(session: sharkpy.SharkContext, cloud: Cloud, place: Place) -> None:
    with pytest.raises(SourceError, match="does not exist") as caught:
        rows(session, f"SELECT * FROM csv.`{place.folder}/none`")
    assert caught.value.sqlstate == "58P01"
    place.store.put(place.path("x.csv"), b"k\n1\n")
    cloud.proxy.rules.append(Rule("GET", r"x(\.|%2E)csv", status=403))
    with pytest.raises(StorageRefusedError):
        rows(session, f"SELECT * FROM csv.`{place.folder}`")


def test_keys_are_hidden(session: sharkpy.SharkContext, cloud: Cloud) -> None:
    (secret,) = (value for name, value in cloud.options.items() if "url" not in name and "endpoint" not in name)
    told = str(rows(session, "SET -v")) + str(rows(session, "SET")) + str(session.history())
    assert secret not in told


def test_a_signature_opens_its_container_for_a_session(
    azurite: AzuriteServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = azure_place(azurite.address)
    place.store.put(place.path("x.csv"), b"k\n1\n")
    with sharkpy.connect("local[1]", tmp_path_factory.mktemp("w")) as session:
        session.sql(f"SET fs.azure.storage.endpoint={azurite.endpoint}").close()
        name = f"fs.azure.sas.{BUCKET}.{ACCOUNT}.blob.core.windows.net"
        session.sql(f"SET {name}={container_signature(BUCKET)}").close()
        assert rows(session, f"SELECT k FROM csv.`{place.folder}`") == [(1,)]


def test_google_has_what_was_put(gcs: GcsServer) -> None:
    """The server of the tests is asked by no other client: what it keeps is looked at."""
    place = gcs_place(gcs.address)
    place.store.put(place.path("a b/é"), b"1")
    assert gcs.objects[f"{place.folder.rpartition('/')[2]}/a b/é"].content == b"1"
