"""Statement on the server: it is started, polled until it ends, and its rows are fetched."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.client.arrow_rows import batch_of
from sharkpy.client.remote_calls import RemoteCalls, error_of
from sharkpy.client.server_errors import CANCELLED
from sharkpy.execution.statement import Progress, ProgressListener
from sharkpy.thrift.bindings import ttypes
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

_State = ttypes.TOperationState
_ENDED = (_State.FINISHED_STATE, _State.CANCELED_STATE, _State.CLOSED_STATE, _State.ERROR_STATE, _State.TIMEDOUT_STATE)
_POLL_SECONDS = (0.001, 0.1)
"""First and longest pause between polls, so that servers that answer at once are not flooded."""
_ROWS = re.compile(r"\brows read: *([\d,]+)", re.IGNORECASE)
_WAITING = re.compile(r"\bwaiting: *(\d+)", re.IGNORECASE)
_STAGE_NUMBER = re.compile(r"^Stage-\d+ (?=\S)")
_RUNNING, _DONE = ("RUNNING", "ACTIVE"), ("SUCCEEDED", "COMPLETE", "COMPLETED", "FINISHED")
LOG_LINES = 1_000


class RemoteOperation:
    """Operation of a statement: `wait` until it is over, then `batches`. `cancel` is for other threads, over a
    connection of its own.
    """

    def __init__(
        self, calls: RemoteCalls, handle: Any, cancel_calls: Callable[[], RemoteCalls], fetch_rows: int
    ) -> None:
        self._calls = calls
        self._handle = handle
        self._cancel_calls = cancel_calls
        self._fetch_rows = fetch_rows
        self._is_closed = False
        self._stages_done = self._rows_before = self._rows_read = 0
        self.has_rows = bool(handle.hasResultSet)
        self.rows_written: int | None = None
        """Number of rows that the statement has written. None before it ends, or if the server does not report it."""

    def wait(self, listener: ProgressListener, log: Callable[[str], None] | None) -> None:
        """Wait until the server is done, or has first rows to fetch. Raise the statement's error."""
        pause, longest = _POLL_SECONDS
        request = ttypes.TGetOperationStatusReq(operationHandle=self._handle, getProgressUpdate=True)
        while True:
            answer = self._calls.call("GetOperationStatus", request)
            if (progress := progress_of(answer.progressUpdateResponse)) is not None:
                listener(self._of_its_stage(progress))
            if log is not None:
                self.fetch_log(log)
            if answer.operationState in _ENDED:
                break
            time.sleep(pause)
            pause = min(2 * pause, longest)
        if answer.hasResultSet is not None:
            self.has_rows = bool(answer.hasResultSet)
        if answer.numModifiedRows is not None and answer.numModifiedRows >= 0:
            self.rows_written = answer.numModifiedRows
        self._raise_unless_finished(answer)

    def _of_its_stage(self, progress: Progress) -> Progress:
        """Return the progress with the rows of the current stage only: the server counts the rows of the statement."""
        if progress.stages_done != self._stages_done:
            self._stages_done, self._rows_before = progress.stages_done, self._rows_read
        self._rows_read = max(self._rows_read, progress.rows_read)
        return replace(progress, rows_read=self._rows_read - self._rows_before)

    def _raise_unless_finished(self, answer: Any) -> None:
        match answer.operationState:
            case _State.FINISHED_STATE:
                return
            case _State.CANCELED_STATE:
                raise CancelledError(answer.errorMessage or "the statement was cancelled", sqlstate=CANCELLED)
            case _State.TIMEDOUT_STATE:
                raise CancelledError(answer.errorMessage or "the statement took longer than it may", sqlstate="57014")
            case _State.CLOSED_STATE:
                raise CancelledError("the server closed the statement", sqlstate=CANCELLED)
        raise error_of(answer.errorMessage or "the statement failed", answer.sqlState)

    def schema(self) -> Any:
        """TTableSchema of the rows."""
        return self._calls.call("GetResultSetMetadata", ttypes.TGetResultSetMetadataReq(self._handle)).schema

    def batches(self, schema: Schema) -> Iterator[pa.RecordBatch]:
        """Fetch the rows, in as many calls as needed; the last batch is empty."""
        request = ttypes.TFetchResultsReq(self._handle, ttypes.TFetchOrientation.FETCH_NEXT, self._fetch_rows)
        while True:
            results = self._calls.call("FetchResults", request).results
            batch = batch_of(results, schema) if results.columns else None
            if batch is None or not batch.num_rows:
                return
            yield batch

    def fetch_log(self, log: Callable[[str], None]) -> None:
        """Pass the new lines of the operation's log to `log`. A server may have no log."""
        request = ttypes.TFetchResultsReq(self._handle, ttypes.TFetchOrientation.FETCH_NEXT, LOG_LINES, fetchType=1)
        with contextlib.suppress(SharkError):
            results = self._calls.call("FetchResults", request).results
            for column in results.columns or ():
                for line in column.stringVal.values:
                    log(line)

    def cancel(self) -> None:
        """Ask the server to end the operation; no effect if it is over."""
        if self._is_closed:
            return
        with contextlib.suppress(SharkError):
            calls = self._cancel_calls()
            try:
                calls.call("CancelOperation", ttypes.TCancelOperationReq(self._handle))
            finally:
                calls.close()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            with contextlib.suppress(SharkError):
                self._calls.call("CloseOperation", ttypes.TCloseOperationReq(self._handle))


def progress_of(update: Any) -> Progress | None:
    """Return the progress of a TProgressUpdateResp, whose rows are stages, or None if it has none."""
    if update is None:
        return None
    if waiting := _WAITING.search(update.footerSummary or ""):
        return Progress("queue", 0, 0, 0, 0, int(waiting.group(1)))
    if not update.headerNames or not update.rows:
        return None
    places = {name.upper(): index for index, name in enumerate(update.headerNames)}
    name_place = places.get("STAGES", places.get("VERTICES", 0))

    def number(row: Sequence[str], column: str) -> int:
        text = row[places[column]].strip() if column in places else ""
        return int(text) if text.isdigit() else 0

    states = [row[places["STATUS"]].strip().upper() if "STATUS" in places else "" for row in update.rows]
    running = [row for row, state in zip(update.rows, states, strict=True) if state in _RUNNING]
    current = running[0] if running else update.rows[-1]
    rows = _ROWS.search(update.footerSummary or "")
    return Progress(
        stage=_STAGE_NUMBER.sub("", current[name_place].strip()) or "stage",
        stages_done=sum(state in _DONE for state in states),
        tasks_done=number(current, "COMPLETED"),
        tasks_total=number(current, "TOTAL"),
        rows_read=int(rows.group(1).replace(",", "")) if rows else 0,
    )
