from __future__ import annotations

import errno
import runpy
import traceback
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sharkpy.base.errors import CorruptionError, ExecutionError, InternalError, ResourceError, SharkError, SourceError
from sharkpy.base.settings import Conf
from sharkpy.execution.tasks.error_conversion import as_shark_error, raised_by


def failure_of(sql: str) -> SharkError:
    with duckdb.connect() as connection, pytest.raises(duckdb.Error) as caught:
        connection.execute(sql).fetchall()
    return as_shark_error(caught.value)


@pytest.mark.parametrize(
    ("sql", "kind", "sqlstate", "text"),
    [
        ("SELECT 'abc'::INT", ExecutionError, "22018", "Could not convert string 'abc' to INT32"),
        ("SELECT error('two rows [SQLSTATE 21000]')", ExecutionError, "21000", "two rows"),
        ("SELECT 9223372036854775807 + 1::BIGINT", ExecutionError, "22003", "Overflow"),
        ("SELECT nope", InternalError, "XX000", "nope"),
    ],
)
def test_duckdb(sql: str, kind: type[SharkError], sqlstate: str, text: str) -> None:
    error = failure_of(sql)
    assert type(error) is kind
    assert error.sqlstate == sqlstate
    assert text in error.message
    assert "\n" not in error.message


def test_out_of_memory_says_which_setting() -> None:
    config = {"memory_limit": "4MiB", "temp_directory": ""}
    with duckdb.connect(config=config) as connection, pytest.raises(duckdb.Error) as caught:
        connection.execute("SELECT list(range::VARCHAR) FROM range(1000000)").fetchall()
    error = as_shark_error(caught.value)
    assert type(error) is ResourceError
    assert error.sqlstate == "53200"
    assert error.message.startswith("out of memory: ")
    assert "Error:" not in error.message
    assert "shark.task.memory" in str(error.hint)


def test_out_of_memory_in_a_stream() -> None:
    """Arrow's reader of a DuckDB result raises OSError."""
    error = as_shark_error(
        OSError("Out of Memory Error: failed to allocate data of size 4.0 KiB (9.2/9.4 GiB used)\n\n*")
    )
    assert type(error) is ResourceError
    assert error.sqlstate == "53200"
    assert error.message == "out of memory: failed to allocate data of size 4.0 KiB (9.2/9.4 GiB used)"


def test_an_error_of_the_engine_is_kept() -> None:
    error = CorruptionError("block b7 is damaged")
    assert as_shark_error(error) is error


@pytest.mark.parametrize(
    ("error", "kind", "sqlstate"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/t/x"), ResourceError, "53100"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/t/x"), SourceError, "58030"),
        (MemoryError(), ResourceError, "53200"),
        (ValueError("odd"), InternalError, "XX000"),
    ],
)
def test_python(error: Exception, kind: type[SharkError], sqlstate: str) -> None:
    mapped = as_shark_error(error)
    assert type(mapped) is kind
    assert mapped.sqlstate == sqlstate


def test_the_place_in_a_program_below_a_folder_with_the_name_of_the_engine(tmp_path: Path) -> None:
    program = tmp_path / "sharkpy" / "pyspark" / "rows.py"
    program.parent.mkdir(parents=True)
    program.write_text("def rows():\n    yield 1\n    yield 1 / 0\n")
    rows = runpy.run_path(str(program))["rows"]
    with pytest.raises(ExecutionError) as caught:
        list(raised_by("the program", rows()))
    said = f"the program raised ZeroDivisionError: division by zero ({program}, line 3, in rows)"
    assert caught.value.message == said


def test_the_place_is_never_in_the_engine() -> None:
    def rows() -> Iterator[object]:
        yield Conf(5)  # type: ignore[arg-type]

    with pytest.raises(ExecutionError, match=r"raised AttributeError.*, in rows\)") as caught:
        list(raised_by("the program", rows()))
    assert traceback.extract_tb(caught.value.__cause__.__traceback__)[-1].name != "rows"
