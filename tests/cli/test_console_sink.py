"""Continuous sinks TO CONSOLE: an interactive shell shows epochs as they come, other programs refuse."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.model import Table, TableKind
from sharkpy.cli.interactive import Shell, epoch_text
from sharkpy.cli.shell_session import LocalNames
from sharkpy.values.types import BIGINT, STRING, Field, Schema
from tests.cli.terminal import CTRL_D, ENTER, TerminalShell
from tests.rows import rows
from tests.streaming.folder_input import make_stream, put_numbers, state_of
from tests.waiting import until

SINK = Table("1", "default", "s", TableKind.CONTINUOUS_SINK, Schema((Field("n", BIGINT), Field("s", STRING))))


def test_the_first_rows_are_shown() -> None:
    batches = [pa.record_batch({"n": list(range(first, first + 15)), "s": ["x"] * 15}) for first in (0, 15, 30)]
    lines = epoch_text(SINK, 7, batches).split("\n")
    assert lines[0] == "default.s, epoch 7: 45 rows, of which 20 are shown"
    assert [line for line in lines if line.startswith("│ ")][-1].split()[1:4] == ["19", "│", "x"]
    assert epoch_text(SINK, 8, batches[:1]).split("\n")[0] == "default.s, epoch 8: 15 rows"
    assert epoch_text(SINK, 9, [batches[0].slice(0, 0)]) == ""


def test_others_refuse(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in")
        with pytest.raises(UnsupportedError, match="TO CONSOLE outside of an interactive shell"):
            context.sql("CREATE CONTINUOUS SINK s TO CONSOLE AS SELECT n FROM numbers")
        assert rows(context, "SHOW CONTINUOUS TABLES") == []


def test_it_waits_for_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in")
        context.take_console(Shell(context, LocalNames(context), "csv").show_epoch)
        context.sql("CREATE CONTINUOUS SINK s TO CONSOLE AS SELECT n FROM numbers")
        assert state_of(context, "s") == ("RUNNING", None)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        put_numbers(tmp_path / "in", "a", [42])
        context.streams.start()
        assert state_of(context, "s") == ("WAITING FOR A SHELL", None)
        context.take_console(Shell(context, LocalNames(context), "csv").show_epoch)
        until(lambda: rows(context, "SHOW CONTINUOUS TABLES")[0][4] == 1)
    assert "default.s, epoch 1: 1 row\n" in capsys.readouterr().err


def test_epochs_come_between_statements(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in")
    with TerminalShell(["--warehouse", str(tmp_path / "w")], {"XDG_STATE_HOME": str(tmp_path)}) as shell:
        shell.until("default>")
        shell.type("CREATE CONTINUOUS SINK s TO CONSOLE AS SELECT n, s FROM numbers;" + ENTER)
        shell.until("default>")
        put_numbers(tmp_path / "in", "a", [41])
        shell.until("default.s, epoch 1: 1 row")
        assert "│     41 │ s41" in shell.until("└")
        shell.type("SELECT 40 + 3 AS answer;" + ENTER)
        assert "│     43 │" in shell.until("1 row in")
        put_numbers(tmp_path / "in", "b", [44])
        shell.until("default.s, epoch 2: 1 row")
        shell.type("DROP CONTINUOUS SINK s;" + ENTER)
        shell.until("default>")
        shell.type(CTRL_D)
