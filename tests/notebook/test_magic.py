"""`%sharkql` and `%%sharkql`, run by IPython."""

from __future__ import annotations

import html
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.cli import progress_line
from sharkpy.explain import profile_html
from sharkpy.notebook.magic import Answer
from sharkpy.notebook.shown_profile import last_profile
from tests.waiting import allowed, when

SLOW = "SELECT count(*) FROM t a, t b, t c, t d WHERE hash(a.k, b.k, c.k, d.k) % 7 = 3"


def run(shell: InteractiveShell, cell: str) -> Any:
    return shell.run_cell(cell, silent=False).raise_error() or shell.user_ns["_"]


def error_of(shell: InteractiveShell, cell: str) -> BaseException:
    result = shell.run_cell(cell)
    error = result.error_in_exec or result.error_before_exec
    assert error is not None
    return error


def values(answer: Answer) -> list[tuple[object, ...]]:
    return [row for batch in answer.batches for row in zip(*batch.to_pydict().values(), strict=True)]


def answer_of(shell: InteractiveShell, cell: str) -> Answer:
    answer = shell.run_cell(cell).result
    assert isinstance(answer, Answer)
    return answer


def test_lines_and_cells(shell: InteractiveShell, context: sharkpy.SharkContext) -> None:
    assert values(answer_of(shell, "%sharkql SELECT count(*) AS n FROM t")) == [(1000,)]
    assert values(answer_of(shell, "%%sharkql\nSELECT k\n  FROM t -- all\n ORDER BY k LIMIT 2\n")) == [(1,), (2,)]
    assert shell.run_cell("answer = %sharkql SELECT 'x' AS s").success
    assert values(shell.user_ns["answer"]) == [("x",)]


def test_a_cell_of_several_statements_gives_the_last_answer(
    shell: InteractiveShell, context: sharkpy.SharkContext
) -> None:
    cell = "%%sharkql\nCREATE TABLE u (k INT, s STRING);\nINSERT INTO u VALUES (1, ';');\nSELECT * FROM u;"
    assert values(answer_of(shell, cell)) == [(1, ";")]
    result = shell.run_cell("%sharkql DROP TABLE u")
    assert result.success
    assert result.result is None


def test_how_an_answer_looks(shell: InteractiveShell, context: sharkpy.SharkContext) -> None:
    answer = answer_of(shell, "%sharkql SELECT k, '<b>' AS s FROM t ORDER BY k")
    assert answer.num_rows == 20
    assert "│  20 │ <b>" in repr(answer)
    assert "only the first 20 rows are shown" in repr(answer)
    assert "<td>20</td><td>&lt;b&gt;</td>" in answer._repr_html_()
    assert "<p>only the first 20 rows" in answer._repr_html_()
    shown = answer_of(shell, "%sharkql --limit 3 SELECT k FROM t ORDER BY k DESC")
    assert values(shown) == [(1000,), (999,), (998,)]
    whole = answer_of(shell, "%sharkql -n 1000 SELECT k FROM t")
    assert whole.num_rows == 1000
    assert "only the first" not in repr(whole)
    assert context.num_running == 0


def test_out(shell: InteractiveShell, context: sharkpy.SharkContext) -> None:
    result = shell.run_cell("%%sharkql --out numbers\nSELECT k FROM t")
    assert result.success
    assert result.result is None
    numbers = shell.user_ns["numbers"]
    assert isinstance(numbers, pa.Table)
    assert sorted(numbers["k"].to_pylist()) == list(range(1, 1001))
    assert shell.run_cell("%sharkql -o few --limit=7 SELECT k FROM t").success
    assert shell.user_ns["few"].num_rows == 7
    assert shell.run_cell("%sharkql -o none SELECT k FROM t WHERE k < 0").success
    assert shell.user_ns["none"].schema.names == ["k"]


