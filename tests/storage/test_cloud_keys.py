"""Keys to Google's storage and to Azure's, in the forms in which people have them."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

pytest.importorskip("obstore", reason="the extra lake-gs is not installed")
pytest.importorskip("google.auth", reason="the extra lake-gs is not installed")

from sharkpy.base.errors import ConfigurationError, ExecutionError, SharkError, StorageRefusedError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.sources.storage.access import StorageAccess, access_to
from sharkpy.sources.storage.store import Store
from sharkpy.sources.storage.stores import store_of
from tests.ports import free_ports
from tests.storage.azurite import ACCOUNT, KEY, AzuriteServer, account_signature, container_signature
from tests.storage.fault_proxy import FaultProxy, fault_proxy
from tests.storage.gcs_server import TOKEN, GcsServer
from tests.storage.places import BUCKET, QUICK
from tests.storage.token_server import TokenServer

ROOT = "fs.gs.storage.root.url"
KEY_FILE = "fs.gs.auth.service.account.json.keyfile"
PRIVATE = rsa.generate_private_key(65537, 2048)
CONTAINER = f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net"
ENDPOINT = "fs.azure.storage.endpoint"
LOGIN = "fs.azure.account.oauth2.client"


@pytest.fixture
def google() -> Iterator[GcsServer]:
    """A server that knows no token yet."""
    server = GcsServer(BUCKET)
    server.tokens = set()
    yield server
    server.close()


@pytest.fixture
def login(google: GcsServer) -> Iterator[TokenServer]:
    server = TokenServer(google.tokens)
    yield server
    server.close()


def opened(location: str, **given: str) -> Store:
    conf = Conf(given)
    return store_of(location, access_to(location, conf, conf), QUICK)


def of_google(server: GcsServer, given: dict[str, str]) -> Store:
    return opened(f"gs://{BUCKET}", **{ROOT: f"http://{server.address}", **given})


def works(store: Store, folder: str, *, deletes: bool = True) -> bool:
    """Whether objects can be put, listed, read and deleted."""
    path = f"{folder}/{uuid4().hex}/x"
    facts = store.put(path, b"0123")
    assert store.put_new(f"{path}2", b"1")
    assert not store.put_new(f"{path}2", b"1")
    assert len(list(store.list(path.rpartition("/")[0]))) == 2
    (content,) = store.read(facts, [(1, 3)])
    if deletes:
        store.delete([path, f"{path}2"])
    return bytes(content) == b"12" and (store.stat(path) is None) == deletes


def service_account(login: TokenServer) -> dict[str, str]:
    form = serialization.PrivateFormat.PKCS8
    key = PRIVATE.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return {
        "type": "service_account",
        "private_key_id": "one",
        "private_key": key.decode(),
        "client_email": "reader@tests.iam.gserviceaccount.com",
        "token_uri": f"http://{login.address}/token",
    }


def user(login: TokenServer) -> dict[str, str]:
    keys = {"client_id": "program", "client_secret": "secret", "refresh_token": "of the user"}
    return {"type": "authorized_user", "token_uri": f"http://{login.address}/token", **keys}


def workload(login: TokenServer, folder: Path) -> dict[str, Any]:
    (folder / "subject").write_text("subject token")
    return {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": f"http://{login.address}/sts",
        "credential_source": {"file": str(folder / "subject")},
    }


def written(folder: Path, content: object) -> dict[str, str]:
    path = folder / f"{uuid4().hex}.json"
    path.write_text(json.dumps(content))
    return {KEY_FILE: str(path)}


class TestGoogle:
    def test_a_service_account(self, google: GcsServer, login: TokenServer, tmp_path: Path) -> None:
        store = of_google(google, written(tmp_path, service_account(login)))
        assert works(store, f"gs://{BUCKET}")
        ((path, form),) = login.asked
        assert path == "/token"
        signed, _, signature = form["assertion"].rpartition(".")
        unpacked = [base64.urlsafe_b64decode(part + "==") for part in (*signed.split("."), signature)]
        PRIVATE.public_key().verify(unpacked[2], signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        claims = json.loads(unpacked[1])
        assert claims["iss"] == "reader@tests.iam.gserviceaccount.com"
        assert claims["scope"] == "https://www.googleapis.com/auth/devstorage.read_write"

    def test_a_file_that_other_hosts_have_not(self, google: GcsServer, login: TokenServer, tmp_path: Path) -> None:
        """Tasks get what it holds with their access, and no path of it. Another content is another access."""
        given = written(tmp_path, service_account(login))
        conf = Conf({ROOT: f"http://{google.address}", **given})
        first = access_to(f"gs://{BUCKET}", conf, conf)
        path = Path(given[KEY_FILE])
        path.write_text(json.dumps({**service_account(login), "client_email": "another@tests"}))
        second = access_to(f"gs://{BUCKET}", conf, conf)
        assert first.id != second.id
        path.unlink()
        assert "PRIVATE" not in repr(first) + str(dict(first.options))
        shipped = pickle.loads(pickle.dumps(first))
        assert works(store_of(f"gs://{BUCKET}", shipped, QUICK), f"gs://{BUCKET}")
        assert works(store_of(f"gs://{BUCKET}", second, QUICK), f"gs://{BUCKET}")
        assert len(login.asked) == 2

    def test_a_workload_and_a_user(self, google: GcsServer, login: TokenServer, tmp_path: Path) -> None:
        assert works(of_google(google, written(tmp_path, user(login))), f"gs://{BUCKET}")
        ((_, form),) = login.asked
        assert form["refresh_token"] == "of the user"
        assert works(of_google(google, written(tmp_path, workload(login, tmp_path))), f"gs://{BUCKET}")
        assert login.asked[-1][0] == "/sts"
        assert login.asked[-1][1]["subject_token"] == "subject token"

    def test_application_default_credentials(
        self, google: GcsServer, login: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of the variable, and of where gcloud leaves them."""
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        with pytest.raises(StorageRefusedError, match="there are no keys"):
            of_google(google, {})
        home = tmp_path / "home/.config/gcloud"
        home.mkdir(parents=True)
        (home / "application_default_credentials.json").write_text(json.dumps(user(login)))
        assert works(of_google(google, {}), f"gs://{BUCKET}")
        (file,) = written(tmp_path, service_account(login)).values()
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
        assert works(of_google(google, {}), f"gs://{BUCKET}")
        assert "assertion" in login.asked[-1][1]

    def test_an_access_token(self, google: GcsServer) -> None:
        google.tokens.add(TOKEN)
        assert works(of_google(google, {"fs.gs.auth.access.token": TOKEN}), f"gs://{BUCKET}")

    def test_a_program_in_the_name_of_a_user(
        self, google: GcsServer, login: TokenServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sharkpy.sources.storage.google_keys._TOKEN_URI", f"http://{login.address}/token")
        keys = {"client.id": "program", "client.secret": "secret", "refresh.token": "of the user"}
        given = {f"fs.gs.auth.{name}": value for name, value in keys.items()}
        assert works(of_google(google, given), f"gs://{BUCKET}")
        assert {name.replace("_", "."): login.asked[0][1][name.replace(".", "_")] for name in keys} == keys
        del given["fs.gs.auth.refresh.token"]
        with pytest.raises(ConfigurationError, match=r"client.secret is given without fs.gs.auth.refresh.token"):
            of_google(google, given)

    def test_no_keys(self, google: GcsServer) -> None:
        google.is_open = True
        assert works(of_google(google, {"fs.gs.auth.type": "UNAUTHENTICATED"}), f"gs://{BUCKET}")
        google.is_open = False
        with pytest.raises(StorageRefusedError, match="refuses access"):
            list(of_google(google, {"fs.gs.auth.type": "UNAUTHENTICATED"}).list(f"gs://{BUCKET}/x"))

    def test_keys_of_the_environment_do_not_count(
        self, google: GcsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """obstore reads them, and would take them first."""
        google.tokens.add(TOKEN)
        form = {"type": "service_account", "private_key": "-", "private_key_id": "-", "client_email": "-"}
        (file,) = written(tmp_path, {**form, "disable_oauth": True}).values()
        for name in ("GOOGLE_SERVICE_ACCOUNT", "SERVICE_ACCOUNT"):
            monkeypatch.setenv(name, file)
        assert works(of_google(google, {"fs.gs.auth.access.token": TOKEN}), f"gs://{BUCKET}")

    def test_tokens_are_kept_until_their_end(self, google: GcsServer, login: TokenServer, tmp_path: Path) -> None:
        store = of_google(google, written(tmp_path, user(login)))
        for _ in range(3):
            assert store.stat(f"gs://{BUCKET}/x") is None
        assert store.remove_uploads(f"gs://{BUCKET}/x", 0) == 0
        assert len(login.asked) == 1
        login.seconds = 1
        other = of_google(google, written(tmp_path, {**user(login), "client_id": "another", "x": 1}))
        for _ in range(2):
            assert other.stat(f"gs://{BUCKET}/x") is None
        assert len(login.asked) >= 2

    def test_keys_that_are_not_known(self, google: GcsServer, login: TokenServer, tmp_path: Path) -> None:
        with pytest.raises(StorageRefusedError, match="does not accept keys of the engine's owner") as caught:
            list(of_google(google, {"fs.gs.auth.access.token": "old"}).list(f"gs://{BUCKET}/x"))
        assert caught.value.sqlstate == "28000"
        login.status = 400
        with pytest.raises(StorageRefusedError, match="gives no token for keys of the engine's owner") as caught:
            of_google(google, written(tmp_path, user(login))).stat(f"gs://{BUCKET}/x")
        assert caught.value.sqlstate == "28000"
        login.close()
        with pytest.raises(ExecutionError, match="who gives tokens for keys of the engine's owner") as away:
            of_google(google, written(tmp_path, {**user(login), "x": 2})).stat(f"gs://{BUCKET}/x")
        assert away.value.sqlstate == "08001"

    @pytest.mark.parametrize("content", [None, [], {}, {"type": "service_account"}, {"type": "authorized_user"}])
    def test_files_that_hold_no_keys(self, google: GcsServer, tmp_path: Path, content: object) -> None:
        given = written(tmp_path, content) if content is not None else {KEY_FILE: str(tmp_path / "none")}
        with pytest.raises(ConfigurationError, match="names no file with the key") as caught:
            of_google(google, given)
        assert caught.value.sqlstate == "28000"

    def test_keys_of_other_kinds(self, google: GcsServer, tmp_path: Path) -> None:
        with pytest.raises(UnsupportedError, match='of the type "gdch_service_account"'):
            of_google(google, written(tmp_path, {"type": "gdch_service_account"}))


@pytest.fixture
def azure_proxy(azurite: AzuriteServer) -> Iterator[FaultProxy]:
    with fault_proxy(azurite.address) as proxy:
        yield proxy


class TestAzure:
    def test_a_key(self, azurite: AzuriteServer) -> None:
        for name in ("fs.azure.account.key", f"fs.azure.account.key.{ACCOUNT}.dfs.core.windows.net"):
            assert works(opened(CONTAINER, **{ENDPOINT: azurite.endpoint, name: KEY}), CONTAINER)

    @pytest.mark.parametrize(
        "container",
        [
            f"wasb://{BUCKET}@{ACCOUNT}.blob.core.windows.net",
            f"wasbs://{BUCKET}@{ACCOUNT}.blob.core.windows.net",
            f"abfs://{BUCKET}@{ACCOUNT}.dfs.core.windows.net",
            f"az://{BUCKET}",
            f"az://{BUCKET}@{ACCOUNT}",
        ],
    )
    def test_forms_of_uris(self, azurite: AzuriteServer, container: str) -> None:
        given = {ENDPOINT: azurite.endpoint, "fs.azure.account.key": KEY, "fs.azure.abfs.account.name": ACCOUNT}
        assert works(opened(container, **given), container)

    @pytest.mark.parametrize("mark", ["", "?"])
    def test_a_signature_of_a_container(self, azurite: AzuriteServer, azure_proxy: FaultProxy, mark: str) -> None:
        azurite.create_container("other")
        name = f"fs.azure.sas.{BUCKET}.{ACCOUNT}.blob.core.windows.net"
        given = {ENDPOINT: f"http://{azure_proxy.address}/{ACCOUNT}", name: mark + container_signature(BUCKET)}
        store = opened(CONTAINER, **given)
        assert works(store, CONTAINER)
        facts = store.put(f"{CONTAINER}/sas/from", b"1")
        assert store.copy(facts, f"{CONTAINER}/sas/to").size_bytes == 1
        assert "authorization" not in azure_proxy.seen[-1].headers
        other = CONTAINER.replace(BUCKET, "other", 1)
        with pytest.raises(StorageRefusedError, match="there are no keys"):
            opened(other, **given)
        with pytest.raises(StorageRefusedError):
            list(opened(other, **{**given, "fs.azure.sas.fixed.token": container_signature(BUCKET)}).list(other))

    def test_a_signature_of_an_account(self, azurite: AzuriteServer) -> None:
        given = {ENDPOINT: azurite.endpoint, "fs.azure.sas.fixed.token": account_signature()}
        # Azurite fails of batches that such a signature allows.
        assert works(opened(CONTAINER, **given), CONTAINER, deletes=False)
        reading = {ENDPOINT: azurite.endpoint, "fs.azure.sas.fixed.token": account_signature("rl")}
        store = opened(CONTAINER, **reading)
        assert len(list(store.list(f"{CONTAINER}/nothing"))) == 0
        with pytest.raises(StorageRefusedError, match="refuses access") as caught:
            store.put(f"{CONTAINER}/x", b"1")
        assert caught.value.sqlstate == "42501"

    def test_a_signature_in_no_error(self, azurite: AzuriteServer) -> None:
        signature = container_signature(BUCKET, "r")
        store = opened(CONTAINER, **{ENDPOINT: azurite.endpoint, "fs.azure.sas.fixed.token": signature})
        with pytest.raises(SharkError) as caught:
            list(store.list(f"{CONTAINER}/x"))
        assert "sig=" not in f"{caught.value!r}{caught.value}{caught.value.hint}"

    def test_keys_that_are_not_known(self, azurite: AzuriteServer) -> None:
        other = base64.b64encode(b"another key").decode()
        store = opened(CONTAINER, **{ENDPOINT: azurite.endpoint, "fs.azure.account.key": other})
        # Azure says AuthenticationFailed, and Azurite AuthorizationFailure.
        with pytest.raises(StorageRefusedError, match=r"refuses access .* made with keys of the engine's owner"):
            list(store.list(f"{CONTAINER}/x"))

    def test_a_program(self, azurite: AzuriteServer, azure_proxy: FaultProxy) -> None:
        """Azurite takes a token only by TLS, so the test checks the requests instead."""
        login = TokenServer(set())
        given = {f"{LOGIN}.id": "program", f"{LOGIN}.secret": "secret of it"}
        given[f"{LOGIN}.endpoint"] = f"http://{login.address}/tenant/oauth2/token"
        given[ENDPOINT] = f"http://{azure_proxy.address}/{ACCOUNT}"
        try:
            for _ in range(2):
                with pytest.raises(SharkError):
                    opened(CONTAINER, **given).stat(f"{CONTAINER}/x")
            ((path, form),) = login.asked
            assert path == "/tenant/oauth2/v2.0/token"
            assert (form["client_id"], form["client_secret"]) == ("program", "secret of it")
            assert form["scope"] == "https://storage.azure.com/.default"
            assert {one.headers["authorization"] for one in azure_proxy.seen} == {"Bearer token-0"}
            login.status = 401
            with pytest.raises(StorageRefusedError, match="gives no token for keys of the engine's owner") as caught:
                opened(CONTAINER, **{**given, f"{LOGIN}.id": "nobody"}).stat(f"{CONTAINER}/x")
            assert caught.value.sqlstate == "28000"
        finally:
            login.close()
        with pytest.raises(ExecutionError, match="who gives tokens for keys of the engine's owner") as away:
            opened(CONTAINER, **{**given, f"{LOGIN}.id": "other"}).stat(f"{CONTAINER}/x")
        assert away.value.sqlstate == "08001"

    def test_nobody_gives_tokens(self, azurite: AzuriteServer) -> None:
        (port,) = free_ports(1)
        given = {f"{LOGIN}.id": "i", f"{LOGIN}.secret": "s", f"{LOGIN}.endpoint": f"http://127.0.0.1:{port}/t/token"}
        with pytest.raises(ExecutionError, match="who gives tokens") as caught:
            opened(CONTAINER, **{**given, ENDPOINT: azurite.endpoint}).stat(f"{CONTAINER}/x")
        assert caught.value.sqlstate == "08001"

    def test_the_environment_changes_nothing(self, azurite: AzuriteServer, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in (
            ("AZURE_STORAGE_USE_EMULATOR", "true"),
            ("AZURE_SKIP_SIGNATURE", "true"),
            ("AZURE_STORAGE_TOKEN", "other"),
            ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9"),
            ("AZURE_CONTAINER_NAME", "other"),
            ("AZURITE_BLOB_STORAGE_URL", "http://127.0.0.1:9"),
        ):
            monkeypatch.setenv(name, value)
        assert works(opened(CONTAINER, **{ENDPOINT: azurite.endpoint, "fs.azure.account.key": KEY}), CONTAINER)

    def test_keys_of_the_environment(self, azurite: AzuriteServer, monkeypatch: pytest.MonkeyPatch) -> None:
        given = {ENDPOINT: azurite.endpoint}
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", container_signature(BUCKET))
        assert works(opened(f"az://{BUCKET}", **given), f"az://{BUCKET}")
        monkeypatch.setenv("AZURE_STORAGE_KEY", KEY)
        assert works(opened(f"az://{BUCKET}", **given), f"az://{BUCKET}")


def test_accesses_show_no_tokens() -> None:
    conf = Conf({"fs.gs.auth.access.token": "ya29.hidden", "fs.gs.auth.refresh.token": "1//hidden"})
    access: StorageAccess = access_to("gs://b", conf, conf)
    assert "hidden" not in f"{access!r}{dict(conf)}"
