"""Commands of the shell itself, each on a session without a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

import sharkpy
from sharkpy.base.errors import ConfigurationError
from sharkpy.cli.commands import COMMANDS, find_command
from sharkpy.cli.completer import SharkCompleter
from sharkpy.cli.interactive import Shell
from sharkpy.cli.shell_session import LocalNames
from sharkpy.cli.statement_shell import script_pieces

Say = Callable[..., str]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path_factory.mktemp("warehouse")) as opened:
        opened.sql("CREATE TABLE t (k INT, s STRING); INSERT INTO t VALUES (1, 'a'), (2, NULL)")
        opened.sql("CREATE VIEW seen AS SELECT k FROM t; CREATE DATABASE other")
        yield opened


@pytest.fixture
def say(context: sharkpy.SharkContext, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run lines in the shell; returns its output for each."""
    shell = Shell(context, LocalNames(context), "csv")

    def answer(*lines: str) -> str:
        for line in lines:
            shell.handle(line)
        return capsys.readouterr().out

    return answer


def test_names_are_unique_and_the_help_has_them_all(say: Say) -> None:
    names = [name for command in COMMANDS for name in command.names]
    assert len(names) == len(set(names))
    said = say(".help")
    for name in names:
        assert name in said


def test_help_of_statements(say: Say) -> None:
    """Of a statement, of all that begin with some words, and of a command with the same name."""
    forms = say(".help clear cache", "HELP show create;")
    assert forms.startswith("CLEAR CACHE: Remove all tables from the memory store.\n  CLEAR CACHE\n  for example:\n")
    assert forms.count("  SHOW CREATE ") == 4
    both = say("\\h use")
    assert both.index("change the database") < both.index("USE [DATABASE] name")
    assert "JOIN" not in say(".help .use")
    assert 'no command and no statement "slect"' in (said := say(".help slect"))
    assert 'did you mean "SELECT"?' in said


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        (".mode csv", ".mode", "csv"),
        ("!tables;", ".tables", ""),
        ("  \\d  t ;", "\\d", "t"),
        ("\\!echo hello", "\\!", "echo hello"),
        ("\\! echo hello", "\\!", "echo hello"),
        ("!quit", ".exit", ""),
        ("\\?", ".help", ""),
    ],
)
def test_finding_a_command(text: str, name: str, argument: str) -> None:
    command, rest = find_command(text)
    assert (name in command.names, rest) == (True, argument)


def test_an_unknown_command_names_the_closest() -> None:
    with pytest.raises(ConfigurationError) as raised:
        find_command(".tabels")
    assert raised.value.hint == 'did you mean ".tables"?'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (".tables", "t\n"),
        ("\\dt t*", "t\n"),
        ("\\dv", "seen\n"),
        ("\\l oth*", "other\n"),
        ("\\d t", "k,int,"),
        ("\\d+ t", "Database:"),
        ("\\df substr", "substr\n"),
        (".schema t", "CREATE TABLE `default`.`t`("),
        (".settings block.rows", "shark.block.rows="),
        (".settings nothing-like-it", 'no setting with "nothing-like-it"'),
        (".mode nonsense", 'no output format "nonsense"'),
        (".mode jsnl", 'did you mean "jsonl"?'),
        (".maxrows many", '"many" is not a number of rows'),
        (".timer maybe", 'no switch "maybe"'),
        (".read /nowhere/x.sql", 'cannot read "/nowhere/x.sql"'),
        ("\\watch", "there is no statement yet"),
        (".logs on", "there is no server"),
        (".once", "a file is needed"),
    ],
)
def test_what_a_command_says(say: Say, line: str, expected: str) -> None:
    assert expected in say(line)


def test_local_programs(say: Say, tmp_path: Path) -> None:
    assert say(f"\\!echo from-$((1 + 1)) > {tmp_path}/said") == ""
    assert (tmp_path / "said").read_text() == "from-2\n"
    assert "exit code 3" in say("\\! exit 3")