def test_explain(shell: InteractiveShell, context: sharkpy.SharkContext) -> None:
    answer = answer_of(shell, "%%sharkql -e\nSELECT k FROM t WHERE k > 998")
    assert "BlockScan" in repr(answer) or "Scan" in repr(answer)
    assert answer._repr_html_().startswith("<pre>")
    error = error_of(shell, "%sharkql -e SELECT nope FROM t")
    assert isinstance(error, SharkError)
    assert (error.line, error.column) == (1, 8)


def test_values_are_bound(shell: InteractiveShell, context: sharkpy.SharkContext) -> None:
    shell.user_ns |= {
        "text": "it's \\ '; DROP TABLE t; -- {k} :k",
        "people": {"a'}": [1, 2]},
        "low": 3,
        "array": np.array([5, 6]),
    }
    row = values(
        answer_of(
            shell,
            "%%sharkql\nSELECT {text}, :text, {len(text) + 1}, { {'x': low}['x'] }, '{text} :low' /* {text} */,\n"
            """ 1 IN {people["a'}"]}, 5 IN (:array), CAST(NULL AS struct<low:int>) -- {nothing} :nothing""",
        )
    )[0]
    text = shell.user_ns["text"]
    assert row == (text, text, len(text) + 1, 3, "{text} :low", True, True, None)
    assert values(answer_of(shell, "%sharkql SELECT count(*) FROM t WHERE k > {low} AND k < :low + 5")) == [(4,)]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("cell", "kind", "message"),
    [
        ("%sharkql SELECT :nothing", "UsageError", 'no variable "nothing"'),
        ("%sharkql SELECT {nothing}", "NameError", "nothing"),
        ("%sharkql SELECT {1 +}", "UsageError", "no Python expression"),
        ("%sharkql SELECT {object()}", "StatementError", "type object has no HiveQL literal"),
        ("%sharkql", "UsageError", "there is no statement"),
        ("%sharkql --limt 3 SELECT 1", "UsageError", 'did you mean "--limit"'),
        ("%sharkql --limit x SELECT 1", "UsageError", "a number of rows"),
        ("%sharkql --out", "UsageError", "takes a value"),
        ("%sharkql --out a.b SELECT 1", "UsageError", "name of a variable"),
        ("%sharkql --set x SELECT 1", "UsageError", "key=value"),
    ],
)
def test_mistakes(shell: InteractiveShell, context: sharkpy.SharkContext, cell: str, kind: str, message: str) -> None:
    error = error_of(shell, cell)
    assert type(error).__name__ == kind
    assert message in str(error)


