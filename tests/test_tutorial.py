"""Statements of docs/tutorial.md run on the data of the demo, with the answers that the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base import settings
from sharkpy.demo.flights_data import create_tables, write_files
from sharkpy.demo.run_demo import BLOCK_ROWS
from sharkpy.session.output_formats import write_lines, write_table
from sharkpy.sql.grammar.split_statements import split_statements
from tests.waiting import until

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
_BLOCK = re.compile(r"```(sql|python)\n(.*?)```(?:\n\n?(?:[^`#]+\n\n)?```text\n(.*?)```)?", re.DOTALL)


def answer(context: sharkpy.SharkContext, statement: str) -> str:
    """Answer as the shell shows it, or the text of the error."""
    out = io.StringIO()
    try:
        with context.sql(statement) as result:
            batches = list(result.batches())
            if result.columns:
                (write_lines if result.is_text else write_table)(out, result.schema, batches)
    except sharkpy.SharkError as error:
        return f"{error}\n"
    return out.getvalue()


def shows(context: sharkpy.SharkContext, statement: str, expected: str) -> bool:
    found = answer(context, statement)
    return expected.strip() in found if statement.startswith("EXPLAIN") else found == expected


def printed(context: sharkpy.SharkContext, code: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run code in this session; return its output."""
    capsys.readouterr()
    exec(compile(re.sub(r"sharkpy\.connect\(.*\)", "session", code), str(PAGE), "exec"), {"session": context})
    return capsys.readouterr().out


def test_tutorial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 13
    write_files(tmp_path / "files")
    conf = {settings.BLOCK_ROWS.key: BLOCK_ROWS}
    with contextlib.chdir(tmp_path), sharkpy.connect("local[2]", tmp_path / "warehouse", **conf) as context:
        create_tables(context, tmp_path / "files")
        for kind, text, expected in blocks:
            if kind == "python":
                assert printed(context, text, capsys) == expected
                continue
            *commands, last = (one for one, _ in split_statements(text))
            for command in commands:
                context.sql(command).close()
            if expected:
                until(lambda last=last, expected=expected: shows(context, last, expected))
            else:
                context.sql(last).close()
