"""An operation: one statement or metadata call of a session, from its start to its last row.

The handle of an operation or a session has 16 bytes that name it, and 16 secret bytes that prove the right to use it.
"""

from __future__ import annotations

import copy
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import (
    CancelledError,
    ExecutionError,
    ResourceError,
    SharkError,
    StatementClosedError,
    StatementTimeoutError,
)
from sharkpy.base.secrets import redacted
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.config import Limits
from sharkpy.thrift.guard import SLOT_BYTES
from sharkpy.thrift.operation_progress import OperationLog, StageTable
from sharkpy.thrift.row_stream import OperationResources, RowStream
from sharkpy.thrift.status import as_shark_error, error_text
from sharkpy.values.types import STRING, Field, Schema, arrow_schema

if TYPE_CHECKING:
    from sharkpy.session.prepared_statement import PreparedStatement

State = ttypes.TOperationState
ENDED = frozenset(
    {State.FINISHED_STATE, State.CANCELED_STATE, State.CLOSED_STATE, State.ERROR_STATE, State.TIMEDOUT_STATE}
)
STATE_NAMES = {
    State.PENDING_STATE: "pending",
    State.RUNNING_STATE: "running",
    State.FINISHED_STATE: "finished",
    State.CANCELED_STATE: "cancelled",
    State.CLOSED_STATE: "closed",
    State.ERROR_STATE: "failed",
    State.TIMEDOUT_STATE: "timed_out",
}
LOG_SCHEMA = Schema((Field("operation_log", STRING),))
NO_ROWS = Schema(())
_FETCHING_SECONDS = 2.0
_LONG_SECONDS = 1.0


