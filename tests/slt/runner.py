"""Runner of a file's records on an engine."""

from __future__ import annotations

import re
from pathlib import Path

from tests.slt.engines import Engine
from tests.slt.records import Record, load
from tests.slt.rows import arrange, difference, text_rows, type_letters


class SltFailure(AssertionError):
    def __init__(self, path: Path, record: Record, what: str) -> None:
        super().__init__(f"{path.name}:{record.line}: {what}\n  {record.sql}")


def run_file(path: Path, engine: Engine) -> None:
    """Run every record meant for the engine; all failures of queries are reported together."""
    engine.open()
    failures: list[str] = []
    try:
        for record in load(path):
            if record.runs_on(engine.name):
                try:
                    run_record(path, record, engine)
                except SltFailure as failure:
                    failures.append(str(failure))
    finally:
        engine.close()
    if failures:
        raise AssertionError("\n".join(failures))


def run_record(path: Path, record: Record, engine: Engine) -> None:
    match record.kind:
        case "ok":
            try:
                engine.run(record.sql)
            except Exception as error:
                raise SltFailure(path, record, f"{type(error).__name__}: {error}") from error
        case "error":
            _expect_error(path, record, engine)
        case "query":
            _expect_rows(path, record, engine)


def _expect_error(path: Path, record: Record, engine: Engine) -> None:
    try:
        engine.run(record.sql)
    except Exception as error:
        if engine.name == "sharkpy" and not re.search(record.argument, _error_text(error), re.IGNORECASE | re.DOTALL):
            raise SltFailure(path, record, f"the error is {_error_text(error)}, not {record.argument}") from error
        return
    raise SltFailure(path, record, "no error")


def _error_text(error: Exception) -> str:
    return f"{getattr(error, 'sqlstate', type(error).__name__)} {error}"


def _expect_rows(path: Path, record: Record, engine: Engine) -> None:
    try:
        table = engine.run(record.sql)
    except Exception as error:
        raise SltFailure(path, record, f"{type(error).__name__}: {error}") from error
    letters = type_letters(table.schema)
    if engine.name != "duckdb" and letters != record.argument:
        raise SltFailure(path, record, f"types are {letters} ({table.schema.types}), expected {record.argument}")
    actual = arrange(text_rows(table), record.sort)
    expected = [tuple(line.split("\t")) for line in record.expected]
    if what := difference(actual, arrange(expected, record.sort)):
        raise SltFailure(path, record, what)
