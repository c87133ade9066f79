"""Calls that may never come back."""

from __future__ import annotations

import threading
import time

import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError
from sharkpy.base.thread_call import bounded_call
from tests.waiting import PATIENCE


def test_what_it_gives() -> None:
    assert bounded_call(lambda: 3, PATIENCE) == 3
    with pytest.raises(KeyError):
        bounded_call(lambda: {}["a"], PATIENCE)


def test_no_answer() -> None:
    is_over = threading.Event()
    try:
        with pytest.raises(TimeoutError, match="no answer"):
            bounded_call(is_over.wait, 0.2)
        with pytest.raises(TimeoutError):
            bounded_call(is_over.wait, 0.2, grace=PATIENCE)
    finally:
        is_over.set()


def test_the_end_of_its_statement() -> None:
    is_over, statement = threading.Event(), Cancellation()
    threading.Timer(0.1, statement.cancel).start()
    began = time.monotonic()
    try:
        with pytest.raises(CancelledError), statement.active():
            bounded_call(is_over.wait, 10 * PATIENCE)
    finally:
        is_over.set()
    assert time.monotonic() - began < PATIENCE


def test_it_has_its_grace() -> None:
    statement = Cancellation()
    statement.cancel()
    with statement.active():
        assert bounded_call(lambda: time.sleep(0.2) or 5, 10 * PATIENCE, PATIENCE) == 5
