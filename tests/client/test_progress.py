"""The shell shows the progress that the server reports: the two ends of one message."""

from __future__ import annotations

from types import SimpleNamespace

from sharkpy.base.errors import CancelledError, TableNotFoundError
from sharkpy.client.remote_calls import error_of
from sharkpy.client.remote_operation import RemoteOperation, progress_of
from sharkpy.execution.statement import Progress
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.operation_progress import StageTable
from sharkpy.thrift.status import failure


def test_the_running_stage_and_all_rows() -> None:
    board = StageTable(2)
    board.tell(Progress("Aggregate", 0, 4, 4, 1_000))
    board.tell(Progress("Sort", 1, 1, 3, 234))
    said = progress_of(board.response(0.0, 1.0, is_over=False))
    assert said == Progress("Sort", 1, 1, 3, 1_234)


def test_rows_are_counted_for_their_stage() -> None:
    """The server tells rows of the statement, the shell's board adds up the rows of its stages."""
    operation = RemoteOperation(None, SimpleNamespace(hasResultSet=True), lambda: None, 1)  # type: ignore[arg-type, return-value]
    told = [Progress("a stage", done, 0, 1, rows) for done, rows in ((0, 100), (0, 150), (1, 150), (1, 190))]
    assert [operation._of_its_stage(one).rows_read for one in told] == [100, 150, 0, 40]


def test_waiting() -> None:
    board = StageTable(2)
    board.tell(Progress("queue", 0, 0, 0, 0, 3))
    said = progress_of(board.response(0.0, 1.0, is_over=False))
    assert said is not None
    assert said.queued_behind == 3


def test_nothing_to_say() -> None:
    assert progress_of(None) is None
    assert progress_of(StageTable(1).response(0.0, 1.0, is_over=True)) is None
    assert progress_of(ttypes.TProgressUpdateResp(headerNames=["STAGES"], rows=[])) is None


def test_progress_of_hive_on_tez() -> None:
    header = ["VERTICES", "MODE", "STATUS", "TOTAL", "COMPLETED", "RUNNING", "PENDING", "FAILED", "KILLED"]
    rows = [
        ["Map 1 ..........", "container", "SUCCEEDED", "5", "5", "0", "0", "0", "0"],
        ["Reducer 2        ", "container", "RUNNING", "8", "2", "1", "5", "0", "0"],
    ]
    said = progress_of(ttypes.TProgressUpdateResp(headerNames=header, rows=rows, footerSummary="VERTICES: 01/02"))
    assert said == Progress("Reducer 2", 1, 2, 8, 0)


def test_an_error_comes_out_as_it_went_in() -> None:
    sent = TableNotFoundError("Table not found tt", line=3, column=7, hint='did you mean "t"?')
    status = failure(sent)
    got = error_of(status.errorMessage, status.sqlState)
    assert (got.message, got.sqlstate, got.line, got.column, got.hint) == (
        sent.message,
        "42S02",
        3,
        7,
        'did you mean "t"?',
    )


def test_errors_of_other_servers() -> None:
    text = "Error while compiling statement: FAILED: SemanticException [Error 10001]: Line 2:5 no table x"
    hive = error_of(text, "42S02")
    assert (hive.line, hive.column) == (2, 5)
    assert hive.message.endswith("no table x")
    spark = error_of(
        "Error running query: [TABLE_OR_VIEW_NOT_FOUND] org.apache.spark.sql.AnalysisException: "
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `x` cannot be found.\n\tat org.apache.spark",
        "42P01",
    )
    assert spark.message == "[TABLE_OR_VIEW_NOT_FOUND] The table or view `x` cannot be found."
    assert isinstance(error_of("Cancelled", "57014"), CancelledError)
