"""The states of an operation, ended from outside at every point; and what its reader sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, ExecutionError, ResourceError, SharkError, StatementTimeoutError
from sharkpy.session.result import Result
from sharkpy.thrift.config import Limits
from sharkpy.thrift.operation import Operation, State
from sharkpy.thrift.row_stream import OperationResources
from sharkpy.values.types import BIGINT, Field, Schema
from tests.thrift.caller import ERROR, SUCCESS, Caller, columns_of
from tests.thrift.conftest import LONG_QUERY, NUMBERS, Serve
from tests.waiting import PATIENCE, allowed, until

SCHEMA = Schema((Field("n", BIGINT),))


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@dataclass
class Prepared:
    """A statement that stops at a given point, until `go_on` or a cancel."""

    stops_at: str = ""
    error: Exception | None = None
    num_batches: int = 3
    schema: Schema | None = SCHEMA
    yields_rows: bool = True
    rows_written: int | None = None
    reached: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    is_cancelled: bool = False
    closed: int = 0

    def cancel(self, _: SharkError) -> None:
        self.is_cancelled = True
        self.go_on.set()

    def close(self) -> None:
        self.closed += 1

    def run(self) -> Result:
        self._stop_at("run")
        return Result(SCHEMA, self._batches(), on_close=self.close)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for number in range(self.num_batches):
            if number:
                self._stop_at("rows")
            else:
                self._stop_at("first row")
            yield pa.RecordBatch.from_pydict({"n": [number]})
        if self.error is not None:
            raise self.error

    def _stop_at(self, place: str) -> None:
        if place == self.stops_at:
            self.reached.set()
            assert self.go_on.wait(10)
        if self.is_cancelled:
            raise CancelledError("the query was cancelled")


class Trial:
    def __init__(self, executor: ThreadPoolExecutor, prepared: Prepared, **limits: int) -> None:
        self.ends: list[int] = []
        self.prepared = prepared
        self.operation = Operation(
            0, "SELECT", Limits(**limits), OperationResources(executor), 2, lambda one: self.ends.append(one.state)
        )

    def prepare(self) -> None:
        self.operation.prepare(lambda _: self.prepared)  # type: ignore[arg-type, return-value]


def test_from_pending_to_finished(executor: ThreadPoolExecutor) -> None:
    trial = Trial(executor, Prepared())
    operation = trial.operation
    assert operation.state == State.PENDING_STATE
    trial.prepare()
    operation.run()
    assert operation.state == State.FINISHED_STATE
    start, batches, _ = operation.fetch(2, from_start=False)
    assert (start, sum(batch.num_rows for batch in batches)) in ((0, 1), (0, 2))
    rows = sum(batch.num_rows for batch in batches)
    while (fetched := operation.fetch(10, from_start=False))[1]:
        assert fetched[0] == rows
        rows += sum(batch.num_rows for batch in fetched[1])
    assert rows == 3
    assert not operation.is_running
    operation.close()
    assert operation.state == State.CLOSED_STATE
    assert trial.ends == [State.FINISHED_STATE], "told once"
    assert trial.prepared.closed


ENDS: dict[str, tuple[Callable[[Operation], Any], int, type[Exception]]] = {
    "cancel": (Operation.cancel, State.CANCELED_STATE, CancelledError),
    "close": (Operation.close, State.CLOSED_STATE, ExecutionError),
}


@pytest.mark.parametrize("how", ENDS)
def test_ended_before_it_is_prepared_and_before_it_runs(executor: ThreadPoolExecutor, how: str) -> None:
    end, state, _ = ENDS[how]
    for is_prepared in (False, True):
        trial = Trial(executor, Prepared())
        if is_prepared:
            trial.prepare()
        end(trial.operation)
        if not is_prepared:
            trial.prepare()
        trial.operation.run()
        assert trial.operation.state == state
        assert trial.prepared.closed, "what was prepared is given back"
        assert trial.ends == [state]


@pytest.mark.parametrize("place", ["run", "first row", "rows"])
@pytest.mark.parametrize("how", ENDS)
def test_ended_while_it_works(executor: ThreadPoolExecutor, how: str, place: str) -> None:
    end, state, error = ENDS[how]
    trial = Trial(executor, Prepared(stops_at=place))
    trial.prepare()
    running = executor.submit(trial.operation.run)
    assert trial.prepared.reached.wait(PATIENCE)
    begin = time.monotonic()
    end(trial.operation)
    running.result(PATIENCE)
    assert time.monotonic() - begin < allowed(1)
    assert trial.operation.state == state
    assert trial.prepared.is_cancelled
    assert not trial.operation.rows_ahead
    with pytest.raises(error):
        trial.operation.fetch(10, from_start=False)
    assert trial.prepared.closed
    assert len(trial.ends) == 1


def test_cancel_wakes_who_waits_for_rows(executor: ThreadPoolExecutor) -> None:
    for place in ("run", "first row", "rows"):
        trial = Trial(executor, Prepared(stops_at=place))
        trial.prepare()
        running = executor.submit(trial.operation.run)
        assert trial.prepared.reached.wait(PATIENCE)

        def read(operation: Operation = trial.operation) -> None:
            while operation.fetch(1, from_start=False)[1]:
                pass

        reading = executor.submit(read)
        with pytest.raises(TimeoutError):
            reading.result(0.05)
        trial.operation.cancel()
        with pytest.raises(CancelledError):
            reading.result(PATIENCE)
        running.result(PATIENCE)


def test_a_cancel_that_comes_too_late_changes_nothing(executor: ThreadPoolExecutor) -> None:
    trial = Trial(executor, Prepared(num_batches=1))
    trial.prepare()
    trial.operation.run()
    until(lambda: not trial.operation.is_running)
    assert not trial.operation.cancel()
    assert trial.operation.state == State.FINISHED_STATE
    assert trial.operation.fetch(10, from_start=False)[1]


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (ResourceError("out of disk"), State.ERROR_STATE),
        (StatementTimeoutError("too long"), State.TIMEDOUT_STATE),
        (CancelledError("a client did"), State.CANCELED_STATE),
        (ZeroDivisionError("a bug"), State.ERROR_STATE),
    ],
)
def test_a_late_error_is_an_error_once_the_reader_comes_there(
    executor: ThreadPoolExecutor, error: Exception, state: int
) -> None:
    trial = Trial(executor, Prepared(error=error))
    trial.prepare()
    trial.operation.run()
    assert trial.operation.state == State.FINISHED_STATE
    rows = [trial.operation.fetch(1, from_start=False)[1] for _ in range(3)]
    assert sum(batch.num_rows for batches in rows for batch in batches) == 3
    with pytest.raises(sharkpy.SharkError) as raised:
        trial.operation.fetch(1, from_start=False)
    assert trial.operation.state == state
    assert str(error).split(" [")[0] in str(raised.value)
    with pytest.raises(type(raised.value)):
        trial.operation.fetch(1, from_start=False)
    assert trial.operation.error is not None
    assert trial.operation.error.__traceback__ is None, "it would hold rows and threads' frames"
    assert any(line.startswith("ERROR") for line in trial.operation.log.read(100))


def test_an_error_before_the_first_row(executor: ThreadPoolExecutor) -> None:
    trial = Trial(executor, Prepared(num_batches=0, error=ResourceError("out of disk")))
    trial.prepare()
    trial.operation.run()
    assert trial.operation.state == State.ERROR_STATE
    assert trial.ends == [State.ERROR_STATE]


def test_who_waits_for_a_schema_gets_it_or_the_error(executor: ThreadPoolExecutor) -> None:
    for error in (None, ResourceError("out of disk")):
        prepared = Prepared(stops_at="run", schema=None)
        if error is not None:
            prepared.run = lambda error=error: _raise(error)  # type: ignore[method-assign, misc]
        trial = Trial(executor, prepared)
        trial.prepare()
        waiting = executor.submit(trial.operation.wait_for_schema)
        with pytest.raises(TimeoutError):
            waiting.result(0.02)
        prepared.go_on.set()
        trial.operation.run()
        if error is None:
            assert waiting.result(PATIENCE) == SCHEMA
        else:
            with pytest.raises(ResourceError):
                waiting.result(PATIENCE)


def _raise(error: Exception) -> Result:
    raise error


SHORT = {
    "SELECT 1": [1],
    "SELECT count(*) FROM numbers WHERE n < 5": [5],
    "SELECT n FROM numbers WHERE n < 5 ORDER BY n": [0, 1, 2, 3, 4],
    "SELECT n FROM numbers WHERE n < 0": [],
    "SHOW TABLES LIKE 'numbers'": ["numbers"],
}


@pytest.mark.parametrize("text", SHORT)
def test_a_short_answer_is_whole_when_its_call_ends(engine: sharkpy.SharkContext, text: str) -> None:
    ends: list[int] = []
    with ThreadPoolExecutor(1) as executor:
        executor.shutdown()
        operation = Operation(0, text, Limits(), OperationResources(executor), 2, lambda one: ends.append(one.state))
        operation.prepare(lambda query_id: engine.prepare(text, query_id=query_id))
        operation.run()
    assert (operation.state, ends) == (State.FINISHED_STATE, [State.FINISHED_STATE])
    assert not operation.is_running
    assert engine.history(query_id=operation.query_id)[0].state == "finished"
    start, batches, has_more = operation.fetch(1000, from_start=False)
    assert [value for batch in batches for value in batch.column(0).to_pylist()] == SHORT[text]
    assert (start, has_more) == (0, False)
    assert operation.fetch(1000, from_start=False) == (len(SHORT[text]), [], False)
    operation.close()


# Over the wire


def test_cancel_ends_the_work_within_a_second(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        operation = caller.begin(LONG_QUERY)
        until(lambda: caller.status(operation).operationState == State.RUNNING_STATE)
        begin = time.monotonic()
        caller.cancel(operation)
        answer = caller.status(operation)
        assert time.monotonic() - begin < allowed(1)
        assert (answer.operationState, answer.sqlState, answer.errorCode) == (State.CANCELED_STATE, "57014", 1317)
        wait_until_idle()
        assert caller.fetch(operation).status.sqlState == "57014"
        assert caller.rows("SELECT 1") == [[1]]


def wait_until_idle() -> None:
    """Until this process does next to nothing: the query is not only said to be cancelled."""
    deadline = time.monotonic() + PATIENCE
    while True:
        begin = time.process_time()
        time.sleep(0.2)
        if time.process_time() - begin < 0.1:
            return
        assert time.monotonic() < deadline, "it still works"


def test_query_timeout_of_the_client(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        answer = caller.until_ended(caller.begin(LONG_QUERY, queryTimeout=1))
        assert (answer.operationState, answer.sqlState) == (State.TIMEDOUT_STATE, "57014")
        assert "too long" in answer.errorMessage
        wait_until_idle()
        assert caller.execute(LONG_QUERY, queryTimeout=1).status.sqlState == "57014"
        assert caller.execute("SELECT 1", queryTimeout=-5).status.statusCode == SUCCESS


def test_rows_and_their_numbers(serve: Serve) -> None:
    server = serve(rows_buffered=1000)
    with Caller(server.port) as caller:
        operation = caller.execute("SELECT n FROM numbers").operationHandle
        seen: list[int] = []
        while True:
            fetched = caller.fetch(operation, 7777)
            assert fetched.results.startRowOffset == len(seen)
            rows = columns_of(fetched)[0]
            if not rows:
                break
            seen += rows
        assert sorted(seen) == list(range(NUMBERS))
        assert caller.fetch(operation, from_start=True).status.sqlState == "HYC00"
        operation = caller.execute("SELECT n FROM numbers WHERE n < 5 ORDER BY n").operationHandle
        assert columns_of(caller.fetch(operation, 3)) == [[0, 1, 2]]
        assert columns_of(caller.fetch(operation, 3, from_start=True)) == [[0, 1, 2]]
        assert columns_of(caller.fetch(operation, 3)) == [[3, 4]]


@pytest.mark.variants(3)
@pytest.mark.parametrize("text", SHORT)
def test_more_rows_are_announced_only_where_there_are_more(serve: Serve, text: str) -> None:
    server = serve()
    rows = SHORT[text]
    with Caller(server.port) as caller:
        for is_async in (False, True):
            operation = caller.execute(text, is_async=is_async).operationHandle
            caller.until_ended(operation)
            fetched = caller.fetch(operation, 3)
            assert (columns_of(fetched), fetched.hasMoreRows) == ([rows[:3]], len(rows) > 3)
            fetched = caller.fetch(operation, 3)
            assert (columns_of(fetched), fetched.hasMoreRows) == ([rows[3:]], False)
            fetched = caller.fetch(operation, from_start=True)
            assert (columns_of(fetched), fetched.hasMoreRows) == ([rows], False)
            caller.close(operation)


def test_more_rows_are_announced_while_they_are_not_known_to_end(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        operation = caller.execute("SELECT n FROM numbers").operationHandle
        assert caller.fetch(operation, 1000).hasMoreRows
        assert caller.fetch(operation, 1000).hasMoreRows


def test_an_error_while_rows_are_made(serve: Serve) -> None:
    """Only the last row has the error."""
    server = serve(rows_buffered=10)
    with Caller(server.port) as caller:
        text = f"SELECT assert_true(n < {NUMBERS - 1}) FROM numbers"
        operation = caller.begin(text)
        caller.until_ended(operation)
        while (answer := caller.fetch(operation)).status.statusCode == SUCCESS:
            assert columns_of(answer)[0], "no end is feigned"
        assert answer.status.statusCode == ERROR
        assert "assert_true" in answer.status.errorMessage
        assert "\n" not in answer.status.errorMessage
        assert caller.status(operation).operationState == State.ERROR_STATE
