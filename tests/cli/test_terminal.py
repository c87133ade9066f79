"""Interactive shell as people use it: on a terminal, with keys."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from tests.cli.terminal import CTRL_C, CTRL_D, ENTER, TAB, TerminalShell
from tests.waiting import allowed

LONG = "SELECT count(*) FROM n a, n b, n c, n d, n e, n f WHERE a.k * b.k + c.k * d.k + e.k * f.k = 7;"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[TerminalShell]:
    warehouse = tmp_path / "warehouse"
    with sharkpy.connect(warehouse=warehouse) as context:
        context.sql("CREATE TABLE t (k INT, sound STRING); INSERT INTO t VALUES (1, 'a'), (2, NULL)")
        context.sql("CREATE TABLE n AS SELECT k FROM (SELECT posexplode(split(space(99), ' ')) AS (k, s)) x")
    environ = {"XDG_STATE_HOME": str(tmp_path), "PAGER": f"tee {tmp_path}/paged", "EDITOR": "true"}
    with TerminalShell(["--warehouse", str(warehouse)], environ) as opened:
        opened.until("default>")
        yield opened


def test_a_statement_and_its_footer(shell: TerminalShell) -> None:
    shell.type("SELECT k,\n sound FROM t\nORDER BY k;" + ENTER)
    answer = shell.until(" s (")
    assert "│   2 │ NULL   │" in answer
    assert "2 rows in " in answer
    shell.until("rows read, ")


def test_ctrl_c_cancels_only_the_query(shell: TerminalShell) -> None:
    shell.type("SELECT count(*) FROM n;" + ENTER)
    shell.until("1 row in")
    shell.type(LONG + ENTER)
    shell.until(" tasks | ", 20)
    started = time.monotonic()
    shell.type(CTRL_C)
    shell.until("error [57014]")
    assert time.monotonic() - started < allowed(2.0)
    shell.until("default>")
    shell.type("SELECT 40 + 2 AS answer;" + ENTER)
    assert "│     42 │" in shell.until("1 row in")


def test_ctrl_c_at_the_prompt_clears_the_line_and_ctrl_d_leaves(shell: TerminalShell) -> None:
    shell.type("SELECT nonsense")
    shell.until("nonsense")
    shell.type(CTRL_C)
    shell.until("default>")
    shell.type("SELECT 'clean' AS word;" + ENTER)
    assert "clean" in shell.until("1 row in")
    shell.until("default>")
    shell.type(CTRL_D)
    assert shell.ended() == 0


@pytest.mark.variants(3)
@pytest.mark.parametrize("mode", ["table", "vertical", "csv", "json"])
def test_data_does_not_steer_the_terminal(shell: TerminalShell, mode: str) -> None:
    """Titles, colours and the direction of text stay the user's, whatever values and names hold."""
    shell.type(f".mode {mode}" + ENTER)
    shell.type("SELECT concat(chr(27), ']0;pwned', chr(7), chr(155)) AS `x\u202ey`;" + ENTER)
    shell.until("1 row in")
    shell.type("SELECT * FROM `no\u202e`;" + ENTER)
    shell.until("error [42S02]")
    shell.until("default>")
    shown = shell.raw
    assert b"\x1b]0;pwned" not in shown
    assert "\x9b".encode() not in shown
    assert (rb"\u001b]0;pwned\u0007\x9b" if mode == "json" else rb"\x1b]0;pwned\x07\x9b") in shown
    behind = shown[shown.rindex(b"error [42S02]") :]
    assert "\u202e".encode() not in behind
    assert rb"\u202e" in behind


@pytest.mark.slow
def test_completion_of_a_column(shell: TerminalShell) -> None:
    shell.type("SELECT max(t.so" + TAB)
    shell.until("und")
    time.sleep(1.0)  # the menu shows it before it is in the line
    shell.type(") AS top FROM t;" + ENTER)
    assert "top" in shell.until("1 row in")


def test_an_error_shows_its_place_and_a_hint(shell: TerminalShell) -> None:
    shell.type("SELECT k, soundd FROM t;" + ENTER)
    shell.until("error [42703]")
    lines = shell.until("hint: did you mean").splitlines()
    assert lines[1].index("soundd") == lines[2].index("^")
    shell.until("default>")


@pytest.mark.slow
def test_commands_change_how_answers_look(shell: TerminalShell) -> None:
    shell.type(".nullvalue nix" + ENTER)
    shell.type("\\x" + ENTER)
    shell.until("mode vertical")
    shell.type("SELECT * FROM t;" + ENTER)
    assert "sound | nix" in shell.until("2 rows in")
    shell.type(".maxrows 1" + ENTER)
    shell.type("SELECT * FROM t;" + ENTER)
    shell.until("only the first 1 rows are shown")


@pytest.mark.slow
def test_watch_ends_with_ctrl_c(shell: TerminalShell) -> None:
    shell.type("SELECT 'seen' AS it;" + ENTER)
    shell.until("1 row in")
    shell.type("\\watch 0.1" + ENTER)
    for _ in range(3):
        shell.until("Ctrl-C ends")
    shell.type(CTRL_C)
    shell.until("default>")
    shell.type("SELECT 7 AS again;" + ENTER)
    shell.until("│     7 │")


def test_a_plan_is_a_tree_in_colours(shell: TerminalShell) -> None:
    shell.type("EXPLAIN ANALYZE SELECT sound, count(*) FROM t GROUP BY sound;" + ENTER)
    shell.until("└ ")
    assert b"\x1b[1;34m" in shell._raw


@pytest.mark.slow
def test_a_long_answer_goes_through_the_pager(shell: TerminalShell, tmp_path: Path) -> None:
    shell.type("SELECT k FROM t;" + ENTER)
    shell.until("2 rows in")
    assert not (tmp_path / "paged").exists()
    shell.type("SELECT k FROM n ORDER BY k;" + ENTER)
    shell.until("100 rows in")
    assert "│  99 │" in (tmp_path / "paged").read_text()
    (tmp_path / "paged").unlink()
    shell.type(".pager off" + ENTER)
    shell.type("SELECT k FROM n ORDER BY k;" + ENTER)
    shell.until("100 rows in")
    assert not (tmp_path / "paged").exists()
