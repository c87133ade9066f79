"""A thousand malformed requests: each has an answer of the client's fault, and the server works on."""

from __future__ import annotations

import json
import os
import random
import string
from http.client import HTTPConnection
from urllib.parse import quote

from tests.web.conftest import Serve

PATHS = (
    *("/api/v1/session", "/api/v1/login", "/api/v1/logout", "/api/v1/queries", "/api/v1/queries/x", "/api/v1/shapes"),
    *("/api/v1/queries/x/cancel", "/api/v1/openapi.json", "/queries", "/queries/x", "/operations/x", "/", "/nothing"),
)
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "FOO")
NAMES = ("state", "user", "text", "since", "until", "sort", "descending", "limit", "cursor", "other")
BODIES = (
    b"",
    b"{",
    b"null",
    b"[]",
    b'{"user": null}',
    b"\xff\xfe",
    b'{"user":"a","password":"\\ud800"}',
    b"1e999",
    b"NaN",
)
HEADERS = {
    "Authorization": ("Basic", "Basic x", "Basic Og==", "Bearer x", "Basic /////w=="),
    "Cookie": ("a", "sharkpy-1=x; ;=;", "=" * 500),
    "Content-Type": ("application/json", "text/plain", "application/json; charset=x", ";"),
    "X-CSRF-Token": ("x", "\xff"),
    "Accept-Encoding": ("gzip;q=x", ",,,", "*"),
    "If-None-Match": ("*", '"'),
    "Expect": ("100-continue",),
    "Upgrade": ("websocket",),
}


SEED = int(os.environ.get("SHARKPY_WEB_SEED", "1"))


def text(choose: random.Random) -> str:
    return "".join(choose.choices(string.printable + "é😀\0'\"\\%", k=choose.randrange(30)))


def test_a_thousand_malformed_requests(serve: Serve) -> None:
    choose = random.Random(SEED)
    served = serve(knows_users=True)
    connection = HTTPConnection("127.0.0.1", served.web.port, timeout=60)
    for _ in range(1_000):
        path = choose.choice(PATHS) + choose.choice(["", "", "/", "//", f"/{quote(text(choose))}"])
        query = "&".join(f"{choose.choice(NAMES)}={quote(text(choose))}" for _ in range(choose.randrange(3)))
        chosen = choose.sample(list(HEADERS), k=choose.randrange(4))
        headers = {name: choose.choice(HEADERS[name]) for name in chosen}
        method, body = choose.choice(METHODS), choose.choice(BODIES)
        connection.request(method, f"{path}?{query}" if query else path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status < 500, (method, path, query, headers, body, content)
        if answer.status >= 400 and path.startswith("/api/") and method != "HEAD" and content:
            assert json.loads(content)["error"]["message"]
    connection.close()
    with served.browser() as browser:
        assert browser.get("/healthz").text == "ok\n"


def test_malformed_queries_of_one_who_may_read(serve: Serve) -> None:
    choose = random.Random(SEED)
    with serve().browser() as browser:
        for _ in range(300):
            parameters = {choose.choice(NAMES): text(choose) for _ in range(choose.randrange(4))}
            assert browser.get("/api/v1/queries", params=parameters).status_code in (200, 400), parameters
            assert browser.get(f"/api/v1/queries/{quote(text(choose) or 'x', safe='')}").status_code == 404
