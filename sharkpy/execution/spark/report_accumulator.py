"""Spark accumulator that carries task reports."""

from __future__ import annotations

from typing import Any

from pyspark.accumulators import AccumulatorParam

from sharkpy.execution.tasks.report import ReportCollector, TaskReport

Reports = list[TaskReport]


class WorkerReports(AccumulatorParam[Reports]):
    """Accumulator in a worker: a list of its task's reports."""

    def zero(self, value: Reports) -> Reports:  # noqa: ARG002 - required by the protocol
        return []

    def addInPlace(self, value1: Reports, value2: Reports) -> Reports:  # noqa: N802 - required by the protocol
        return value1 + value2


class DriverReports(WorkerReports):
    """Accumulator in the driver. It stays empty, because reports go to the book as they arrive."""

    def __init__(self, book: ReportCollector) -> None:
        self.book = book

    def addInPlace(self, value1: Reports, value2: Reports) -> Reports:  # noqa: N802 - required by the protocol
        for report in value2:
            self.book.add(report)
        return value1

    def __reduce__(self) -> tuple[Any, ...]:
        return (WorkerReports, ())
