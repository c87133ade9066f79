"""Logins of browsers: cookies, tokens, their end, and the pages that need them."""

from __future__ import annotations

import time
from http.cookies import SimpleCookie

import httpx
import pytest

from sharkpy.thrift.config import Limits
from sharkpy.web.logins import BrowserLogins
from tests.web.conftest import Serve


def test_a_server_without_logins(serve: Serve) -> None:
    with serve().browser() as browser:
        assert browser.get("/healthz").text == "ok\n"
        session = browser.get("/api/v1/session").json()
        assert (session["user"], session["is_admin"], session["needs_login"]) == ("", False, False)
        assert session["csrf_token"] is None


def test_login_and_logout(serve: Serve) -> None:
    served = serve(knows_users=True)
    with served.browser() as browser:
        refused = browser.get("/api/v1/session")
        assert refused.status_code == 401
        assert refused.json()["error"]["sqlstate"] == "28000"
        assert "WWW-Authenticate" not in refused.headers, "the page has its own form"
        wrong = browser.post("/api/v1/login", json={"user": "ada", "password": "wrong"})
        assert wrong.status_code == 401
        assert "set-cookie" not in wrong.headers
        answer = browser.post("/api/v1/login", json={"user": "ada", "password": "secret ada"})
        [(name, cookie)] = SimpleCookie(answer.headers["set-cookie"]).items()
        assert str(served.web.port) in name
        assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", "/")
        assert not cookie["secure"], "without TLS"
        session = browser.get("/api/v1/session").json()
        assert (session["user"], session["csrf_token"]) == ("ada", answer.json()["csrf_token"])
        assert browser.post("/api/v1/logout").status_code == 403, "without the token"
        token = {"X-CSRF-Token": session["csrf_token"]}
        assert browser.post("/api/v1/logout", headers={"X-CSRF-Token": "é".encode()}).status_code == 403
        value = browser.cookies[name]
        assert browser.post("/api/v1/logout", headers=token).status_code == 204
        assert browser.get("/api/v1/session", headers={"Cookie": f"{name}={value}"}).status_code == 401


def test_a_name_and_a_password_with_each_request(serve: Serve) -> None:
    served = serve(knows_users=True)
    with served.browser(auth=("root", "secret root")) as program:
        session = program.get("/api/v1/session").json()
        assert (session["user"], session["is_admin"], session["csrf_token"]) == ("root", True, None)
        assert program.get("/queries").status_code == 200
    with served.browser(auth=("root", "wrong")) as program:
        assert program.get("/api/v1/session").status_code == 401
    with served.browser(headers={"Authorization": "Basic ===="}) as program:
        assert program.get("/api/v1/session").status_code == 401
    with served.browser() as reader:
        assert reader.get("/queries").headers["WWW-Authenticate"].startswith("Basic")


def test_a_token_of_a_login(serve: Serve) -> None:
    served = serve(knows_users=True)
    body = {"user": "ada", "password": "secret ada"}
    with served.browser() as program, served.browser() as browser:
        assert program.post("/api/v1/login", json={**body, "password": "x", "gives_token": True}).status_code == 401
        usual = browser.post("/api/v1/login", json=body)
        assert "token" not in usual.json(), "the page does not learn the cookie's value"
        answer = program.post("/api/v1/login", json={**body, "gives_token": True})
        assert "set-cookie" not in answer.headers
        assert answer.headers["Cache-Control"] == "no-store"
        token = {"Authorization": f"Bearer {answer.json()['token']}"}
        assert program.get("/api/v1/session", headers=token).json()["user"] == "ada"
        ran = program.post("/v1/sql", json={"statement": "SELECT 1"}, headers=token)
        assert ran.status_code == 200, "a token needs no X-CSRF-Token"
        for wrong in ("Bearer", "Bearer x"):
            refused = browser.get("/api/v1/session", headers={"Authorization": wrong})
            assert refused.status_code == 401, "the cookie does not count then"
        assert program.post("/api/v1/logout", headers=token).status_code == 204
        assert program.get("/api/v1/session", headers=token).status_code == 401
        assert browser.get("/api/v1/session").status_code == 200, "another login"


@pytest.mark.parametrize("knows_users", [False, True])
def test_unknown_tokens_are_refused(serve: Serve, knows_users: bool) -> None:
    with serve(knows_users=knows_users).browser(headers={"Authorization": "Bearer eyJhbGciOi.e30.x"}) as program:
        for answer in (program.get("/api/v1/session"), program.post("/v1/sql", json={"statement": "SELECT 1"})):
            assert answer.status_code == 401
            error = answer.json()["error"]
            assert error["sqlstate"] == "28000"
            assert "HTTP Basic" in error["message"]
            assert "eyJ" not in answer.text


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"user": 1, "password": "x"}', b'{"user": "ada"}', b"[" * 100_000]
)
def test_malformed_logins(serve: Serve, body: bytes) -> None:
    with serve(knows_users=True).browser() as browser:
        answer = browser.post("/api/v1/login", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400
        assert answer.json()["error"]["message"]
        form = browser.post("/api/v1/login", data={"user": "ada", "password": "secret ada"})
        assert form.status_code == 415, "a form of another site could send it"


def test_other_users_and_passwords_end_logins(serve: Serve, passwords: object) -> None:
    served = serve(knows_users=True)
    with served.browser("bob") as browser:
        assert browser.get("/api/v1/session").status_code == 200
        served.server.login.version = lambda: "another"  # type: ignore[method-assign]
        assert browser.get("/api/v1/session").status_code == 401


def test_the_end_of_logins() -> None:
    logins = BrowserLogins(Limits(idle_session_seconds=0.05))
    value, login = logins.add("ada", 1)
    assert logins.find(value, 1) is login
    assert logins.find(value + "x", 1) is None
    time.sleep(0.1)
    assert logins.find(value, 1) is None
    logins = BrowserLogins(Limits(web_login_seconds=0.05))
    value, _ = logins.add("ada", 1)
    time.sleep(0.1)
    assert logins.find(value, 1) is None
    assert len(logins) == 0


def test_the_number_of_logins() -> None:
    logins = BrowserLogins(Limits(web_logins=10))
    first, _ = logins.add("bob", 1)
    values = [logins.add("ada", 1)[0] for _ in range(100)]
    assert len(logins) == 10
    assert logins.find(first, 1) is not None, "the user with most of them loses the oldest"
    assert [logins.find(value, 1) is not None for value in values] == [False] * 91 + [True] * 9


def test_guessing_is_slow(serve: Serve) -> None:
    with serve(knows_users=True).browser() as browser:
        began = time.monotonic()
        for number in range(4):
            answer = browser.post("/api/v1/login", json={"user": "bob", "password": f"guess {number}"})
            assert answer.status_code == 401
        assert time.monotonic() - began > 0.1 + 0.2 + 0.4
        assert isinstance(answer, httpx.Response)