def test_modes(say: Say) -> None:
    assert say(".timer off", ".mode jsonl", "SELECT * FROM t ORDER BY k").splitlines()[1:] == [
        '{"k":1,"s":"a"}',
        '{"k":2,"s":null}',
    ]
    html = say(".mode html", "SELECT '<b>' AS x")
    assert "<td>&lt;b&gt;</td>" in html
    assert say(".nullvalue -", ".mode csv", "SELECT NULL AS x") == "x\n-\n"
    assert say(".nullvalue", "SELECT NULL AS x, '' AS y") == 'x,y\n,""\n'


def test_output_to_files(say: Say, tmp_path: Path) -> None:
    text, columns, arrow = tmp_path / "o.jsonl", tmp_path / "o.parquet", tmp_path / "o.arrow"
    said = say(f".output {text}", "SELECT 1 AS x", "SELECT 2 AS x", ".output", "SELECT 3 AS x")
    assert [json.loads(line) for line in text.read_text().splitlines()] == [{"x": 1}, {"x": 2}]
    assert "x\n3\n" in said
    said = say(
        f".once {columns}", "SELECT k, s FROM t ORDER BY k", f".once '{arrow}'", "SELECT k FROM t", "SELECT 4 AS x"
    )
    assert pq.read_table(columns).to_pydict() == {"k": [1, 2], "s": ["a", None]}
    with pa.ipc.open_file(arrow) as reader:
        assert reader.read_all().num_rows == 2
    assert "x\n4\n" in said
    assert "cannot write" in say(f".output {tmp_path}/missing/x.csv")


def test_explain(say: Say) -> None:
    assert "== Physical plan" in say(".explain on", "SELECT k FROM t")
    assert "== Run: " in say(".explain analyze", "SELECT k FROM t")
    lines = say("SELECT kk FROM t").splitlines()
    assert lines[0].startswith("error [42703]")
    place = next(index for index, line in enumerate(lines) if "SELECT kk" in line)
    assert lines[place].index("kk") == lines[place + 1].index("^")
    assert say(".timer off", ".explain off", "SELECT k FROM t WHERE k = 1").endswith("k\n1\n")


def test_a_file_with_statements_and_commands(say: Say, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "-- first\n.timer off\nSELECT 1\n  AS x;\n\\x on\nSELECT '\n.help' AS y;\nSELECT kk FROM t;\nSELECT 2;\n"
    )
    said = say(f".read {script}")
    assert said.startswith("timer off\nx\n1\nmode vertical\n-- row 1\ny | \n.help\nerror [42703]")
    assert "8: SELECT kk FROM t" in said
    assert "row 2" not in said


def test_pieces_of_a_script() -> None:
    assert script_pieces(".a\nSELECT\n.5\n;\n.b") == [(1, ".a"), (2, "SELECT\n.5\n;"), (5, ".b")]


def test_the_editor(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/1/5/' \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert "\nx\n5\n" in say("SELECT 1 AS x", "\\e")
    monkeypatch.setenv("VISUAL", "/nowhere/editor")
    assert "cannot start /nowhere/editor" in say("\\e")


def test_the_last_error_with_its_stack(say: Say) -> None:
    assert "there was no error" in say("\\errverbose")
    assert "Traceback" in say("SELECT kk FROM t", "\\errverbose")


def test_use(say: Say, context: sharkpy.SharkContext) -> None:
    say("\\c other")
    assert context.current_database == "other"
    assert "database other" in say("\\c")
    say("\\c default")


def completions(context: sharkpy.SharkContext, text: str) -> list[str]:
    return [one.text for one in SharkCompleter(LocalNames(context)).get_completions(Document(text), CompleteEvent())]


def test_completion(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "data.csv").touch()
    assert completions(context, ".tab") == [".tables"]
    assert completions(context, "!tab") == ["!tables"]
    assert completions(context, ".mode json") == ["jsonl"]
    assert completions(context, "\\d ") == ["seen", "t"]
    assert completions(context, "\\c o") == ["other"]
    assert completions(context, "USE o") == ["other"]
    assert completions(context, "SET shark.block.r") == ["shark.block.rows"]
    assert completions(context, f".read {tmp_path}/da") == ["ta.csv"]
    assert completions(context, f"LOAD DATA LOCAL INPATH '{tmp_path}/da") == ["ta.csv"]
    assert completions(context, "SELECT * FROM default.se") == ["seen"]
