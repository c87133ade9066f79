"""Limit of a statement's time: what its threads work counts, pauses do not."""

from __future__ import annotations

import contextlib
import time

from sharkpy.base.errors import StatementTimeoutError
from sharkpy.execution.statement import Statement
from tests.waiting import until


def test_a_pause_does_not_double_the_limit() -> None:
    """The timer that was set before the pause comes too early, and is set again for the remaining time."""
    statement = Statement(0.6)
    with statement.active():
        time.sleep(0.05)
    time.sleep(0.05)
    began = time.monotonic()
    with contextlib.suppress(StatementTimeoutError), statement.active():
        until(lambda: statement.is_cancelled)
    assert isinstance(statement.error, StatementTimeoutError)
    assert 0.5 < time.monotonic() - began < 0.9


def test_what_does_not_work_is_not_ended() -> None:
    statement = Statement(0.1)
    with statement.active():
        pass
    time.sleep(0.3)
    assert not statement.is_cancelled
    statement.end()


def test_the_limit_counts_within_itself() -> None:
    """A part of a statement's work that is active by itself, as a reader of files is, does not stop the clock."""
    statement = Statement(timeout=0.2)
    with statement.active():
        with statement.active():
            pass
        assert statement.is_active
        until(lambda: statement.is_cancelled)
    assert not statement.is_active
