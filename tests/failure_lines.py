"""A line for each failure at once: a run that is cut before its summary has still told what failed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(eq=False)
class FailureLines:
    terminal: pytest.TerminalReporter

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.terminal.write_line(f"\nfailed: {report.nodeid} ({report.longreprtext.splitlines()[-1]})")
