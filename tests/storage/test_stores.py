"""Stores by location, and how they ask for what a session may use."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base.errors import ConfigurationError, StorageRefusedError, UnsupportedError
from sharkpy.sources.storage.access import NO_KEYS
from sharkpy.sources.storage.object_reader import ObjectReader
from sharkpy.sources.storage.store import StoreLimits
from sharkpy.sources.storage.stores import store_of
from sharkpy.sources.storage.uploads import S3Bucket, signed_request
from tests.storage.fault_proxy import fault_proxy
from tests.storage.places import BUCKET, QUICK, access_to, s3_access, s3_store
from tests.storage.s3_servers import ACCESS_KEY, S3Server

KEYS = {"fs.s3a.access.key": "key", "fs.s3a.secret.key": "secret"}


def test_a_bucket_has_one_store() -> None:
    access = s3_access("127.0.0.1:9")
    store = store_of("s3://bucket/a/b", access)
    assert store_of("s3a://bucket", access) is store
    assert store_of("S3N://bucket/c/", access) is store
    assert store_of("s3://other", access) is not store
    assert store_of("s3://bucket", s3_access("127.0.0.1:9", secret="another")) is not store
    assert store_of("s3://bucket", access, StoreLimits(retries=1)) is not store


def test_paths_are_given_as_they_are_asked_for(moto: S3Server, folder: str) -> None:
    store = s3_store(moto.address)
    for scheme in ("s3", "s3a"):
        path = f"{scheme}{folder.removeprefix('s3')}/x"
        assert store.put(path, b"1").path == path
        assert [facts.path for facts in store.list(path.rpartition("/")[0])] == [path]


@pytest.mark.parametrize(
    ("options", "endpoint"),
    [
        ({}, "https://s3.us-east-1.amazonaws.com"),
        ({"fs.s3a.endpoint": "s3.amazonaws.com"}, "https://s3.us-east-1.amazonaws.com"),
        ({"fs.s3a.endpoint.region": "eu-west-1"}, "https://s3.eu-west-1.amazonaws.com"),
        ({"fs.s3a.endpoint.region": "cn-north-1"}, "https://s3.cn-north-1.amazonaws.com.cn"),
        ({"fs.s3a.endpoint": "minio:9000"}, "https://minio:9000"),
        ({"fs.s3a.endpoint": "minio:9000/", "fs.s3a.connection.ssl.enabled": "false"}, "http://minio:9000"),
        ({"fs.s3a.endpoint": "http://minio:9000"}, "http://minio:9000"),
    ],
)
def test_endpoints_of_s3(options: dict[str, str], endpoint: str) -> None:
    store = store_of("s3://bucket", access_to({**KEYS, **options}))
    assert isinstance(store, ObjectReader)
    assert store.name.endpoint == endpoint
    assert store.traits.is_sorted == ("amazonaws" in endpoint)


@pytest.mark.parametrize(
    ("options", "bucket", "host"),
    [
        ({}, "bucket", "bucket.s3.us-east-1.amazonaws.com"),
        ({}, "bucket.with.dots", "s3.us-east-1.amazonaws.com"),
        ({"fs.s3a.path.style.access": "true"}, "bucket", "s3.us-east-1.amazonaws.com"),
        ({"fs.s3a.endpoint": "minio:9000"}, "bucket", "minio:9000"),
        ({"fs.s3a.endpoint": "minio:9000", "fs.s3a.path.style.access": "false"}, "bucket", "bucket.minio:9000"),
    ],
)
def test_the_bucket_in_the_host_or_in_the_path(options: dict[str, str], bucket: str, host: str) -> None:
    from obstore.store import S3Store

    store = store_of(f"s3://{bucket}", access_to({**KEYS, **options}))
    assert isinstance(store, ObjectReader)
    assert isinstance(store.client, S3Store)
    assert dict(store.client.config)["endpoint_url_s3"] == f"https://{host}"


def test_the_environment_changes_nothing(moto: S3Server, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", "other"),
        ("AWS_SECRET_ACCESS_KEY", "other"),
        ("AWS_SESSION_TOKEN", "other"),
        ("AWS_SKIP_SIGNATURE", "true"),
        ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true"),
    ):
        monkeypatch.setenv(name, value)
    with fault_proxy(moto.address) as proxy:
        assert s3_store(proxy.address).stat(f"{folder}/x") is None
    (seen,) = proxy.seen
    assert seen.path.startswith(f"/{BUCKET}/")
    assert f"Credential={ACCESS_KEY}/" in seen.headers["authorization"]
    assert "/us-east-1/s3/" in seen.headers["authorization"]
    assert "x-amz-security-token" not in seen.headers


def test_keys_with_a_token_and_none_at_all(moto: S3Server, folder: str) -> None:
    with fault_proxy(moto.address) as proxy:
        endpoint = {"fs.s3a.endpoint": f"http://{proxy.address}"}
        temporary = access_to({**KEYS, **endpoint, "fs.s3a.session.token": "session-token"})
        store_of(folder, temporary, QUICK).stat(f"{folder}/x")
        provider = {"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}
        store_of(folder, access_to({**endpoint, **provider}, NO_KEYS), QUICK).stat(folder)
    assert [one.headers.get("x-amz-security-token") for one in proxy.seen] == ["session-token", None]
    assert ["authorization" in one.headers for one in proxy.seen] == [True, False]


@pytest.mark.parametrize("location", ["s3://bucket", "gs://bucket", "abfss://c@account.dfs.core.windows.net", "az://c"])
def test_without_keys(location: str) -> None:
    options = {"fs.azure.abfs.account.name": "account"}
    with pytest.raises(StorageRefusedError, match=r"there are no keys for .*SET fs[.]") as caught:
        store_of(f"{location}/t", access_to(options, NO_KEYS))
    assert caught.value.sqlstate == "28000"


@pytest.mark.parametrize(
    "options",
    [
        {"fs.azure.account.key": "a2V5"},
        {"fs.azure.sas.fixed.token": "sv=2024&sig=abc"},
        {
            "fs.azure.account.oauth2.client.id": "id",
            "fs.azure.account.oauth2.client.secret": "secret",
            "fs.azure.account.oauth2.client.endpoint": "https://login/tenant/oauth2/token",
        },
        {"shark.storage.metadata.service": "true"},
    ],
)
def test_keys_of_azure(options: dict[str, str]) -> None:
    store = store_of("abfss://c@account.dfs.core.windows.net/t", access_to(options))
    assert isinstance(store, ObjectReader)
    assert store.name.endpoint == "https://account.blob.core.windows.net"
    assert not store.traits.is_sorted


@pytest.mark.parametrize(
    ("place", "endpoint"),
    [
        ("wasb://c@account.blob.core.windows.net", "https://account.blob.core.windows.net"),
        ("abfs://c@account.dfs.core.chinacloudapi.cn", "https://account.blob.core.chinacloudapi.cn"),
        ("abfss://c@account.z07.dfs.storage.azure.net", "https://account.z07.blob.storage.azure.net"),
        ("abfss://work@onelake.dfs.fabric.microsoft.com", "https://onelake.blob.fabric.microsoft.com"),
        ("az://c", "https://mine.blob.core.windows.net"),
        ("az://c@account", "https://account.blob.core.windows.net"),
    ],
)
def test_endpoints_of_azure(place: str, endpoint: str) -> None:
    options = {"fs.azure.account.key": "a2V5", "fs.azure.abfs.account.name": "mine"}
    assert store_of(f"{place}/t", access_to(options)).name.endpoint == endpoint


def test_a_container_without_an_account() -> None:
    with pytest.raises(ConfigurationError, match='no account for the container "c"'):
        store_of("az://c/t", access_to({}))


def test_google_without_keys_for_what_all_may_read() -> None:
    store = store_of("gs://bucket/t", access_to({"fs.gs.auth.type": "UNAUTHENTICATED"}, NO_KEYS))
    assert isinstance(store, ObjectReader)
    assert store.name.endpoint == "https://storage.googleapis.com"
    assert store.traits.is_sorted


def test_a_scheme_without_a_store() -> None:
    with pytest.raises(UnsupportedError, match='scheme "ftp"'):
        store_of("ftp://host/t", access_to({}))


def test_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match=r"needs obstore.*sharkpy\[lake-s3\]"):
        store_of("s3://not-opened-yet", access_to(KEYS))


@pytest.mark.parametrize(
    ("query", "signature"),
    [
        ({"lifecycle": ""}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ({"prefix": "J", "max-keys": "2"}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_signatures_of_amazons_documentation(query: dict[str, str], signature: str) -> None:
    """Of "Authenticating Requests: Using the Authorization Header", its examples."""
    keys = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "")
    bucket = S3Bucket("https://examplebucket.s3.amazonaws.com", "us-east-1", lambda: keys)
    request = signed_request(bucket, "GET", "", query, datetime(2013, 5, 24, tzinfo=UTC))
    authorization = request.get_header("Authorization")
    assert authorization is not None
    assert authorization.endswith(f"Signature={signature}")
