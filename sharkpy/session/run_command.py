"""Dispatch of commands to their functions, including functions of packages above execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sharkpy.execution.commands.run import run_command as run_execution_command
from sharkpy.plan.commands import (
    AlterContinuous,
    Command,
    ControlContinuous,
    CreateContinuousInsert,
    CreateContinuousSink,
    CreateContinuousTable,
    CreateStream,
    DropStream,
    Explain,
    GenerateTable,
    RollbackContinuous,
    ShowContinuousTables,
    ShowEpochs,
    ShowStreams,
)

if TYPE_CHECKING:
    from sharkpy.execution.commands.command_result import CommandResult
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.streaming.scheduler import StreamSession


def _explain(command: Explain, session: EngineSession) -> CommandResult:
    from sharkpy.explain.explain_plan import explain

    return explain(command, session)


def _generate(command: GenerateTable, session: EngineSession) -> CommandResult:
    from sharkpy.ml.generate.generate_table import generate

    return generate(command, session)


def _create_stream(command: CreateStream, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.commands.create_stream import create_stream

    return create_stream(command, session)


def _drop_stream(command: DropStream, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.commands.create_stream import drop_stream

    return drop_stream(command, session)


def _create_continuous(command: CreateContinuousTable, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.commands.create_continuous import create_continuous

    return create_continuous(command, session)


def _create_continuous_insert(command: CreateContinuousInsert, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.commands.create_continuous import create_continuous_insert

    return create_continuous_insert(command, session)


def _create_continuous_sink(command: CreateContinuousSink, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.commands.create_continuous import create_continuous_sink

    return create_continuous_sink(command, session)


def _control(command: ControlContinuous, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.commands.control_continuous import control_continuous

    return control_continuous(command, session)


def _rollback(command: RollbackContinuous, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.commands.rollback import rollback_continuous

    return rollback_continuous(command, session)


def _alter_continuous(command: AlterContinuous, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.commands.control_continuous import alter_continuous

    return alter_continuous(command, session)


def _show_streams(command: ShowStreams, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.status import show_streams

    return show_streams(command, session)


def _show_continuous(command: ShowContinuousTables, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.status import show_continuous_tables

    return show_continuous_tables(command, session)


def _show_epochs(command: ShowEpochs, session: StreamSession) -> CommandResult:
    from sharkpy.streaming.status import show_epochs

    return show_epochs(command, session)


_RUNNERS: dict[type[Command], Callable[[Any, StreamSession], CommandResult]] = {
    Explain: _explain,
    GenerateTable: _generate,
    CreateStream: _create_stream,
    DropStream: _drop_stream,
    CreateContinuousTable: _create_continuous,
    CreateContinuousInsert: _create_continuous_insert,
    CreateContinuousSink: _create_continuous_sink,
    ControlContinuous: _control,
    RollbackContinuous: _rollback,
    AlterContinuous: _alter_continuous,
    ShowStreams: _show_streams,
    ShowContinuousTables: _show_continuous,
    ShowEpochs: _show_epochs,
}
"""Functions that are imported on first use: most sessions neither explain nor learn, nor have streams."""


def run_command(command: Command, session: StreamSession, snapshot: QuerySnapshot) -> CommandResult:
    """Run `command`, whose statement has `snapshot`. Raise UnsupportedError if no function runs it."""
    if (runner := _RUNNERS.get(type(command))) is not None:
        return runner(command, session)
    return run_execution_command(command, session, snapshot)
