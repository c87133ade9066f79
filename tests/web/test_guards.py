"""Checks of hosts and origins, and headers of answers."""

from __future__ import annotations

import pytest

from sharkpy.thrift.config import ServerConfig
from sharkpy.web.guards import Guard
from tests.web.conftest import Serve


async def nothing(*_: object) -> None: ...


@pytest.mark.parametrize(
    ("host", "is_known"),
    [
        *(("localhost", True), ("LOCALHOST:10002", True), ("127.0.0.1:80", True), ("[::1]:80", True)),
        *(("sharkpy.example.org", True), ("Sharkpy.Example.Org.:80", True), ("app.localhost", True)),
        *(("evil.example.org", False), ("localhost.evil.org", False), ("127.0.0.1.evil.org", False)),
        *(("", False), ("evil.org/localhost", False), ("evil@localhost", False), ("localhost:x", False), ("[", False)),
    ],
)
def test_hosts(host: str, is_known: bool) -> None:
    guard = Guard(nothing, ServerConfig(web_hosts=("sharkpy.example.org",)))
    assert guard.is_known(host) is is_known


def test_a_name_that_leads_here_is_refused(serve: Serve) -> None:
    with serve(web_hosts=("sharkpy.test",)).browser() as browser:
        for path in ("/api/v1/session", "/queries", "/", "/metrics"):
            answer = browser.get(path, headers={"Host": "evil.org"})
            assert answer.status_code == 421
            assert "evil.org" in answer.json()["error"]["message"]
        assert browser.get("/api/v1/session", headers={"Host": "sharkpy.test"}).status_code == 200
        assert browser.get("/healthz", headers={"Host": "balancer"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Origin": "{own}"}, 401),
        ({"Origin": "https://127.0.0.1:{port}"}, 401),
        ({"Origin": "http://evil.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "http://[::"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 401),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "{own}"}, 403),
    ],
)
def test_origins(serve: Serve, headers: dict[str, str], status: int) -> None:
    served = serve(knows_users=True)
    with served.browser() as browser:
        sent = {name: value.format(own=served.address, port=served.web.port) for name, value in headers.items()}
        answer = browser.post("/api/v1/login", json={"user": "ada", "password": "no"}, headers=sent)
        assert answer.status_code == status
        if status == 403:
            assert answer.json()["error"]["sqlstate"] == "42501"


@pytest.mark.parametrize("path", ["/", "/api/v1/session", "/nothing", "/queries", "/metrics"])
def test_headers(serve: Serve, path: str) -> None:
    with serve(knows_users=True).browser() as browser:
        headers = browser.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "server" not in headers


def test_pages_have_their_own_style(serve: Serve) -> None:
    with serve().browser() as browser:
        answer = browser.get("/queries")
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "frame-ancestors 'none'" in policy


def test_large_heads(serve: Serve) -> None:
    with serve().browser() as browser:
        assert browser.get("/healthz", headers={"X": "x" * 33_000}).status_code in (400, 431)
        assert browser.get("/healthz", headers=[(f"X-{number}", "x") for number in range(120)]).status_code == 431
