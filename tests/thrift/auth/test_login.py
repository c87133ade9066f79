"""One login: invalid names and passwords, delays after wrong guesses, and the log."""

from __future__ import annotations

import itertools
import logging
import threading
import time

import pytest

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.auth import AuthenticationError, Login, login_for
from sharkpy.thrift.auth import login as recent_logins_module
from sharkpy.thrift.auth import login_throttle as failed_logins_module
from sharkpy.thrift.auth.login import RecentLogins
from sharkpy.thrift.auth.login_throttle import FailedLogins
from sharkpy.thrift.config import ServerConfig


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class SameTwice:
    """Accepts a user whose password equals the name."""

    checks_at_once = 2

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def authenticate(self, user: str, password: str) -> None:
        self.asked.append((user, password))
        if user != password:
            raise AuthenticationError("wrong user name or password")

    def version(self) -> object:
        return None


def login_with(authenticator: SameTwice, pauses: list[float]) -> Login:
    return Login(authenticator, pause=pauses.append, checks_all=True)


@pytest.mark.parametrize(
    ("user", "password", "text"),
    [
        (b"", b"x", "user name is empty"),
        (b"\xff", b"x", "user name is not UTF-8"),
        (b"a\0b", b"x", "cannot be printed"),
        (b"a\nb", b"x", "cannot be printed"),
        (b"x" * 257, b"x", "longer than 256"),
        (b"bob", b"", "password is empty"),
        (b"bob", b"x" * 1025, "longer than 1024"),
        (b"bob", b"x" * 10_000_000, "longer than 1024"),
        (b"bob", b"b\0b", "NUL"),
        (b"bob", b"\xff\xfe", "password is not UTF-8"),
        (b"bob", b"wrong", "wrong user name or password"),
    ],
)
def test_refused(user: bytes, password: bytes, text: str, caplog: pytest.LogCaptureFixture) -> None:
    authenticator = SameTwice()
    with pytest.raises(AuthenticationError, match=text) as caught:
        login_with(authenticator, []).check(user, password, "here")
    assert caught.value.sqlstate == "28000"
    assert len(authenticator.asked) == (1 if password == b"wrong" else 0)
    assert len(caplog.records) == 1
    assert "\n" not in caplog.messages[0]
    assert all(secret not in caplog.text for secret in ("xxx", '"wrong"', ": wrong\n"))


def test_without_authentication_all_names_and_passwords_will_do() -> None:
    for auth in ("none", "nosasl"):
        login = login_for(ServerConfig(auth=auth), time.sleep)
        for password in (b"", b"x", b"\xff\0", b"x" * 100_000):
            assert login.check("jürgen".encode(), password, "here") == "jürgen"


def test_delays_grow_and_end_with_a_success(clock: Clock) -> None:
    pauses: list[float] = []
    login = login_with(SameTwice(), pauses)
    for _ in range(9):
        with pytest.raises(AuthenticationError):
            login.check(b"bob", b"wrong", "here")
    assert pauses[0] == 0
    assert pauses[1] == pytest.approx(0.1)
    assert all(later > sooner for sooner, later in itertools.pairwise(pauses))
    assert max(pauses) <= failed_logins_module.LONGEST_DELAYED_WAIT


def test_the_rest_waits_for_nobody(clock: Clock) -> None:
    pauses: list[float] = []
    login = login_with(SameTwice(), pauses)
    for _ in range(4):
        with pytest.raises(AuthenticationError):
            login.check(b"bob", b"wrong", "here")
    pauses.clear()
    login.check(b"ann", b"ann", "here")
    login.check(b"bob", b"bob", "there")
    assert pauses == [0.0, 0.0]


def test_too_many_at_once_are_turned_away_unseen(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    authenticator = SameTwice()
    login = login_with(authenticator, [])
    refused: list[str] = []
    for _ in range(50):
        with pytest.raises(AuthenticationError) as caught:
            login.check(b"bob", b"wrong", "here")
        refused.append(caught.value.message)
    assert refused.count("too many failed logins: try again later") > 30
    assert len(authenticator.asked) < 20
    clock.now += 60
    assert login.check(b"bob", b"bob", "here") == "bob"


def test_a_slow_failure_blocks_nobody_else() -> None:
    asked = threading.Event()
    login = Login(SameTwice(), pause=lambda seconds: seconds and asked.wait(10), checks_all=True)
    with pytest.raises(AuthenticationError):
        login.check(b"bob", b"wrong", "here")
    waits = threading.Thread(target=lambda: login.check(b"bob", b"bob", "here"))
    waits.start()
    assert login.check(b"ann", b"ann", "here") == "ann"
    assert waits.is_alive()
    asked.set()
    waits.join()


def test_failures_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_logins_module, "MOST_FAILED_LOGINS", 10)
    failures = FailedLogins()
    for number in range(100):
        failures.failed(f"user{number}", "here")
    assert len(failures._failures) == 10
    assert failures.delay("user0", "here") == 0
    assert (failures.delay("user99", "here") or 0) > 0


def test_failures_are_forgotten_after_a_while(clock: Clock) -> None:
    failures = FailedLogins()
    for _ in range(5):
        failures.failed("bob", "here")
    clock.now += failed_logins_module.FORGET_AFTER_SECONDS + 10
    assert failures.delay("bob", "here") == 0
    assert failures.failed("bob", "here") == 1


def test_recent_logins_end_and_are_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_logins_module, "MOST_RECENT_LOGINS", 3)
    recent = RecentLogins()
    for user in "abcd":
        recent.add(user, "x", 1)
    assert [recent.has(user, "x", 1) for user in "abcd"] == [False, True, True, True]
    assert not recent.has("d", "y", 1)
    assert not recent.has("d", "x", 2)
    clock.now += recent_logins_module.RECENT_SECONDS + 1
    assert not recent.has("d", "x", 1)


def test_failures_are_logged_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(AuthenticationError):
        login_with(SameTwice(), []).check(b"bob", b"s3cret", "10.0.0.1")
    assert caplog.messages == ['login of "bob" from 10.0.0.1 failed (1): wrong user name or password']


@pytest.mark.parametrize(
    "name", ["", "operator", "operator:", ":eq", "no_such_module:f", "operator:nothing", "math:pi"]
)
def test_custom_functions_that_are_none(name: str) -> None:
    with pytest.raises(ConfigurationError):
        login_for(ServerConfig(auth="custom", custom_auth=name), time.sleep)


def test_custom_functions(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    import sys
    import types

    def guard(user: str, password: str) -> object:
        return (
            {"yes": True, "no": False, "none": None, "text": "True", "raise": 1}[password] if password != "?" else 1 / 0
        )

    module = types.ModuleType("guards_of_this_test")
    module.guard = guard  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    login = login_for(ServerConfig(auth="custom", custom_auth="guards_of_this_test:guard"), lambda _: None)
    assert login.check(b"bob", b"yes", "here") == "bob"
    for password in (b"no", b"none", b"text", b"raise"):
        with pytest.raises(AuthenticationError, match="wrong user name or password"):
            login.check(b"bob", password, password.decode())
    with pytest.raises(AuthenticationError, match="could not be checked"):
        login.check(b"bob", b"?", "elsewhere")
    assert "ZeroDivisionError" in caplog.text


def test_a_success_forgets_the_failures(clock: Clock) -> None:
    pauses: list[float] = []
    login = login_with(SameTwice(), pauses)
    for _ in range(5):
        with pytest.raises(AuthenticationError):
            login.check(b"bob", b"wrong", "here")
    login.check(b"bob", b"bob", "here")
    login.check(b"bob", b"bob", "here")
    assert pauses[-1] == 0
