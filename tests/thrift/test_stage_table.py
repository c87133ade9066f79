"""The table of stages that clients draw a bar from."""

from __future__ import annotations

from sharkpy.execution.statement import Progress
from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.operation_progress import StageTable

STATUS = ttypes.TJobExecutionStatus


def test_nine_columns_and_shares() -> None:
    board = StageTable(4)
    board.tell(Progress("scan of a table with a name that is long", 0, 10, 10, 5000))
    board.tell(Progress("aggregate", 1, 2, 8, 70))
    answer = board.response(1.5, 2.0, is_over=False)
    assert len(answer.headerNames) == 9
    assert [len(row) for row in answer.rows] == [9, 9]
    assert answer.rows[0][2:] == ["SUCCEEDED", "10", "10", "0", "0", "0", "0"]
    assert answer.rows[1][2:] == ["RUNNING", "8", "2", "4", "2", "0", "0"]
    assert answer.progressedPercentage == (1 + 0.25) / 2
    assert answer.status == STATUS.IN_PROGRESS
    assert answer.startTime == 1500
    assert "5,070" in answer.footerSummary
    assert "2,535" in answer.footerSummary


def test_earlier_stages_are_complete_though_their_last_figures_were_not_heard() -> None:
    board = StageTable(2)
    board.tell(Progress("scan", 0, 3, 10, 0))
    board.tell(Progress("sort", 1, 0, 1, 0))
    assert board.response(0, 1, is_over=False).rows[0][2:5] == ["SUCCEEDED", "10", "10"]


def test_nothing_yet_and_waiting() -> None:
    board = StageTable(2)
    answer = board.response(0, 0, is_over=False)
    assert (answer.rows, answer.progressedPercentage) == ([], 0.0)
    board.tell(Progress("queue", 0, 0, 0, 0, 3))
    assert board.response(0, 1, is_over=False).footerSummary == "WAITING: 3 QUERIES BEFORE IT"
    board.tell(Progress("scan", 0, 0, 0, 0))
    answer = board.response(0, 1, is_over=False)
    assert answer.footerSummary.startswith("ROWS READ")
    assert answer.rows[0][3:5] == ["1", "0"], "a stage without tasks yet has room for one"


def test_no_bar_once_it_is_over() -> None:
    board = StageTable(2)
    board.tell(Progress("scan", 0, 1, 1, 5))
    answer = board.response(0, 1, is_over=True)
    assert (answer.headerNames, answer.rows, answer.status) == ([], [], STATUS.NOT_AVAILABLE)
