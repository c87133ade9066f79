"""Commands: statements that are not queries, carried out; one file per group of commands."""

from sharkpy.execution.commands.command_result import CommandResult
from sharkpy.execution.commands.run import run_command

__all__ = ["CommandResult", "run_command"]
