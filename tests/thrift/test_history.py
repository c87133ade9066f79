"""Records of the statements of clients: how they ended, their ids, and a server that was killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from sharkpy.catalog.statement_records import StatementFile, StatementRecord, StatementState
from sharkpy.thrift.server import HiveServer
from tests.thrift.caller import ERROR, Caller, State
from tests.thrift.conftest import LONG_QUERY, Serve
from tests.thrift.test_stop import Process
from tests.waiting import until


def record(server: HiveServer, text: str) -> StatementRecord:
    [found] = server.parts.engine_session.history(None, like=text)
    return found


def test_how_operations_end(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        running = caller.begin(f"{LONG_QUERY} AND 'cancelled' = 'cancelled'")
        until(lambda: record(server, "*'cancelled'").state is StatementState.RUNNING)
        caller.cancel(running)
        until(lambda: record(server, "*'cancelled'").state is StatementState.CANCELLED)
        unread = caller.begin("SELECT a.n, 'closed' FROM numbers a CROSS JOIN numbers b")
        assert caller.until_ended(unread).operationState == State.FINISHED_STATE
        caller.fetch(unread, 5)
        caller.close(unread)
        until(lambda: record(server, "*'closed' *").state is StatementState.CLOSED)
        assert record(server, "*'closed' *").error == ""
        caller.execute(f"{LONG_QUERY} AND 'late' = 'late'", queryTimeout=1)
        until(lambda: record(server, "*'late'").state is StatementState.TIMED_OUT)
        assert record(server, "*'late'").user == "ada"


def test_a_statement_beyond_a_limit(serve: Serve) -> None:
    server = serve(concurrent_operations=1)
    with Caller(server.port) as caller:
        running = caller.begin(f"{LONG_QUERY} AND 'first' = 'first'")
        assert caller.execute("SELECT 'beyond the limit'").status.statusCode == ERROR
        found = record(server, "*'beyond the limit'")
        assert (found.state, found.sqlstate) == (StatementState.FAILED, "53300")
        caller.cancel(running)


@pytest.mark.slow
def test_a_killed_server_and_the_next_one(tmp_path: Path) -> None:
    first = Process(tmp_path)
    try:
        with Caller(first.port) as caller:
            caller.rows("SELECT 'before the kill'")
            caller.execute("SELECT nothing")
            until(lambda: len(list(StatementFile(str(tmp_path / "w/.sharkpy/catalog.sqlite"), 99, 1.0).newest())) >= 3)
    finally:
        first.process.send_signal(signal.SIGKILL)
        first.process.communicate()
    second = Process(tmp_path)
    try:
        with Caller(second.port) as caller:
            columns = caller.rows("SHOW QUERIES")
            assert columns[-1] == ["SELECT nothing", "SELECT 'before the kill'"], "not those of the server's own user"
            assert columns[1] == ["failed", "finished"]
            shown = caller.rows(f"SHOW QUERY '{columns[0][1]}'")
            assert any("stage 1: 1 task in the driver" in value for value in shown[1])
        second.stop()
        second.wait(30)
    finally:
        if second.process.poll() is None:
            second.process.kill()
            second.process.communicate()


def test_a_client_kills_a_statement_of_its_other_connection(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller, Caller(server.port) as other:
        running = caller.begin(f"{LONG_QUERY} AND 'killed' = 'killed'")
        until(lambda: record(server, "*'killed'").state is StatementState.RUNNING)
        query_id = record(server, "*'killed'").query_id
        assert other.execute(f"KILL QUERY '{query_id}'").status.statusCode != ERROR
        assert caller.until_ended(running).operationState == State.CANCELED_STATE
        assert record(server, "*'killed'").sqlstate == "57014"


def test_a_killed_statement_frees_its_rows(serve: Serve) -> None:
    """Its client sees the end at once, though rows were ready for it."""
    server = serve(bytes_buffered=1 << 20)
    with Caller(server.port) as caller, Caller(server.port) as other:
        operation = caller.begin("SELECT a.n, uuid() FROM numbers a CROSS JOIN numbers b")
        assert caller.until_ended(operation).operationState == State.FINISHED_STATE
        caller.fetch(operation, 1)
        [running] = server.parts.sessions.operations()
        assert other.execute(f"KILL QUERY '{running.query_id}'").status.statusCode != ERROR
        assert caller.status(operation).operationState == State.CANCELED_STATE
        assert running.bytes_ahead == 0
