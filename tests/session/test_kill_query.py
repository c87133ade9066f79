"""KILL QUERY: whose statements it ends, from which session, and what their records say."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import sharkpy
from sharkpy.base.errors import BindError, CancelledError
from sharkpy.catalog.statement_records import StatementRecord, StatementState
from sharkpy.execution.restrictions import Restrictions
from tests.waiting import until

ENDLESS = "SELECT count(*) FROM t a CROSS JOIN t b CROSS JOIN t c WHERE hash(a.k, b.k, c.k) % 7 = 3"


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE t AS SELECT explode(sequence(1, 3000)) AS k")
    return context


def started(session: sharkpy.SharkContext, text: str) -> tuple[StatementRecord, Callable[[], BaseException | None]]:
    """Run an endless statement in a thread. Return its record, and a function that waits for its error."""
    caught: list[BaseException] = []

    def run() -> None:
        try:
            session.sql(text).fetchall()
        except CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def running() -> list[StatementRecord]:
        return [one for one in session.history() if one.text == text and one.state is StatementState.RUNNING]

    until(lambda: bool(running()))

    def ended() -> BaseException | None:
        thread.join()
        return caught[0] if caught else None

    return running()[0], ended


def test_a_statement_of_another_session(context: sharkpy.SharkContext) -> None:
    other = context.new_session(shark_user="ada")
    record, ended = started(other, ENDLESS)
    context.sql(f"KILL QUERY '{record.query_id}'")
    error = ended()
    assert error is not None
    assert "was cancelled by KILL QUERY of " in str(error)
    [found] = context.history(query_id=record.query_id)
    assert (found.state, found.sqlstate) == (StatementState.CANCELLED, "57014")
    assert context.history(1)[0].kind == "KILL QUERY"


@pytest.mark.parametrize("between", [" ", ", "])
def test_several_statements(context: sharkpy.SharkContext, between: str) -> None:
    first, first_ended = started(context.new_session(), f"{ENDLESS} AND 1 = 1")
    second, second_ended = started(context.new_session(), f"{ENDLESS} AND 2 = 2")
    context.sql(f"KILL QUERY '{first.query_id}'{between}'{second.query_id}'")
    assert first_ended() is not None
    assert second_ended() is not None


def test_a_statement_whose_reader_waits(context: sharkpy.SharkContext) -> None:
    other = context.new_session()
    with other.sql("SELECT k FROM t") as result:
        result.fetchone()
        record = context.history(1)[0]
        assert record.state is StatementState.WAITING
        context.sql(f"KILL QUERY '{record.query_id}'")
        [found] = context.history(query_id=record.query_id)
        assert found.state is StatementState.CANCELLED
    assert other.num_running == 0


def test_statements_that_are_over_or_unknown(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT 1").fetchall()
    over = context.history(1)[0].query_id
    with pytest.raises(BindError, match="does not run any more: it is finished") as caught:
        context.sql(f"KILL QUERY '{over}'")
    assert caught.value.sqlstate == "55000"
    record, ended = started(context.new_session(), ENDLESS)
    with pytest.raises(BindError, match='no statement "nothing" is known'):
        context.sql(f"KILL QUERY '{record.query_id}', 'nothing'")
    assert context.history(query_id=record.query_id)[0].state is StatementState.RUNNING, "none is cancelled"
    context.sql(f"KILL QUERY '{record.query_id}'")
    assert ended() is not None


def test_users_end_their_own(context: sharkpy.SharkContext) -> None:
    ada, again, bob = (context.new_session(shark_user=name) for name in ("ada", "ada", "bob"))
    for guest in (ada, again, bob):
        guest.restrictions = Restrictions(guards_settings=True, sees_own_statements=True)
    record, ended = started(ada, ENDLESS)
    with pytest.raises(BindError) as caught:
        bob.sql(f"KILL QUERY '{record.query_id}'")
    assert caught.value.sqlstate == "42704", "bob does not learn that it exists"
    again.sql(f"KILL QUERY '{record.query_id}'")
    assert ended() is not None
