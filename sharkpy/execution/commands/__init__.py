"""Execution of commands, the statements that are not queries; one file per group."""

from sharkpy.execution.commands.command_result import CommandResult
from sharkpy.execution.commands.run import run_command

__all__ = ["CommandResult", "run_command"]
