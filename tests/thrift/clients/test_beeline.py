"""beeline from pyspark's jars: statements and scripts by its options, and at a terminal."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.thrift.clients.java import java_command
from tests.thrift.clients.served import LONG_QUERY, NAMES, Served
from tests.waiting import allowed

pytestmark = pytest.mark.spark

Beeline = Callable[..., subprocess.CompletedProcess[str]]
TRANSPORTS = {
    "sasl": "",
    "nosasl": ";auth=noSasl",
    "http": ";transportMode=http;httpPath=cliservice",
}


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    return java_command(tmp_path, "org.apache.hive.beeline.BeeLine")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    kept = {key: os.environ[key] for key in ("PATH", "JAVA_HOME") if key in os.environ}
    return {**kept, "HOME": str(tmp_path), "LANG": "C.UTF-8", "TERM": "xterm", "COLUMNS": "160", "LINES": "50"}


@pytest.fixture
def beeline(command: list[str], environ: dict[str, str], port: int, tmp_path: Path) -> Beeline:
    def run(*options: str, tail: str = "", at: int = port, password: str = "any") -> subprocess.CompletedProcess[str]:
        url = f"jdbc:hive2://127.0.0.1:{at}/default{tail}"
        return subprocess.run(
            [*command, "-u", url, "-n", "ada", "-p", password, *options],
            cwd=tmp_path,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


_PROMPT = re.compile(r"(?:0: jdbc:hive2://[^>]*> |(?:\. )+\.?> )+")


def rows(answer: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """Rows that were printed as CSV, with a quote that no text has, without the prompts of statements."""
    lines = (_PROMPT.sub("", line) for line in answer.stdout.splitlines())
    return list(csv.reader((line for line in lines if line), quotechar="\0"))


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_type_over_every_transport(beeline: Beeline, transport: str) -> None:
    answer = beeline(
        "--outputformat=csv2", "-e", "SELECT * FROM every ORDER BY b NULLS LAST", tail=TRANSPORTS[transport]
    )
    assert answer.returncode == 0
    full = "true,127,-32767,2147483647,-9223372036854775807,1.5,0.1,grün 🦈,varchar,ch,bytes,2024-02-29"
    header, first, second = rows(answer)
    assert header == NAMES
    assert first == [
        *full.split(","),
        *("2024-02-29 12:34:56.789012", "123456789.125", "[1,2,null]", '{"k":1}', '{"x":1,"y":"z"}'),
    ]
    assert second == ["NULL"] * len(NAMES)
    assert "INFO  : Compiling command(queryId=" in answer.stderr
    assert "2 rows selected" in answer.stderr
    assert "Exception" not in answer.stderr


def test_a_script_with_commands(beeline: Beeline, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE TABLE told (k INT, v STRING);\n"
        "INSERT INTO told VALUES (1, 'one; two'), (2, NULL);\n"
        "-- a comment\nSELECT *\nFROM told\nORDER BY k;\n"
        "!tables\n!columns parts\n!describe parts\n"
        "DROP TABLE told;\n"
    )
    answer = beeline("--outputformat=csv2", "-f", str(script))
    assert answer.returncode == 0, answer.stderr
    found = rows(answer)
    place = found.index(["k", "v"])
    assert found[place + 1 : place + 3] == [["1", "one; two"], ["2", "NULL"]]
    assert ["", "default", "numbers", "TABLE", ""] in [row[:5] for row in found]
    assert ["", "default", "seen", "VIEW", ""] in [row[:5] for row in found]
    described = [row for row in found if row[1:4] == ["default", "parts", "k"]]
    assert len(described) == 2
    assert described[0][5] == "INT"
    assert answer.stderr.count("No rows affected") == 2
    assert "2 rows affected" in answer.stderr


def test_several_statements_and_their_end(beeline: Beeline) -> None:
    options = ("--silent=true", "--outputformat=csv2", "--showHeader=false")
    answer = beeline(*options, "-e", "SELECT 1; SELECT 'a;b'", "-e", "SELECT 3")
    assert (answer.returncode, rows(answer)) == (0, [["1"], ["a;b"], ["3"]])
    answer = beeline(*options, "-e", "SELECT 1; SELECT * FROM nope; SELECT 3")
    assert answer.returncode != 0
    assert rows(answer) == [["1"]]
    assert (
        "Error: Error while compiling statement: FAILED: SemanticException [Error 10001]: Table not found nope"
        in answer.stderr
    )
    assert "(state=42S02,code=10001)" in answer.stderr
    assert "IndexOutOfBounds" not in answer.stderr


@pytest.mark.slow
def test_settings_and_variables(beeline: Beeline) -> None:
    query = "SET shark.pool; SELECT '${day}', ${hiveconf:my.key} + ${n}"
    options = ("--silent=true", "--outputformat=csv2", "--showHeader=false")
    answer = beeline(*options, "--hivevar", "n=1", "-e", query, tail="?shark.pool=of_the_url;my.key=41#day=2024-01-01")
    assert rows(answer) == [["shark.pool=of_the_url"], ["2024-01-01", "42"]], answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("tsv2", "x\ty\n1\ta"),
        ("dsv", "x|y\n1|a"),
        ("vertical", "x  1\ny  a"),
        ("xmlelements", "<resultset>\n  <result>\n    <x>1</x>\n    <y>a</y>"),
        ("table", "| 1  | a  |"),
    ],
)
def test_formats(beeline: Beeline, form: str, expected: str) -> None:
    answer = beeline("--silent=true", f"--outputformat={form}", "-e", "SELECT 1 AS x, 'a' AS y")
    assert answer.returncode == 0
    assert expected in answer.stdout


@pytest.mark.variants(3)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_wrong_password(beeline: Beeline, locked: Served, transport: str) -> None:
    answer = beeline("-e", "SELECT 1", tail=TRANSPORTS[transport], at=locked.port, password="wrong")
    assert answer.returncode != 0
    said = {"sasl": "wrong user name or password", "http": "401", "nosasl": "password"}[transport]
    assert said in answer.stderr


@pytest.mark.slow
def test_the_right_password(beeline: Beeline, locked: Served) -> None:
    answer = beeline("-e", "SELECT 1", at=locked.port, password="analytical")
    assert answer.returncode == 0


class Terminal:
    """beeline at a terminal, connected."""

    def __init__(self, command: list[str], environ: dict[str, str], port: int, folder: Path) -> None:
        url = f"jdbc:hive2://127.0.0.1:{port}/default"
        self.child = pexpect.spawn(
            command[0],
            [*command[1:], "-u", url, "-n", "ada", "-p", "any", "--incremental=true"],
            cwd=str(folder),
            env=environ,
            encoding="utf-8",
            dimensions=(50, 160),
            timeout=30,
        )
        self.wait_for_prompt()

    def wait_for_prompt(self) -> str:
        self.child.expect(r"0: jdbc:hive2://[^>]*> (?!.*\n)")
        return str(self.child.before)

    def ask(self, line: str) -> str:
        self.child.sendline(line)
        self.wait_for_prompt()
        return self.wait_for_prompt()


@pytest.fixture
def terminal(command: list[str], environ: dict[str, str], port: int, tmp_path: Path) -> Iterator[Terminal]:
    one = Terminal(command, environ, port, tmp_path)
    yield one
    one.child.close(force=True)


def test_progress_bar_and_ctrl_c(terminal: Terminal, served: Served) -> None:
    child: Any = terminal.child
    child.sendline(f"{LONG_QUERY};")
    child.expect("STAGES +ATTEMPT +STATUS +TOTAL +COMPLETED +RUNNING +PENDING +FAILED +KILLED")
    child.expect("Stage-1 .*RUNNING")
    child.expect(r"STAGES: \d+/\d+|ROWS READ")
    start = time.monotonic()
    child.sendintr()
    child.expect("Query was cancelled")
    assert time.monotonic() - start < allowed(2)
    served.wait_until_idle()
    child.sendline("SELECT 41 + 1 AS answer;")
    child.expect(r"\| 42 ")
    child.expect("1 row selected")
    child.sendline("!quit")
    child.expect(pexpect.EOF)
    assert not re.search("Exception", str(child.before))
