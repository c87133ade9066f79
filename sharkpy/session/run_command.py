"""Dispatch of commands to the functions that carry them out, including those of rooms above execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sharkpy.execution.commands.run import run_command as run_execution_command
from sharkpy.plan.commands import Command, Explain, GenerateTable

if TYPE_CHECKING:
    from sharkpy.execution.commands.command_result import CommandResult
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot


def _explain(command: Explain, session: EngineSession) -> CommandResult:
    from sharkpy.explain.explain_plan import explain

    return explain(command, session)


def _generate(command: GenerateTable, session: EngineSession) -> CommandResult:
    from sharkpy.ml.generate.generate_table import generate

    return generate(command, session)


_RUNNERS: dict[type[Command], Callable[[Any, EngineSession], CommandResult]] = {
    Explain: _explain,
    GenerateTable: _generate,
}
"""Functions that are imported when first used: most sessions neither explain nor learn."""


def run_command(command: Command, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Carry out `command`, whose statement has `snapshot`; UnsupportedError for a command without a function."""
    if (runner := _RUNNERS.get(type(command))) is not None:
        return runner(command, session)
    return run_execution_command(command, session, snapshot)
