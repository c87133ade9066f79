"""GENERATE: a Python function called with whole tables, whose result becomes a table or rows.

Its arguments are converted for the function: tables are TableRDDs, constants are Python values.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Generator, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import (
    BindError,
    CancelledError,
    ExecutionError,
    SharkError,
    TableExistsError,
    TypeMismatchError,
    did_you_mean,
)
from sharkpy.catalog.names import TableName, qualified
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.tables import drop_table
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.ml.generate.model_table import check_free, save_model
from sharkpy.ml.generate.relation_functions import (
    MODEL,
    FunctionResult,
    built_in,
    function_result,
    of_rows,
    wrapping_result_errors,
)
from sharkpy.ml.models.estimator import warnings_to
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.plan.commands import DropTable, GenerateTable
from sharkpy.plan.expr import Alias, Expr, Literal
from sharkpy.plan.logical import LogicalPlan, Project, Values
from sharkpy.udf import registry
from sharkpy.udf.user.function import MARK, find
from sharkpy.udf.user.python_code import RAISED
from sharkpy.udf.user.relation import TABLE, Kind, PythonRelation
from sharkpy.values.python_values import typed_values, with_intervals
from sharkpy.values.types import (
    BOOLEAN,
    INTEGER_TYPES,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    is_numeric,
    is_string,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.plan.commands import GenerateArgument


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
        made = function_result(function, _called(function, arguments), session)
    if target is None:
        _save_model(made, model, session)
        return CommandResult(made.table.schema, None, _rows(made, function))
    with session.as_statement() as statement:
        with wrapping_result_errors(function):
            made.save(target)
        num_rows = statement.rows_written
        try:
            _save_model(made, model, session)
        except BaseException:
            drop_table(DropTable(session.catalog.table(*target)), session)
            raise
        statement.rows_written = num_rows
    return NOTHING


def _rows(made: FunctionResult, function: PythonRelation) -> Generator[pa.RecordBatch]:
    with wrapping_result_errors(function):
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


def _save_model(made: FunctionResult, name: TableName | None, session: EngineSession) -> None:
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


def bound_arguments(
    function: PythonRelation, arguments: Sequence[GenerateArgument], session: EngineSession
) -> inspect.BoundArguments:
    """Return the arguments of the call by its parameters: a TableRDD for a query, a Python value for a constant.

    Raise BindError that shows the signature if they are too many, too few or unknown, TypeMismatchError for a wrong
    type.
    """
    by_position: list[object] = []
    by_name: dict[str, object] = {}
    for one, value in zip(arguments, _values(arguments, session), strict=True):
        if one.name is None:
            by_position.append(value)
        else:
            by_name[_parameter(function, one.name)] = value
    try:
        bound = function.signature.bind(*by_position, **by_name)
    except TypeError as error:
        message = f"the function {function.name} is called with wrong arguments: {error}"
        raise BindError(message, hint=f"call {function.usage}", sqlstate="42883") from None
    for name, value in bound.arguments.items():
        bound.arguments[name] = _of_parameter(function, name, value)
    return bound


def _values(arguments: Sequence[GenerateArgument], session: EngineSession) -> Iterator[TableRDD | object]:
    constants = iter(constant_values([one.value for one in arguments if isinstance(one.value, Expr)], session))
    for one in arguments:
        yield TableRDD(session, one.value) if isinstance(one.value, LogicalPlan) else next(constants)


def constant_values(exprs: Sequence[Expr], session: EngineSession) -> list[object]:
    """Return the values of expressions without columns. A query of one row computes expressions other than literals."""
    if all(isinstance(expr, Literal) for expr in exprs):
        return [with_intervals(expr.value, expr.dtype) for expr in exprs if isinstance(expr, Literal)]
    items = tuple(Alias(expr, index, f"c{index}") for index, expr in enumerate(exprs, start=1))
    (batch,) = (batch for batch in query_rows(session, Project(Values((), ((),)), items)) if batch.num_rows)
    return [typed_values(column, expr.dtype)[0] for column, expr in zip(batch.columns, exprs, strict=True)]


def _parameter(function: PythonRelation, name: str) -> str:
    """Return the parameter of that name; names in SQL ignore case."""
    parameters = function.signature.parameters
    if name in parameters:
        return name
    if same := [one for one in parameters if one.lower() == name.lower()]:
        return same[0]
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return name
    hint = did_you_mean(name, parameters) or f"call {function.usage}"
    raise BindError(f'the function {function.name} has no parameter "{name}"', hint=hint, sqlstate="42883")


def _of_parameter(function: PythonRelation, name: str, value: Any) -> object:
    """Return the value of a parameter, converted; for `*others` and `**others` each value is converted by itself."""
    kind = function.kinds.get(name)
    match function.signature.parameters[name].kind:
        case inspect.Parameter.VAR_POSITIONAL:
            return tuple(_converted(function, name, one, kind) for one in value)
        case inspect.Parameter.VAR_KEYWORD:
            return {key: _converted(function, key, one, kind) for key, one in value.items()}
    return _converted(function, name, value, kind)


def _converted(function: PythonRelation, name: str, value: object, kind: Kind) -> object:
    """Return `value` as the Python type of the parameter. Numbers with a fraction become floats unless a decimal is
    required.
    """
    is_table = isinstance(value, TableRDD)
    if is_table != (kind == TABLE) and kind is not None and not (value is None and _takes_none(function, name)):
        raise _mismatch(function, name, value, kind)
    if is_table or value is None:
        return value
    if isinstance(kind, DataType):
        if not _fits(value, kind):
            raise _mismatch(function, name, value, kind)
        if isinstance(kind, DecimalType):
            return value if isinstance(value, Decimal) else Decimal(str(value))
        if is_numeric(kind) and kind not in INTEGER_TYPES:
            return float(value)  # type: ignore[arg-type]
    return _plain(value)


def _takes_none(function: PythonRelation, name: str) -> bool:
    parameter = function.signature.parameters.get(name)
    return parameter is not None and parameter.default is None


def _fits(value: object, kind: DataType) -> bool:
    if isinstance(value, bool):
        return kind == BOOLEAN
    if kind in INTEGER_TYPES:
        return isinstance(value, int)
    if is_numeric(kind):
        return isinstance(value, (int, float, Decimal))
    if is_string(kind):
        return isinstance(value, str)
    if isinstance(kind, ArrayType):
        return isinstance(value, list) and all(one is None or _fits(one, kind.element) for one in value)
    if isinstance(kind, (MapType, StructType)):
        return isinstance(value, dict)
    return kind != BOOLEAN and not isinstance(value, (int, float, Decimal, list, dict))


def _plain(value: object) -> object:
    """Return decimals as floats, also in arrays and maps."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {key: _plain(one) for key, one in value.items()}
    return value


def _mismatch(function: PythonRelation, name: str, value: object, kind: Kind) -> TypeMismatchError:
    wanted = "a table" if kind == TABLE else f"of type {kind}"
    given = "a table" if isinstance(value, TableRDD) else "NULL" if value is None else repr(_plain(value))
    message = f'the argument "{name}" of the function {function.name} is {wanted}, and {given} is given'
    return TypeMismatchError(message, hint=f"call {function.usage}")