class Operation:
    """Operation of a session, in one state after another.

    1. The state is PENDING, then RUNNING, then one of `ENDED`. Each change wakes the threads that wait for it.
    2. FINISHED means that rows can be fetched, though the query may still make more. If that fails, the operation
       becomes an error when the reader gets there. If the operation is cancelled meanwhile, it becomes CANCELED.
    3. `cancel` and `close` may be called at any time, from any thread. `close` always frees the rows.
    4. `ended` is called once with the operation, when its state is one of `ENDED` for the first time.
    """

    def __init__(
        self,
        kind: int,
        text: str,
        limits: Limits,
        resources: OperationResources,
        parallelism: int = 1,
        ended: Callable[[Operation], None] = lambda _: None,
        pages: str = "",
    ) -> None:
        """`pages`: base address of the server's pages of operations."""
        self.kind = kind
        self.text = redacted(text)
        self.identifier = new_handle_identifier()
        self.page_key = ""
        """Secret in the address of the operation's page; it opens nothing else. Empty before a client gets it."""
        self._pages = pages
        self._title = f"{self.query_id}: {self.text[:SLOT_BYTES]}"
        self.log = OperationLog()
        self.stages = StageTable(parallelism)
        self.schema: Schema | None = None
        self.has_rows = True
        self.error: SharkError | None = None
        self.rows_written: int | None = None
        self.started = time.time()
        self.last_used = time.monotonic()
        self.state = State.PENDING_STATE
        self._began = time.monotonic()
        self._seconds: float | None = None
        self._limits = limits
        self._resources = resources
        self._ended = ended
        self._changed = threading.Condition()
        self._rows: RowStream | None = None
        self._prepared: PreparedStatement | None = None
        self._left: list[tuple[int, list[pa.RecordBatch]]] = []
        """Rows that were taken and did not fit into their answer, each list with the number of its first row."""
        self._planning = Cancellation()
        """Cancellation of the statement until it is prepared."""

    @property
    def query_id(self) -> str:
        return f"sharkpy_{self.identifier.guid.decode()}"

    @property
    def handle(self) -> Any:
        return ttypes.TOperationHandle(
            operationId=self.identifier, operationType=self.kind, hasResultSet=self.has_rows, modifiedRowCount=None
        )

    @property
    def is_running(self) -> bool:
        """True until the statement has run and all of its rows are made."""
        return self.state not in ENDED or (self._rows is not None and not self._rows.is_over)

    @property
    def is_awaited(self) -> bool:
        """True while the statement runs, or a client fetches its rows."""
        is_fetched = self._rows is not None and not self._rows.is_exhausted
        is_used = time.monotonic() - self.last_used < _FETCHING_SECONDS
        return self.state not in ENDED or (self.state == State.FINISHED_STATE and is_fetched and is_used)

    @property
    def seconds(self) -> float:
        """Seconds from the start to the end, or until now."""
        return time.monotonic() - self._began if self._seconds is None else self._seconds

    @property
    def completed(self) -> float | None:
        return None if self._seconds is None else self.started + self._seconds

    @property
    def rows_ahead(self) -> int:
        return self._rows.rows_ahead if self._rows is not None else 0

    @property
    def bytes_ahead(self) -> int:
        return self._rows.bytes_ahead if self._rows is not None else 0

    # Work

    def answer(self, schema: Schema, table: pa.Table) -> None:
        """Finish at once, with the rows of a metadata call."""
        self.schema = schema
        self._rows = self._stream(iter(table.to_batches()))
        self._rows.fill()
        self._end(State.FINISHED_STATE)

    def prepare(self, prepare: Callable[[str], PreparedStatement]) -> None:
        """Resolve names and types; `prepare` gets the statement's id. Raise the error if that fails."""
        self.log.info(f"Compiling command(queryId={self.query_id}): {self.text}")
        with self._planning.active(), self._noted():
            prepared = prepare(self.query_id)
        with self._changed:
            is_late = self.state in ENDED
            self._prepared = None if is_late else prepared
            self.has_rows = prepared.yields_rows
            self.schema = prepared.schema if self.has_rows else NO_ROWS
        if is_late:
            prepared.close()

    def run(self) -> None:
        """Run the prepared statement until its first rows are ready. Never raise: an error is in `error`."""
        prepared = self._prepared
        if prepared is None or not self._begin():
            return
        self.log.info(f"Executing command(queryId={self.query_id})")
        try:
            with self._noted():
                result = prepared.run()
            self.rows_written = prepared.rows_written
            if self.schema is None:
                self._learn(result.schema)
            rows = self._stream(self._noted_batches(result.batches()), result.close, lambda: result.is_complete)
            with self._changed:
                is_ended = self.state in ENDED
                self._rows = None if is_ended else rows
            if is_ended:
                rows.close()
                return
            rows.fill_first()
        except BaseException as error:  # noqa: BLE001 - the client asks for the error
            self._fail(error)
        else:
            self._end(State.FINISHED_STATE)

    def _noted(self) -> AbstractContextManager[None]:
        """Note that this thread works for the operation in the context."""
        board = self._resources.board
        return nullcontext() if board is None else board.working(self._title)

    def _stream(
        self,
        batches: Iterator[pa.RecordBatch],
        free: Callable[[], None] = lambda: None,
        is_complete: Callable[[], bool] = lambda: False,
    ) -> RowStream:
        resources = self._resources
        return RowStream(batches, self._limits, resources.executor, free, resources.buffered, is_complete)

    def _noted_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        while True:
            with self._noted():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def reject(self, error: BaseException) -> None:
        """End the operation with `error` before it runs."""
        self._fail(error)
        # A copy, since the traceback would hold the frames that hold this operation.
        self._free(copy.copy(as_shark_error(error)))

    def cancel(self, error: SharkError | None = None) -> bool:
        """End a running operation with `error`, and drop its rows. Return False if it was done already."""
        if not self.is_running:
            return False
        cause = error or CancelledError("the query was cancelled")
        counts = self._end(State.CANCELED_STATE, cause)
        self._free(cause)
        return counts

    def close(self) -> None:
        self._end(State.CLOSED_STATE)
        self._free(StatementClosedError("the operation was closed"))
        # The prepared statement refers to this operation, to report its progress. In such a cycle both would wait for
        # the garbage collector, with the plan and the names of all files that it read.
        with self._changed:
            self._rows = self._prepared = None
            self._left = []

    def _free(self, cause: SharkError) -> None:
        """Free all resources. Nothing runs any more once the threads that work for the operation have noticed."""
        with self._changed:
            rows, prepared = self._rows, self._prepared
        self._planning.cancel(cause)
        if prepared is not None:
            prepared.cancel(cause)
            prepared.close()
        if rows is not None:
            rows.close()

    # Waits and fetches

    def wait(self, seconds: float) -> None:
        """Wait until the work has ended, for at most `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: self.state in ENDED, seconds)

    def wait_for_schema(self) -> Schema:
        """Wait for the schema of the rows, and return it. Some commands only know it after they have run."""
        with self._changed:
            self._changed.wait_for(lambda: self.schema is not None or self.state in ENDED)
        if self.schema is None:
            self.check()
            raise ExecutionError("the operation was closed", sqlstate="24000")
        return self.schema

    def read_log(self, most: int, *, from_start: bool = False) -> list[str]:
        """Return the next log lines. Once the operation has taken long, one of them names its page."""
        if self._pages and self.state not in ENDED and self.seconds >= _LONG_SECONDS:
            self._tell_page()
        return self.log.read(most, from_start=from_start)

    def _tell_page(self) -> None:
        with self._changed:
            pages, self._pages = self._pages, ""
            if pages:
                self.page_key = secrets.token_urlsafe(18)
                self.log.info(f"Tracking URL = {pages}{self.page_key}/")

    def fetch(self, most: int, *, from_start: bool) -> tuple[int, list[pa.RecordBatch], bool]:
        """Wait for rows. Return the number of the first row, the next rows, and whether more may come."""
        self.last_used = time.monotonic()
        with self._changed:
            self._changed.wait_for(lambda: self.state in ENDED)
        self.check()
        rows = self._rows
        if rows is None:
            raise ExecutionError("the operation has no rows", sqlstate="24000")
        with self._changed:
            left = None if from_start or not self._left else self._left.pop(0)
            self._left = [] if from_start else self._left
        if left is not None:
            start, batches = left
            batches, rest = split_rows(batches, most)
            self.give_back(start + most, rest)
            return start, batches, bool(self._left) or not rows.is_exhausted
        try:
            start, batches = rows.take(most, from_start=from_start)
        except BaseException as error:
            if rows.is_over:
                self._fail(error)
            self.check()
            raise
        self.last_used = time.monotonic()
        return start, batches, not rows.is_exhausted

    def give_back(self, start: int, batches: list[pa.RecordBatch]) -> None:
        """Keep rows for the next fetch; the first row has the number `start`."""
        if batches:
            with self._changed:
                self._left.append((start, batches))

    def check(self) -> None:
        """Raise the operation's error, if there is one."""
        if self.error is not None:
            raise copy.copy(self.error)

    # State

    def _begin(self) -> bool:
        with self._changed:
            if self.state != State.PENDING_STATE:
                return False
            self.state = State.RUNNING_STATE
            self._changed.notify_all()
            return True

    def _learn(self, schema: Schema) -> None:
        with self._changed:
            self.schema = schema
            self.has_rows = bool(schema.names)
            self._changed.notify_all()

    def _end(self, state: int, error: SharkError | None = None) -> bool:
        """Set an end state. The first one counts, but FINISHED may become an error or CANCELED, and any state CLOSED.

        Return False if the new state does not count.
        """
        with self._changed:
            is_first = self.state not in ENDED
            if not is_first and state != State.CLOSED_STATE and self.state != State.FINISHED_STATE:
                return False
            self.state = state
            self.error = self.error or error
            if is_first:
                self.last_used = time.monotonic()
                self._seconds = self.last_used - self._began
            self._changed.notify_all()
        if error is not None:
            self.log.error(error_text(error))
        elif is_first:
            taken = f"Time taken: {self.seconds:.3f} seconds"
            self.log.info(f"Completed executing command(queryId={self.query_id}); {taken}")
        if is_first:
            self._ended(self)
        return True

    def _fail(self, caught: BaseException) -> None:
        error = as_shark_error(caught)
        state = next((state for kind, state in _STATES if isinstance(error, kind)), State.ERROR_STATE)
        self._end(state, copy.copy(error))


