"""The console over TLS: the server's certificate, and a cookie that only TLS carries."""

from __future__ import annotations

import socket
import ssl
from http.cookies import SimpleCookie
from pathlib import Path

import httpx

from tests.web.conftest import Serve

FOLDER = Path(__file__).parents[1] / "thrift" / "transport" / "tls"


def test_a_cookie_over_tls(serve: Serve) -> None:
    certificate = FOLDER / "server.crt"
    served = serve(knows_users=True, tls_cert=certificate, tls_key=FOLDER / "server.key")
    assert served.web.url.startswith("https://")
    context = ssl.create_default_context(cafile=certificate)
    with httpx.Client(base_url=served.web.url, verify=context) as browser:
        answer = browser.post("/api/v1/login", json={"user": "ada", "password": "secret ada"})
        [(name, cookie)] = SimpleCookie(answer.headers["set-cookie"]).items()
        assert name.startswith("__Host-sharkpy-")
        assert cookie["secure"]
        assert browser.get("/api/v1/session").json()["user"] == "ada"


def test_clients_without_tls_do_no_harm(serve: Serve) -> None:
    certificate = FOLDER / "server.crt"
    served = serve(tls_cert=certificate, tls_key=FOLDER / "server.key")
    for sent in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", b"\x16\x03\x01"):
        with socket.create_connection(("127.0.0.1", served.web.port), timeout=20) as sock:
            sock.sendall(sent)
    with httpx.Client(base_url=served.web.url, verify=ssl.create_default_context(cafile=certificate)) as browser:
        assert browser.get("/healthz").text == "ok\n"
