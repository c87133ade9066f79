"""Execution of a script's statements one after the other, with their answers written."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.cli.answers import Answer, AnswerWriter
from sharkpy.cli.error_text import error_text
from sharkpy.cli.progress_line import ProgressBoard, run_with_progress, short_count
from sharkpy.cli.shell_options import ShellOptions

if TYPE_CHECKING:
    from sharkpy.cli.shell_session import ShellSession


def run_script(session: ShellSession, text: str, output_format: str, *, timing: bool = False) -> int:
    """Run a script; returns the exit code, 1 at the first error, which ends it. Standard output has answers alone."""
    from sharkpy.cli.client_statements import run_client_statement, statements_with_sources

    board = ProgressBoard()
    remove = session.add_progress_listener(board.update)
    writer = AnswerWriter(ShellOptions(output_format, max_rows=0, width=-1, pager=False))
    try:
        statements = list(statements_with_sources(text))
    except SharkError as error:
        sys.stderr.write(error_text(error) + "\n")
        return 1
    for statement, line in statements:
        started = time.perf_counter()

        def answer(statement: str = statement) -> Answer:
            with session.sql(statement) as result:
                return writer.write(result, board.hide)

        try:
            if run_client_statement(session.substituted(statement), _say):
                continue
            count = run_with_progress(answer, session.cancel, board).num_rows
        except BrokenPipeError:
            return 1
        except CancelledError:
            sys.stderr.write("cancelled\n")
            return 130
        except Exception as error:  # noqa: BLE001 - whatever it was, a script's user reads one line
            sys.stdout.flush()
            sys.stderr.write(error_text(error, statement, line) + "\n")
            return 1
        if timing:
            sys.stderr.write(f"{footer(count, time.perf_counter() - started, board.rows_read)}\n")
    remove()
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def footer(count: int | None, seconds: float, rows_read: int = 0) -> str:
    """Line below an answer; `count` is None for a statement without rows."""
    took = f"in {seconds:.2f} s"
    if rows_read:
        took += f" ({rows_read:,} rows read, {short_count(int(rows_read / max(seconds, 0.001)))} rows/s)"
    return f"done {took}" if count is None else f"{count:,} row{'' if count == 1 else 's'} {took}"