_STATES = ((StatementTimeoutError, State.TIMEDOUT_STATE), (CancelledError, State.CANCELED_STATE))
"""States by kind of error; the first that fits counts. All remaining errors are ERROR."""


def split_rows(batches: list[pa.RecordBatch], num_rows: int) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """Split rows into the first `num_rows` and the rest."""
    first: list[pa.RecordBatch] = []
    for place, batch in enumerate(batches):
        if batch.num_rows > num_rows:
            head = [batch.slice(0, num_rows)] if num_rows else []
            return [*first, *head], [batch.slice(num_rows), *batches[place + 1 :]]
        first.append(batch)
        num_rows -= batch.num_rows
    return first, []


def log_batch(lines: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(lines, pa.string())], schema=arrow_schema(LOG_SCHEMA))


def limit_error(what: str, most: int) -> ResourceError:
    return ResourceError(f"the server allows {most} {what}", hint="close some, or try again later", sqlstate="53300")


def new_handle_identifier() -> Any:
    """Return a new identifier of random ASCII characters: clients' libraries may take the bytes for text."""
    # Each four characters encode three random bytes, so the two halves are independent.
    letters = secrets.token_urlsafe(24).encode()
    return ttypes.THandleIdentifier(guid=letters[:16], secret=letters[16:])


def is_same_handle(known: Any, given: Any) -> bool:
    """Return whether a client's identifier has the right secret. The comparison takes constant time."""
    return isinstance(given.secret, bytes) and secrets.compare_digest(known.secret, given.secret)


def handle_key(handle_identifier: Any) -> bytes:
    """Return the key by which an identifier is looked up, or b"" if this is not an identifier."""
    guid = getattr(handle_identifier, "guid", None)
    return guid if isinstance(guid, bytes) else b""
