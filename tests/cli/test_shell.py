"""The shell: formats, errors, exit codes, interactive handling."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import sharkpy
from sharkpy.base.errors import CancelledError, ParseError
from sharkpy.cli.completer import SharkCompleter
from sharkpy.cli.error_text import error_text
from sharkpy.cli.interactive import Shell, TypedTexts, is_complete
from sharkpy.cli.main import main
from sharkpy.cli.progress_line import ProgressBoard, run_with_progress
from sharkpy.cli.server import LogLines
from sharkpy.cli.shell_session import LocalNames, session_settings
from sharkpy.cli.statement_shell import run_script
from tests.waiting import allowed, until

ROOT = Path(__file__).parent.parent.parent
SETUP = "CREATE TABLE t (k INT, s STRING); INSERT INTO t VALUES (1, 'a|b'), (2, NULL), (3, 'x\ty')"


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    with sharkpy.connect(warehouse=tmp_path) as context:
        context.sql(SETUP)
    return str(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


QUERY = "SELECT k, s FROM t ORDER BY k"


def test_formats(capsys: pytest.CaptureFixture[str], warehouse: str) -> None:
    def output(form: str) -> str:
        code, out, err = run(capsys, "--warehouse", warehouse, "--format", form, "-e", QUERY)
        assert (code, err) == (0, "")
        return out

    assert list(csv.reader(io.StringIO(output("csv")))) == [["k", "s"], ["1", "a|b"], ["2", ""], ["3", "x\ty"]]
    assert output("tsv") == "k\ts\n1\ta|b\n2\t\\N\n3\tx\\ty\n"
    code, out, _ = run(
        capsys, "--warehouse", warehouse, "--format", "csv", "--nullvalue", "-", "-e", "SELECT NULL AS x"
    )
    assert (code, out) == (0, "x\n-\n")
    assert json.loads(output("json")) == [{"k": 1, "s": "a|b"}, {"k": 2, "s": None}, {"k": 3, "s": "x\ty"}]
    assert "| 1 | a\\|b |" in output("markdown")
    assert "-- row 3" in output("vertical")
    table = output("table").splitlines()
    assert table[0].startswith("┌")
    assert len({len(line) for line in table}) == 1


def test_empty_answers(capsys: pytest.CaptureFixture[str], warehouse: str) -> None:
    code, out, _ = run(capsys, "--warehouse", warehouse, "--format", "json", "-e", "SELECT k FROM t WHERE k > 9")
    assert (code, json.loads(out)) == (0, [])


def test_several_statements_and_files(capsys: pytest.CaptureFixture[str], warehouse: str, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("-- a comment; with a semicolon\nSELECT 1 AS x;\nSELECT ';' AS y;\n")
    code, out, _ = run(capsys, "--warehouse", warehouse, "--format", "csv", "-f", str(script))
    assert (code, out) == (0, "x\n1\ny\n;\n")
    code, out, _ = run(capsys, "--warehouse", warehouse, "--format", "csv", "-e", "SELECT 1 AS x; SELECT 2 AS z")
    assert (code, out) == (0, "x\n1\nz\n2\n")


def test_a_warning_is_a_notice_without_places_in_code(capsys: pytest.CaptureFixture[str], warehouse: str) -> None:
    script = "GENERATE KMeans((SELECT 1D AS x FROM t), 2)"
    code, _, err = run(capsys, "--warehouse", warehouse, "--format", "csv", "-e", script)
    assert (code, err) == (0, "notice: 1 distinct clusters were found for n_clusters=2: the data may have equal rows\n")


def test_an_error_ends_the_script(capsys: pytest.CaptureFixture[str], warehouse: str) -> None:
    script = "SELECT 1 AS x; SELECT kk FROM t; SELECT 2"
    code, out, err = run(capsys, "--warehouse", warehouse, "--format", "csv", "-e", script)
    assert (code, out) == (1, "x\n1\n")
    assert err.startswith("error [42703]")
    lines = err.splitlines()
    assert lines[1].index("kk") == lines[2].index("^")
    assert any(line.startswith("hint: did you mean") for line in lines)


def test_missing_script(capsys: pytest.CaptureFixture[str], warehouse: str) -> None:
    code, out, err = run(capsys, "--warehouse", warehouse, "-f", "/nowhere/x.sql")
    assert (code, out) == (1, "")
    assert "/nowhere/x.sql" in err


def test_settings_on_the_command_line(capsys: pytest.CaptureFixture[str], warehouse: str) -> None:
    arguments = ("--warehouse", warehouse, "--set", "shark.block.rows=7", "--format", "csv")
    code, out, _ = run(capsys, *arguments, "-e", "SET shark.block.rows")
    assert code == 0
    assert "shark.block.rows=7" in out
    assert run(capsys, "--warehouse", warehouse, "--set", "nonsense", "-e", "SELECT 1")[0] == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == f"sharkpy {sharkpy.__version__}"


def test_standard_input(warehouse: str) -> None:
    command = [sys.executable, "-m", "sharkpy.cli.main", "--warehouse", warehouse, "--format", "tsv"]
    root = Path(__file__).parent.parent.parent
    answer = subprocess.run(
        command, input="SELECT 5 AS five", capture_output=True, text=True, cwd=root, env=os.environ, check=False
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "five\n5\n", "")


def test_doctor(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = run(capsys, "doctor", "--warehouse", str(tmp_path))
    for name in ("python", "java", "shared memory", "orphans", "warehouse"):
        assert name in out


def test_caret_in_a_script_line() -> None:
    error = ParseError("syntax error", line=2, column=3, hint="look there")
    text = error_text(error, "SELECT 1,\n  FROM t", first_line=10).splitlines()
    assert text[1] == "11:   FROM t"
    assert text[2].index("^") == text[1].index("FROM")
    assert text[3] == "hint: look there"


def test_an_error_quotes_no_secret() -> None:
    statement = "SELECT 1;\n  LOCATION 's3a://id:hunter2@bucket/x' nonsense"
    text = error_text(ParseError("syntax error", line=2, column=40), statement)
    assert text.splitlines() == ["error [42601]: syntax error", "2:   LOCATION 's3a://***@bucket/x' nonsense"]


def test_the_file_of_typed_texts_has_no_secrets(tmp_path: Path) -> None:
    texts = TypedTexts(str(tmp_path / "history"))
    typed = "SET fs.s3a.secret.key=hunter2;\nSELECT 1;"
    texts.append_string(typed)
    assert texts.get_strings() == [typed], "it is there again by the arrow key, while the shell runs"
    assert list(TypedTexts(str(tmp_path / "history")).load_history_strings()) == [typed.replace("hunter2", "***")]


def test_lines_of_the_servers_log_have_no_secrets() -> None:
    form = LogLines("%(levelname)s %(name)s: %(message)s")
    try:
        raise ValueError("s3a://id:hunter2@bucket")
    except ValueError:
        fault = sys.exc_info()
    given = ("AWS_SECRET_ACCESS_KEY=hunter2",)
    text = form.format(logging.LogRecord("sharkpy.x", logging.ERROR, "x.py", 1, "it is %s", given, fault))
    assert text.startswith("ERROR sharkpy.x: it is AWS_SECRET_ACCESS_KEY=***\nTraceback")
    assert "ValueError: s3a://***@bucket" in text
    assert "hunter2" not in text


def test_an_error_does_not_steer_the_terminal() -> None:
    error = ParseError('near "\x1b]0;x\x07"', line=1, column=10, hint="a\u202eb\nc")
    assert error_text(error, "SELECT '\x1b' FROM").splitlines() == [
        'error [42601]: near "\\x1b]0;x\\x07"',
        "  SELECT '\\x1b' FROM",
        "              ^",
        "hint: a\\u202eb c",
    ]


@pytest.fixture
def context(warehouse: str) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=warehouse) as opened:
        yield opened


def completions(context: sharkpy.SharkContext, text: str) -> list[str]:
    return [one.text for one in SharkCompleter(LocalNames(context)).get_completions(Document(text), CompleteEvent())]


def test_completion(context: sharkpy.SharkContext) -> None:
    assert completions(context, "SELECT * FROM ") == ["t"]
    assert "SELECT" in completions(context, "SEL")
    assert "select" in completions(context, "sel")
    assert "substring" in completions(context, "SELECT substri")
    assert completions(context, "SELECT x. FROM t x"[:9]) == []
    completer = SharkCompleter(LocalNames(context))
    found = completer.get_completions(Document("SELECT x. FROM t x", cursor_position=9), CompleteEvent())
    assert [one.text for one in found] == ["k", "s"]


def test_when_enter_runs() -> None:
    for text in ("SELECT 1;", " !tables", "quit", "  ", "SELECT 1;  \n"):
        assert is_complete(text)
    for text in ("SELECT 1", "SELECT\n  1", "show tables"):
        assert not is_complete(text)


def test_the_shell_outlives_errors(context: sharkpy.SharkContext, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(context, LocalNames(context), "csv")
    for text in ("SELECT nothing;", "SELECT 1 AS x;", "!mode tsv", "!format nonsense", "!help", "!tables"):
        shell.handle(text)
    out = capsys.readouterr().out
    assert "error [42703]" in out
    assert "x\n1\n1 row in" in out
    assert 'no output format "nonsense"' in out
    assert "tab_name" in out


def test_ctrl_c_cancels_only_the_query() -> None:
    import signal
    import threading

    cancelled = threading.Event()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        cancelled.wait(10)
        raise CancelledError("cancelled")

    with pytest.raises(CancelledError):
        run_with_progress(work, cancelled.set, ProgressBoard(io.StringIO()))


def test_ctrl_c_before_there_is_a_statement() -> None:
    import signal
    import threading

    begun, cancelled, calls = threading.Event(), threading.Event(), list[float]()

    def cancel() -> None:
        calls.append(0.0)
        if begun.is_set():
            cancelled.set()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        while not calls:
            cancelled.wait(0.01)
        begun.set()
        assert cancelled.wait(10)
        raise CancelledError("cancelled")

    with pytest.raises(CancelledError):
        run_with_progress(work, cancel, ProgressBoard(io.StringIO()))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_line_goes_before_the_answer_comes() -> None:
    terminal = Terminal()
    board = ProgressBoard(terminal)
    board.start()
    board.show(2.0)
    board.hide()
    board.show(3.0)
    assert terminal.getvalue() == "\r\x1b[2Krunning | 2.0 s\r\x1b[2K"


@pytest.mark.variants(2)
@pytest.mark.parametrize(("number", "code", "said"), [("SIGINT", 130, "cancelled\n"), ("SIGTERM", 143, "")])
def test_interrupted_script(tmp_path: Path, number: str, code: int, said: str) -> None:
    """Ctrl-C and kill end a script in order, whatever DuckDB is in the middle of."""
    import signal
    import time

    query = "SELECT count(*) FROM t a, t b, t c, t d, t e, t f WHERE a.k * b.k + c.k * d.k + e.k * f.k = 7"
    with sharkpy.connect(warehouse=tmp_path) as context:
        context.sql("CREATE TABLE t AS SELECT k FROM (SELECT posexplode(split(space(99), ' ')) AS (k, s)) x")
    command = [sys.executable, "-m", "sharkpy.cli.main", "--warehouse", str(tmp_path), "-e", "SELECT 1", "-e", query]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    while "│   1 │" not in process.stdout.readline():
        pass
    before = sum(psutil.Process(process.pid).cpu_times()[:2])
    until(lambda: sum(psutil.Process(process.pid).cpu_times()[:2]) > before + 0.5)
    started = time.monotonic()
    process.send_signal(signal.Signals[number])
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (code, said)
    assert time.monotonic() - started < allowed(5)


def test_lines_of_a_plan_are_written_as_they_are(capsys: pytest.CaptureFixture[str], warehouse: str) -> None:
    code, out, _ = run(capsys, "--warehouse", warehouse, "-e", "EXPLAIN SELECT k FROM t")
    assert code == 0
    assert out.startswith("== Physical plan")


def test_an_unforeseen_error_is_one_line(
    capsys: pytest.CaptureFixture[str], warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(sharkpy.SharkContext, "sql", fail)
    code, out, err = run(capsys, "--warehouse", warehouse, "-e", "SELECT 1")
    assert (code, out) == (1, "")
    assert err.startswith("error [XX000]: ZeroDivisionError")
    assert err.count("\n") == 1


def test_options_before_a_command_hold() -> None:
    from sharkpy.cli.main import _parser

    assert _parser().parse_args(["--warehouse", "w", "demo"]).warehouse == "w"
    assert _parser().parse_args(["demo", "--warehouse", "w"]).warehouse == "w"
    both = _parser().parse_args(["--set", "a=1", "server", "--set", "b=2", "--hiveconf", "c=3"])
    assert session_settings(both) == {"a": "1", "b": "2", "c": "3"}
    assert both.set_password is None


@pytest.mark.parametrize("arguments", [["--timin"], ["server", "--set-p", "ada"], ["doctor", "--ware", "w"]])
def test_options_are_not_abbreviated(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "unrecognized arguments: --" in capsys.readouterr().err


def test_progress_line() -> None:
    from sharkpy.execution.statement import Progress

    board = ProgressBoard()
    assert board.line(1.25) == "running | 1.2 s"
    board.update(Progress("Scan", 1, 3, 4, 2_500_000))
    assert board.line(2.0) == "stage 2 Scan | 75 % | 3/4 tasks | 2.5 M rows (1.2 M/s) | 2.0 s"


SCRIPT = """.mode csv
.timer on
SELECT count(*) AS c
FROM t;
.timer off
.tables
!echo of the machine;
{last}
SELECT 'not reached';
"""
SCRIPT_ANSWERS = "c\n3\ntab_name\nt\nof the machine\n"


@pytest.mark.variants(3)
@pytest.mark.parametrize("last", ["quit;", ".exit", "!quit", "EXIT;"])
def test_commands_in_a_file(capsys: pytest.CaptureFixture[str], warehouse: str, tmp_path: Path, last: str) -> None:
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT.format(last=last))
    code, out, err = run(capsys, "--warehouse", warehouse, "-f", str(script))
    assert (code, out) == (0, SCRIPT_ANSWERS)
    assert err.startswith("1 row in ")
    assert err.count("\n") == 1


def test_commands_on_standard_input_and_the_command_line(
    capsys: pytest.CaptureFixture[str], warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(SCRIPT.format(last=".quit")))
    assert run(capsys, "--warehouse", warehouse)[:2] == (0, SCRIPT_ANSWERS)
    (tmp_path / "read.sql").write_text(
        ".mode tsv\nSELECT 1 AS one;\n.once {}\nSELECT 2 AS two".format(tmp_path / "two.csv")
    )
    code, out, _ = run(capsys, "--warehouse", warehouse, "-e", f".read {tmp_path}/read.sql", "-e", "SELECT 3 AS three")
    assert (code, out) == (0, "one\n1\nthree\n3\n")
    assert (tmp_path / "two.csv").read_text() == "two\n2\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".tabels", 'error [42601]: no command ".tabels"\nhint: did you mean ".tables"?\n'),
        (".mode cvs", 'error [22023]: no output format "cvs"\nhint: did you mean "csv"?\n'),
        (".use nowhere", "error [3F000]: Database not found nowhere\n  USE nowhere\n      ^\n"),
        (".read /nowhere.sql", 'error [58030]: cannot read "/nowhere.sql": No such file or directory\n'),
        ("!exit-code-of-this-is 3;", "error [58000]: the command ended with code 127"),
    ],
)
def test_a_command_that_fails_ends_the_script(
    capsys: pytest.CaptureFixture[str], warehouse: str, tmp_path: Path, line: str, message: str
) -> None:
    script = tmp_path / "script.sql"
    script.write_text(f"SELECT 1 AS one;\n{line}\nSELECT 2;\n")
    code, out, err = run(capsys, "--warehouse", warehouse, "--format", "csv", "-f", str(script))
    assert (code, out) == (1, "one\n1\n")
    assert err.startswith(message)


def test_errors_behind_commands_name_the_line_of_the_script(
    capsys: pytest.CaptureFixture[str], warehouse: str, tmp_path: Path
) -> None:
    script = tmp_path / "script.sql"
    script.write_text(".mode csv\nSELECT 1;\n.timer off\n\nSELECT\n  kk FROM t;\n")
    code, _, err = run(capsys, "--warehouse", warehouse, "-f", str(script))
    assert code == 1
    assert "\n6:   kk FROM t" in err


def test_of_a_long_line_the_part_around_the_error_is_shown() -> None:
    statement = f"SELECT {'1 + ' * 10_000}kk + {'2 + ' * 10_000}3"
    error = ParseError("no column", line=1, column=statement.index("kk") + 1)
    _, text, mark = error_text(error, statement).splitlines()
    assert len(text) < 250
    assert text[mark.index("^") :].startswith("kk + 2")
    _, text, mark = error_text(ParseError("x", line=1, column=3), statement).splitlines()
    assert (text[:8], mark) == ("  SELECT", "    ^")
    _, text, mark = error_text(ParseError("x", line=1, column=10**6), statement).splitlines()
    assert len(mark) == len(text) + 1


def test_completion_of_paths_and_types(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "flights.csv").write_text("a\n1\n")
    for before in ("SELECT * FROM '", "LOAD DATA LOCAL INPATH '", "SELECT * FROM csv.`", "SELECT * FROM read_csv('"):
        assert completions(context, f"{before}{tmp_path}/fli") == ["ghts.csv"]
    assert completions(context, "CREATE TABLE x (a str") == ["string", "struct"]
    assert completions(context, "CREATE TABLE x (`a b` INT, b DEC") == ["DECIMAL"]
    assert completions(context, "CREATE TABLE x (a array<st") == ["string", "struct"]
    assert completions(context, "SELECT cast(a AS tim") == ["timestamp"]


def test_words_without_a_semicolon(context: sharkpy.SharkContext, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(context, LocalNames(context))
    for word in ("help", "?", "HELP ;"):
        assert is_complete(word)
        shell.handle(word)
        assert ".timer" in capsys.readouterr().out
    shell.handle("clear")
    assert "\x1b[2J" in capsys.readouterr().out
    shell.handle("exit")
    assert shell.is_over


def test_rows_that_are_written(context: sharkpy.SharkContext, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(context, LocalNames(context))
    shell.handle("CREATE TABLE written (a INT); INSERT INTO written VALUES (1), (2); INSERT INTO written SELECT 3;")
    said = capsys.readouterr().out
    assert "2 rows affected in" in said
    assert "1 row affected in" in said


def test_numbers_for_people(context: sharkpy.SharkContext, capsys: pytest.CaptureFixture[str]) -> None:
    text = "SELECT 99999999.99D AS a, 1e7 AS b, 1e20 AS c, 1e-5 AS d, CAST('NaN' AS DOUBLE) AS e"
    assert run_script(context, LocalNames(context), text, "vertical") == 0
    shown = [line.partition("| ")[2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert shown == ["99999999.99", "10000000.0", "1.0E20", "1.0E-5", "NaN"]
    assert run_script(context, LocalNames(context), text, "csv") == 0
    assert "9.999999999E7" in capsys.readouterr().out


def test_place_of_an_error_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    statement = "SELECT '" + "x" * 100 + "', '語語', nowhere FROM t"
    error = ParseError("syntax error", line=1, column=statement.index("nowhere") + 1)
    _, text, mark = error_text(error, statement).splitlines()
    assert len(text) <= 60
    assert mark.index("^") == text.index("nowhere") + 2


def test_variables_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--hivevar", "n=41", "--hiveconf", "shark.block.rows=7", "-e", "SELECT ${n} + ${hivevar:n} AS a")
    assert main(["--warehouse", str(tmp_path), "--format", "csv", *options]) == 0
    assert capsys.readouterr().out == "a\n82\n"
