"""URLs of servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharkpy.base.errors import ConfigurationError, SharkError, UnsupportedError
from sharkpy.client import ServerUrl, parse_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hive2://", ServerUrl("localhost")),
        ("hive2://host", ServerUrl("host")),
        ("jdbc:hive2://host:1234/db", ServerUrl("host", 1234, "db")),
        ("hive2://ann:p%40ss@host/db", ServerUrl("host", database="db", user="ann", password="p@ss")),
        ("hive2://[::1]:77/", ServerUrl("::1", 77)),
        ("hive2://h/;auth=noSasl", ServerUrl("h", transport="nosasl")),
        ("hive2://h;transportMode=http;httpPath=/x", ServerUrl("h", transport="http", http_path="x")),
        (
            "hive2://h/db;ssl=true;sslTrustStore=/ca.pem",
            ServerUrl("h", database="db", is_tls=True, tls_ca=Path("/ca.pem")),
        ),
        ("hive2://h/;user=u;password=p;fetchSize=5", ServerUrl("h", user="u", password="p", fetch_rows=5)),
        (
            "hive2://h/d?a.b=1;c=2#v=3",
            ServerUrl("h", database="d", settings={"a.b": "1", "c": "2"}, hivevars={"v": "3"}),
        ),
    ],
)
def test_reading(text: str, expected: ServerUrl) -> None:
    assert parse_url(text) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("mysql://host", ConfigurationError),
        ("hive2://host:port", ConfigurationError),
        ("hive2://h;transportMode=pigeon", ConfigurationError),
        ("hive2://h;fetchSize=many", ConfigurationError),
        ("hive2://a:1,b:2/db", UnsupportedError),
        ("hive2://h/;principal=hive/_HOST@X", UnsupportedError),
        ("hive2://h/;serviceDiscoveryMode=zooKeeper", UnsupportedError),
    ],
)
def test_refusing(text: str, kind: type[SharkError]) -> None:
    with pytest.raises(kind):
        parse_url(text)


def test_a_password_is_in_no_text() -> None:
    url = parse_url("hive2://ann:secret@host/")
    assert "secret" not in f"{url} {url!r}"
