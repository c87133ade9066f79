"""GENERATE: a Python function called with whole tables, whose result becomes a table or rows.

command → arguments → call → its result, as a plan and perhaps a model → table and model table | streamed rows
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Generator
from typing import TYPE_CHECKING

from sharkpy.base.errors import CancelledError, ExecutionError, SharkError, TableExistsError
from sharkpy.catalog.names import TableName, qualified
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.tables import drop_table
from sharkpy.ml.generate.generated import Generated, generated, naming
from sharkpy.ml.generate.model_table import check_free, save_model
from sharkpy.ml.generate.relation_arguments import bound_arguments
from sharkpy.ml.generate.relation_functions import MODEL, built_in, of_rows
from sharkpy.ml.models.convergence import warnings_to
from sharkpy.plan.commands import DropTable, GenerateTable
from sharkpy.udf import registry
from sharkpy.udf.user.function import MARK, find
from sharkpy.udf.user.python_code import RAISED
from sharkpy.udf.user.relation import PythonRelation

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.engine_session import EngineSession


def generate(command: GenerateTable, session: EngineSession) -> CommandResult:
    """Run GENERATE, all or nothing: if the function fails, or its result cannot be stored, no table and no model is
    created.

    Raise TableExistsError before the function is called if a table to be created exists.
    """
    function = function_of(command)
    target = None if command.name is None else qualified(command.name, command.database or session.current_database)
    if target is not None:
        check_free(session, target)
    arguments = bound_arguments(function, command.arguments, session)
    model = _model_name(function, arguments, session)
    if model is not None:
        check_free(session, model)
        if model == target:
            raise TableExistsError(f'the result and the model cannot both be the table "{target[1]}"')
    with warnings_to(session.observers.notify):
        made = generated(function, _called(function, arguments), session)
    if target is None:
        _save_model(made, model, session)
        return CommandResult(made.table.schema, None, _rows(made, function))
    with session.as_statement() as statement:
        with naming(function):
            made.save(target)
        num_rows = statement.rows_written
        try:
            _save_model(made, model, session)
        except BaseException:
            drop_table(DropTable(session.catalog.table(*target)), session)
            raise
        statement.rows_written = num_rows
    return NOTHING


def _rows(made: Generated, function: PythonRelation) -> Generator[pa.RecordBatch]:
    with naming(function):
        yield from made.batches()


def function_of(command: GenerateTable) -> PythonRelation:
    found = find(command.function) if MARK in command.function else None
    if isinstance(found, PythonRelation):
        return found
    name = command.function if found is None else found.name
    return built_in(name) if registry.table_function(command.function) is None else of_rows(name)


def _model_name(
    function: PythonRelation, arguments: inspect.BoundArguments, session: EngineSession
) -> TableName | None:
    """Return the name of the model of a built-in function. Users' functions handle their own models."""
    name = arguments.arguments.get(MODEL) if function.is_built_in else None
    return qualified(name, session.current_database) if isinstance(name, str) else None


def _save_model(made: Generated, name: TableName | None, session: EngineSession) -> None:
    if name is not None and made.model is not None:
        save_model(session, made.model, ".".join(name))


def _called(function: PythonRelation, arguments: inspect.BoundArguments) -> object:
    """Call the function. Errors of a user's function name it; exceptions also name their place in its code."""
    try:
        result = function.target(*arguments.args, **arguments.kwargs)
        return list(result) if inspect.isgenerator(result) else result
    except SharkError as error:
        if not function.is_built_in and not isinstance(error, CancelledError):
            error.message = f'in the function "{function.name}": {error.message}'
            error.line = error.column = None
        raise
    except Exception as error:
        raise _failure(function, error) from error


def _failure(function: PythonRelation, error: Exception) -> ExecutionError:
    frames = traceback.extract_tb(error.__traceback__)[1:]
    said = f": {str(error).splitlines()[0]}" if str(error) else ""
    place = f" ({frames[0].filename}, line {frames[0].lineno})" if frames else ""
    message = f'function "{function.name}" raised {type(error).__name__}{said}{place}'
    trace = "; ".join(f"{frame.filename}, line {frame.lineno}, in {frame.name}: {frame.line}" for frame in frames)
    return ExecutionError(message, hint=f"traceback: {trace}", sqlstate=RAISED)
