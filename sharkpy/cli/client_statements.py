"""Statements of Hive's shell that run on this machine, without a session: `dfs …`, `!command` and `source file`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from sharkpy.base.errors import ConfigurationError, ExecutionError
from sharkpy.sql.grammar.split_statements import split_statements

_MOST_SOURCES = 20
_SOURCE = re.compile(r"source\s+(?P<path>\S.*?)\s*", re.IGNORECASE | re.DOTALL)
_DFS = re.compile(r"dfs\s+(?P<rest>.*)", re.IGNORECASE | re.DOTALL)

Say = Callable[[str], None]


def statements_with_sources(text: str, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Yield the statements of a script and the lines they start in, with the statements of each file that `source`
    names.

    Raise ConfigurationError if a file cannot be read, or if files are nested too deeply.
    """
    for statement, line in split_statements(text):
        source = _SOURCE.fullmatch(statement)
        if source is None:
            yield statement, line
            continue
        if depth == _MOST_SOURCES:
            raise ConfigurationError(f"files are read by source more than {_MOST_SOURCES} levels deep")
        yield from statements_with_sources(_content(source["path"].strip("'\"")), depth + 1)


def _content(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f'cannot read "{path}": {reason}', sqlstate="58030") from None


def run_client_statement(statement: str, say: Say) -> bool:
    """Run `statement` if this machine runs it without a session. Return False if not."""
    if dfs := _DFS.fullmatch(statement):
        from sharkpy.cli.local_files import run_dfs

        run_dfs(dfs["rest"], say)
        return True
    if statement.startswith("!"):
        _run_command(statement[1:].strip(), say)
        return True
    return False


def _run_command(command: str, say: Say) -> None:
    done = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)
    if done.stdout:
        say(done.stdout.removesuffix("\n"))
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise ExecutionError(f"the command ended with code {done.returncode}: {last}".rstrip(": "))
