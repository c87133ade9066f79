"""`sharkpy doctor <uri>`: each wrong setting has a sentence."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sharkpy.base.settings import Conf
from sharkpy.cli.main import main
from sharkpy.cli.storage_doctor import storage_checks
from sharkpy.sources.storage.bucket_store import BucketStore
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.files_server import FilesServer
from tests.storage.loopback import LoopbackServer, QuietHandler
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server

Lines = list[tuple[bool, str, str]]


@pytest.fixture
def place(s3: Any, proxy: FaultProxy) -> str:
    proxy.rules.clear()
    key = uuid4().hex
    s3.put_object(Bucket=BUCKET, Key=f"{key}/x.csv", Body=b"k\n1\n")
    return f"s3a://{BUCKET}/{key}"


def keys(address: str, **more: str) -> dict[str, str]:
    given = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{address}"}
    given |= {name.replace("_", "."): value for name, value in more.items()}
    return {f"fs.s3a.{name}": value for name, value in given.items()}


def checks(location: str, given: dict[str, str], *, writes: bool = False) -> Lines:
    found = list(storage_checks(location, Conf(given), writes=writes))
    assert all(is_well for is_well, _, _ in found[:-1])
    assert SECRET not in str(found)
    return found


def wrong(location: str, given: dict[str, str], *, writes: bool = False) -> tuple[str, str]:
    """Step and sentence of the failure."""
    is_well, step, text = checks(location, given, writes=writes)[-1]
    assert not is_well
    assert "\n" not in text
    return step, text


def test_all_is_well(place: str, proxy: FaultProxy, s3: Any) -> None:
    found = checks(place, keys(proxy.address), writes=True)
    assert [step for _, step, _ in found] == ["address", "keys", "list", "read", "write"]
    assert all(is_well for is_well, _, _ in found)
    assert proxy.address in found[0][2]
    assert found[1][2] == "keys of the engine's owner"
    assert found[2][2] == "1 objects below it"
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix=place.partition(f"{BUCKET}/")[2])["Contents"]
    assert [one["Key"].rpartition("/")[2] for one in listed] == ["x.csv"]
    assert checks(f"{place}/x.csv", keys(proxy.address))[2][2] == "a file of 4 bytes"
    assert checks(f"{place}/none", keys(proxy.address))[2:] == [
        (True, "list", "nothing is there yet"),
        (True, "read", "there is no file to read"),
    ]


def test_the_command(place: str, proxy: FaultProxy, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [part for name, value in keys(proxy.address).items() for part in ("--set", f"{name}={value}")]
    assert main([*sets, "doctor", place]) == 0
    assert "ok   read             1 of 4 bytes of x.csv" in capsys.readouterr().out
    assert main([*sets, "doctor", f"s3a://nobody-has-it{uuid4().hex}/x", "--write"]) == 1
    assert "FAIL list             there is no bucket nobody-has-it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("endpoint", "more", "sentence"),
    [
        (
            "http://127.0.0.1:1",
            {},
            "no server listens at http://127.0.0.1:1: correct the host or the port in fs.s3a.endpoint",
        ),
        ("http://none.invalid", {}, "nobody knows the host of http://none.invalid: correct it in fs.s3a.endpoint"),
        (
            "http://none.invalid",
            {"path_style_access": "false"},
            f"no host {BUCKET}.none.invalid: SET fs.s3a.path.style.access=true",
        ),
        ("https://{}", {}, "does not speak TLS: write http:// before the host in fs.s3a.endpoint"),
        ("http://{}", {"secret_key": ""}, "fs.s3a.access.key is given without fs.s3a.secret.key"),
        ("http://{}", {"secret_key": "", "access_key": ""}, "there are no keys for"),
    ],
)
def test_wrong_settings(place: str, proxy: FaultProxy, endpoint: str, more: dict[str, str], sentence: str) -> None:
    given = keys(proxy.address, endpoint=endpoint.format(proxy.address), **more)
    assert sentence in wrong(place, {name: value for name, value in given.items() if value})[1]


@pytest.mark.parametrize(
    ("rule", "step", "sentence"),
    [
        (
            Rule("GET", "list-type", status=403, code="InvalidAccessKeyId"),
            "list",
            "does not know the key: correct fs.s3a.access.key",
        ),
        (
            Rule("GET", "list-type", status=403, code="SignatureDoesNotMatch"),
            "list",
            "not that of the key: correct fs.s3a.secret.key",
        ),
        (Rule("GET", "list-type", status=400, code="ExpiredToken"), "list", "the session token has expired"),
        (
            Rule("GET", "list-type", status=403, code="RequestTimeTooSkewed"),
            "list",
            "the clock of this machine is wrong",
        ),
        (Rule("GET", "list-type", status=401), "list", "does not accept the keys: correct fs.s3a.access.key and"),
        (
            Rule("GET", "list-type", status=403, code="AccessDenied"),
            "list",
            f"let their owner have s3:ListBucket on {BUCKET}",
        ),
        (
            Rule("GET", "x.csv", status=403, code="AccessDenied"),
            "read",
            f"let their owner have s3:GetObject on {BUCKET}",
        ),
        (Rule("PUT", "", status=403, code="AccessDenied"), "write", "s3:PutObject and s3:DeleteObject"),
        (
            Rule("GET", "", status=400, code="AuthorizationHeaderMalformed"),
            "list",
            "not in the region .*SET fs.s3a.endpoint.region",
        ),
        (Rule("GET", "", status=503, code="SlowDown"), "list", "is too busy: ask again later"),
        (Rule("GET", "", cut_answer=0), "list", "breaks the connection off"),
    ],
)
def test_refusals(place: str, proxy: FaultProxy, rule: Rule, step: str, sentence: str) -> None:
    import re

    proxy.rules.append(rule)
    found, text = wrong(place, keys(proxy.address), writes=True)
    assert found == step
    assert re.search(sentence, text)


def test_keys_that_a_server_does_not_know(seaweed: S3Server) -> None:
    place = f"s3://{BUCKET}/doctor"
    assert "does not know the key" in wrong(place, keys(seaweed.address, access_key="nobody"))[1]
    assert "the secret is not that of the key" in wrong(place, keys(seaweed.address, secret_key="another"))[1]
    anonymous = {"fs.s3a.endpoint": f"http://{seaweed.address}"}
    anonymous["fs.s3a.aws.credentials.provider"] = "AnonymousAWSCredentialsProvider"
    step, text = wrong(place, anonymous)
    assert step == "list"
    assert "keys" in text
    assert all(is_well for is_well, _, _ in checks(place, keys(seaweed.address), writes=True))


@pytest.mark.parametrize(
    ("location", "sentence"),
    [
        ("ftp://host/x", "is no address of storage"),
        ("/tmp/x", "is no address of storage"),
        ("s3://KEY:SECRET@bucket/x", "leave it out"),
        ("s3://a$b/x", "names no bucket"),
        ("http://169.254.169.254/x", "machines ask there for their own keys"),
        ("az://c/x", "there is no account for the container"),
    ],
)
def test_addresses(location: str, sentence: str) -> None:
    step, text = wrong(location, {})
    assert step == "address"
    assert sentence in text


def test_keys_of_other_clouds(tmp_path: Path) -> None:
    key = "fs.gs.auth.service.account.json.keyfile"
    assert f"{key} names no file" in wrong("gs://bucket/x", {key: str(tmp_path / "none.json")})[1]
    account = {"fs.azure.account.key.me.dfs.core.windows.net": "no base64!"}
    assert "the key of the account me is none" in wrong("abfss://c@me.dfs.core.windows.net/x", account)[1]
    assert "there are no keys" in wrong("gs://bucket/x", {})[1]
    google = {"fs.gs.auth.type": "UNAUTHENTICATED", "fs.gs.storage.root.url": "http://127.0.0.1:1"}
    assert "the port in fs.gs.storage.root.url" in wrong("gs://bucket/x", google)[1]
    azure = {"fs.azure.account.key": "a2V5", "fs.azure.storage.endpoint": "http://127.0.0.1:1/me"}
    assert "the port in fs.azure.storage.endpoint" in wrong("abfss://c@me.dfs.core.windows.net/x", azure)[1]


def test_sites(tmp_path: Path) -> None:
    server = FilesServer(tmp_path)
    try:
        server.put("x.csv", b"k\n1\n")
        url = f"http://{server.address}"
        assert all(is_well for is_well, _, _ in checks(f"{url}/x.csv", {}))
        assert "there is no file at" in wrong(f"{url}/y.csv", {})[1]
        assert "takes no files" in wrong(f"{url}/x.csv", {}, writes=True)[1]
        server.has_ranges = False
        assert "gives whole files where parts are asked for" in wrong(f"{url}/x.csv", {})[1]
    finally:
        server.close()


def test_a_store_that_puts_an_object_twice(place: str, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BucketStore, "put_new", lambda *_: True)
    step, text = wrong(place, keys(proxy.address), writes=True)
    assert step == "write"
    assert "two writers could lose rows" in text


class Page(QuietHandler):
    """A page of 13 bytes for people, as consoles have at the port next to the storage's."""

    owner: bytes

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "13")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.owner)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"<html></html>", "gives whole files where parts"), (b"Hello, world!", "answers, but as no such storage does")],
)
def test_another_server(place: str, content: bytes, sentence: str) -> None:
    server = LoopbackServer(Page, content)
    try:
        step, text = wrong(place, keys(server.address))
        assert sentence in text
        assert "the port in fs.s3a.endpoint" in text
        assert step in ("list", "read")
    finally:
        server.close()


def certificate(folder: Path) -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests of sharkpy")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (folder / "key").write_bytes(private)
    (folder / "certificate").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return str(folder / "certificate"), str(folder / "key")


def test_tls(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path))
    server = LoopbackServer(Page, b"<html></html>")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    try:
        trusted = keys(server.address, endpoint=f"https://{server.address}")
        assert "has signed the certificate" in wrong(place, trusted)[1]
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
        named = f"https://localhost:{server.address.partition(':')[2]}"
        assert "gives whole files" in wrong(place, keys(server.address, endpoint=named))[1]
        plain = wrong(place, keys(server.address))[1]
        assert "write https:// before the host" in plain or "correct the host or the port" in plain
    finally:
        server.close()
