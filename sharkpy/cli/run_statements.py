"""Runs a script's statements one after the other and writes their answers."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from sharkpy.cli.error_text import error_text
from sharkpy.cli.progress_line import ProgressBoard, run_with_progress
from sharkpy.cli.writers import WRITERS, write_lines
from sharkpy.errors import CancelledError, ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from sharkpy.session import SharkContext


def writer_of(name: str) -> str:
    """`name` if it is an output format."""
    if name not in WRITERS:
        known = ", ".join(WRITERS)
        raise ConfigurationError(f'no output format "{name}"', hint=did_you_mean(name, WRITERS) or f"there are {known}")
    return name


def run_script(context: SharkContext, text: str, output_format: str, *, timing: bool = False) -> int:
    """The exit code: 1 at the first error, which ends the script; answers go to standard output alone."""
    from sharkpy.sql.split_statements import split_statements

    board = ProgressBoard()
    remove = context.add_progress_listener(board.update)
    for statement, line in split_statements(text):
        started = time.perf_counter()

        def answer(statement: str = statement) -> int | None:
            return run_statement(context, statement, output_format, sys.stdout, board.hide)

        try:
            count = run_with_progress(answer, context.cancel, board)
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
            sys.stderr.write(f"{footer(count, time.perf_counter() - started)}\n")
    remove()
    return 0


def run_statement(
    context: SharkContext,
    statement: str,
    output_format: str,
    stream: TextIO,
    on_answer: Callable[[], None] = lambda: None,
) -> int | None:
    """The number of rows written; None for a statement without an answer. `on_answer` is called before the first."""
    with context.sql(statement) as result:
        if not result.columns:
            return None
        write = write_lines if result.is_text and output_format == "table" else WRITERS[output_format]
        batches = result.batches()
        first = list(itertools.islice(batches, 1))
        on_answer()
        count = write(stream, result.schema, itertools.chain(first, batches))
    stream.flush()
    return None if result.is_text else count


def footer(count: int | None, seconds: float) -> str:
    if count is None:
        return f"done in {seconds:.2f} s"
    return f"{count:,} row{'' if count == 1 else 's'} in {seconds:.2f} s"
