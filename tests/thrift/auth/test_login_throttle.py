"""Logins that wait for their check: no address keeps other addresses out, and abandoned logins are soon forgotten."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from sharkpy.thrift.auth import AuthenticationError, Login
from sharkpy.thrift.auth.login_throttle import MOST_WAITING, BusyError, LoginQueue, address_of
from tests.waiting import allowed, until


class Slow:
    """Accepts a user whose password equals the name. A check ends when `answers` has a permit for it."""

    checks_at_once = 2

    def __init__(self) -> None:
        self.answers = threading.Semaphore(0)
        self.asked: list[str] = []

    def authenticate(self, user: str, password: str) -> None:
        self.asked.append(user)
        self.answers.acquire(timeout=60)
        if user != password:
            raise AuthenticationError("wrong user name or password")

    def version(self) -> object:
        return None


def in_thread(call: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def test_a_flood_of_random_names_ends_with_its_clients() -> None:
    slow = Slow()
    login = Login(slow, pause=lambda _: None, checks_all=True)
    refused: list[str] = []

    def guess(number: int) -> None:
        try:
            login.check(f"name{number}".encode(), b"wrong", "10.0.0.1")
        except AuthenticationError as error:
            refused.append(error.message)

    flood = [in_thread(lambda number=number: guess(number)) for number in range(200)]  # type: ignore[misc]
    most = MOST_WAITING + slow.checks_at_once
    until(lambda: len(refused) == 200 - most)
    assert set(refused) == {"too many logins at once: try again later"}
    other = in_thread(lambda: login.check(b"ann", b"ann", "10.0.0.2"))
    until(lambda: ("10.0.0.2", False) in login._queue._waiting)
    slow.answers.release(2)
    until(lambda: len(slow.asked) == slow.checks_at_once + 2)
    assert "ann" in slow.asked, "addresses take turns"
    slow.answers.release(200)
    for thread in (*flood, other):
        thread.join()
    assert len(slow.asked) == most + 1


def test_users_of_an_address_that_is_flooded() -> None:
    slow = Slow()
    login = Login(slow, pause=lambda _: None, checks_all=True)
    slow.answers.release()
    login.check(b"ann", b"ann", "10.0.0.1")
    login._recent._until.clear()
    slow.asked.clear()

    def guess(number: int) -> None:
        with pytest.raises(AuthenticationError):
            login.check(f"name{number}".encode(), b"wrong", "10.0.0.1")

    flood = [in_thread(lambda number=number: guess(number)) for number in range(100)]  # type: ignore[misc]
    until(lambda: len(login._queue._waiting.get(("10.0.0.1", False), ())) == MOST_WAITING)
    known = in_thread(lambda: login.check(b"ann", b"ann", "10.0.0.1"))
    until(lambda: ("10.0.0.1", True) in login._queue._waiting)
    slow.answers.release()
    until(lambda: len(slow.asked) == slow.checks_at_once + 1)
    assert slow.asked[-1] == "ann"
    slow.answers.release(200)
    for thread in (*flood, known):
        thread.join()


def test_turns_come_back() -> None:
    turns = LoginQueue(1)
    for _ in range(3):
        with turns.turn("ann", "here"):
            pass
        with pytest.raises(ZeroDivisionError), turns.turn("ann", "here"):
            _ = 1 / 0
    assert turns._free == 1


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharkpy.thrift.auth.login_throttle.LONGEST_QUEUE_WAIT", 0.05)
    turns = LoginQueue(1)
    with turns.turn("ann", "here"):
        began = time.monotonic()
        with pytest.raises(BusyError), turns.turn("bob", "here"):
            raise AssertionError
        assert time.monotonic() - began < allowed(1)
    assert not turns._waiting
    assert turns._free == 1


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("[::ffff:10.1.2.3]", "10.1.2.3"),
        ("[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::/64"),
        ("[fe80::1%eth0]", "fe80::/64"),
        ("here", "here"),
    ],
)
def test_addresses(host: str, address: str) -> None:
    assert address_of(host) == address
