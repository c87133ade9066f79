"""Runs a script's statements one after the other and writes their answers."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

from sharkpy.cli.error_text import error_text
from sharkpy.cli.writers import WRITERS
from sharkpy.errors import ConfigurationError, SharkError, did_you_mean

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

    for statement, line in split_statements(text):
        started = time.perf_counter()
        try:
            count = run_statement(context, statement, output_format, sys.stdout)
        except BrokenPipeError:
            return 1
        except KeyboardInterrupt:
            context.cancel()
            sys.stderr.write("cancelled\n")
            return 130
        except SharkError as error:
            sys.stdout.flush()
            sys.stderr.write(error_text(error, statement, line) + "\n")
            return 1
        if timing:
            sys.stderr.write(f"{footer(count, time.perf_counter() - started)}\n")
    return 0


def run_statement(context: SharkContext, statement: str, output_format: str, stream: TextIO) -> int | None:
    """The number of rows written; None for a statement without an answer."""
    with context.sql(statement) as result:
        if not result.columns:
            return None
        count = WRITERS[output_format](stream, result.schema, result.batches())
    stream.flush()
    return count


def footer(count: int | None, seconds: float) -> str:
    if count is None:
        return f"done in {seconds:.2f} s"
    return f"{count:,} row{'' if count == 1 else 's'} in {seconds:.2f} s"
