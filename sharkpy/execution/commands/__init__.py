"""Statements that are not queries, carried out: one file per group of commands."""

from sharkpy.execution.commands.result import CommandResult
from sharkpy.execution.commands.run import run_command
from sharkpy.execution.commands.session import CommandSession

__all__ = ["CommandResult", "CommandSession", "run_command"]