def test_an_error_is_a_line_with_its_place(
    shell: InteractiveShell, context: sharkpy.SharkContext, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.user_ns["x"] = "a long text"
    error = error_of(shell, "%%sharkql\nSELECT 1;\n\nSELECT {x},\n  {x} + nope FROM t")
    assert isinstance(error, SharkError)
    assert (error.sqlstate, error.line, error.column) == ("42703", 2, 9)
    shown = capsys.readouterr().out
    assert "Traceback" not in shown
    assert 'error [42703]: no column "nope"' in shown
    lines = shown.splitlines()
    place = next(index for index, line in enumerate(lines) if line.endswith("  {x} + nope FROM t"))
    assert lines[place + 1].index("^") == lines[place].index("nope")


def test_a_comment_is_no_option(shell: InteractiveShell, context: sharkpy.SharkContext) -> None:
    assert values(answer_of(shell, "%%sharkql\n-- out of it\nSELECT 1")) == [(1,)]


def test_connect(shell: InteractiveShell, tmp_path: Path) -> None:
    assert "--connect" in str(error_of(shell, "%sharkql SELECT 1"))
    folder = tmp_path / "a folder"
    assert shell.run_cell(f"%sharkql --connect '{folder}' --master local[2] --set shark.block.rows=77").success
    first = shell.user_ns["ctx"]
    assert isinstance(first, sharkpy.SharkContext)
    assert (first.master, first.conf["shark.block.rows"]) == ("local[2]", "77")
    assert values(answer_of(shell, "%sharkql SELECT 1")) == [(1,)]
    assert values(answer_of(shell, f"%%sharkql --connect {tmp_path}/b --master local[1]\nSELECT 2")) == [(2,)]
    assert first.is_stopped
    second = shell.user_ns["ctx"]
    shell.run_line_magic("unload_ext", "sharkpy")
    assert second.is_stopped
    assert "ctx" not in shell.user_ns
    assert "sharkql" not in shell.magics_manager.magics["line"]
    shell.run_line_magic("load_ext", "sharkpy")


def test_a_session_of_the_user_is_left_running(
    shell: InteractiveShell, context: sharkpy.SharkContext, tmp_path: Path
) -> None:
    assert shell.run_cell(f"%sharkql --connect {tmp_path}/b --master local[1]").success
    assert context.sql("SELECT 1").fetchall() == [(1,)]


def test_progress_is_an_output_that_is_updated(
    shell: InteractiveShell, context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_line, "SHOW_AFTER_SECONDS", 0.0)
    shell.user_ns["ctx"].conf.set("shark.query.timeout", "1.5")
    error = error_of(shell, f"%sharkql {SLOW}")
    assert isinstance(error, SharkError)
    assert error.sqlstate == "57014"
    outputs = shell.display_pub.outputs
    texts = [output["data"]["text/plain"] for output in outputs]
    assert len(texts) > 3
    assert any("stage 1" in text for text in texts)
    assert texts[-1] == ""
    assert len({output["transient"]["display_id"] for output in outputs}) == 1
    assert [bool(output.get("update")) for output in outputs] == [False] + [True] * (len(outputs) - 1)


def test_an_interrupt_ends_the_statement(shell: InteractiveShell, context: sharkpy.SharkContext) -> None:
    when(lambda: context.num_running, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    result = shell.run_cell(f"%%sharkql\n{SLOW}")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert time.monotonic() - start < allowed(5)
    assert context.num_running == 0
    assert values(answer_of(shell, "%sharkql SELECT count(*) FROM t")) == [(1000,)]


def test_sharkpy_is_imported_without_ipython() -> None:
    import subprocess
    import sys

    program = "import sys, sharkpy, sharkpy.notebook; sharkpy.load_ipython_extension; print('IPython' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_the_console_shows_the_last_query(
    shell: InteractiveShell, context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = Path(sharkpy.__file__).parent / "web" / "page" / "profile.html"
    monkeypatch.setattr(profile_html, "PAGE", source)
    with context.new_session() as fresh, pytest.raises(UsageError, match="no query of this session has a profile"):
        last_profile(fresh)
    first = "SELECT sum(k * 2) AS n FROM t WHERE '</iframe>' <> 'x'"
    run(shell, f"%sharkql {first}")
    with context.new_session() as other:
        other.sql("SELECT k FROM t").fetchall()
    shown = shell.run_cell("%sharkpy console").result
    assert repr(shown).splitlines()[0].endswith(first)
    frame = shown._repr_html_()
    assert frame.startswith("<iframe ")
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert frame.count("</iframe>") == 1, "values do not end the frame"
    page = html.unescape(frame)
    assert 'id="profile">{"version": 1' in page
    run(shell, "%sharkql SELECT sum(k * 3) FROM t")
    again = shell.run_cell(f"%sharkpy console {shown.record.query_id}").result
    assert again.record.text == first
    assert "sum(k * 3)" in repr(shell.run_cell("%sharkpy console").result)
    assert 'no query "x"' in str(error_of(shell, "%sharkpy console x"))
    assert "write %sharkpy console" in str(error_of(shell, "%sharkpy help"))
    monkeypatch.setattr(profile_html, "PAGE", tmp_path / "none.html")
    assert again._repr_html_().startswith("<pre>the page of profiles is not built: run `make page`")
