"""A statement whose preparation takes long: its client gets an operation soon, which it can end."""

from __future__ import annotations

import time

import pytest

from sharkpy.thrift import operation_runner
from tests.thrift.caller import SUCCESS, Caller, State
from tests.thrift.conftest import Serve
from tests.waiting import allowed, until

TERMS = " OR ".join(f"(n = {n} AND n < {n})" for n in range(60_000))
SOME = TERMS[: TERMS.index(" OR (n = 3000 ")]
SLOW = f"SELECT n FROM numbers WHERE {TERMS}"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_runner, "_PREPARE_SECONDS", 0.2)


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_it_is_ended(serve: Serve, how: str) -> None:
    server = serve()
    with Caller(server.port) as caller:
        began = time.monotonic()
        operation = caller.begin(SLOW)
        assert time.monotonic() - began < allowed(2)
        assert caller.status(operation).operationState in (State.PENDING_STATE, State.FINISHED_STATE)
        getattr(caller, how)(operation)
        if how == "cancel":
            assert caller.until_ended(operation).operationState == State.CANCELED_STATE
        until(lambda: not server.parts.admission._executing)
        assert caller.rows("SELECT 1") == [[1]]


def test_its_error_is_told_by_its_state(serve: Serve) -> None:
    with Caller(serve().port) as caller:
        operation = caller.begin(SLOW)
        ended = caller.until_ended(operation)
        assert (ended.operationState, ended.sqlState) == (State.ERROR_STATE, "54000")
        caller.close(operation)


def test_its_rows_come(serve: Serve) -> None:
    with Caller(serve().port) as caller:
        operation = caller.begin(
            f"SELECT n FROM numbers WHERE n < 2 AND ({TERMS[: TERMS.index(' OR (n = 3000 ')]} OR n = 1)"
        )
        assert caller.until_ended(operation).operationState == State.FINISHED_STATE
        fetched = caller.fetch(operation)
        assert fetched.status.statusCode == SUCCESS
        assert fetched.results.columns[0].i64Val.values == [1]
