"""CREATE, DROP and RELOAD of functions and macros."""

from __future__ import annotations

from sharkpy.base.errors import BindError, SharkError
from sharkpy.catalog.function_catalog import Macro
from sharkpy.catalog.names import check_name
from sharkpy.plan.commands import (
    Command,
    CreateFunction,
    CreateMacro,
    CreateSqlFunction,
    DropFunction,
    DropMacro,
    ReloadFunctions,
)
from sharkpy.sql.expressions.bind_macro import check_calls, macro_expression
from sharkpy.sql.statements.bind_alter_partitions import ignores_missing
from sharkpy.sql.statements.bind_sql_function import sql_function, typed_names
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.udf import registry

_RESOURCES = ("JAR", "FILE", "ARCHIVE")


def bind_create_function(binder: CommandBinder, or_replace: bool, temporary: bool) -> Command:
    """Bind FUNCTION, after CREATE, for a class or with a body in SQL.

    FUNCTION [IF NOT EXISTS] [database.]name AS 'class' [USING JAR | FILE | ARCHIVE 'path', …], or FUNCTION … name
    (parameter type, …) … RETURN body.
    """
    reader = binder.reader
    reader.expect("FUNCTION")
    if_not_exists = reader.if_not_exists()
    if or_replace and if_not_exists:
        raise reader.error("either OR REPLACE or IF NOT EXISTS expected")
    database, name = _name(binder, temporary)
    if reader.peek("("):
        return CreateSqlFunction(sql_function(binder, database, name), database, if_not_exists, or_replace)
    reader.expect("AS")
    target = reader.string("module.name or a Java class")
    resources = []
    if reader.match("USING"):
        while True:
            kind = reader.expect_any(*_RESOURCES)
            resources.append((kind, reader.string("a path")))
            if not reader.match(","):
                break
    return CreateFunction(database, name, target, tuple(resources), temporary, if_not_exists, or_replace)


def bind_create_macro(binder: CommandBinder, temporary: bool) -> CreateMacro:
    """Bind TEMPORARY MACRO name(parameter type, …) expression."""
    reader = binder.reader
    token = reader.current
    reader.expect("MACRO")
    if not temporary:
        raise binder.error("a macro is TEMPORARY", token, hint="CREATE TEMPORARY MACRO")
    token = reader.current
    name = reader.name("a name for the macro")
    parameters = typed_names(reader, "parameter")
    if reader.current is None:
        raise reader.error("an expression expected")
    first = reader.current
    text = reader.text[first.start : reader.tokens[-1].end + 1]
    reader.position = len(reader.tokens)
    macro = Macro(name, parameters, text)
    assert token is not None  # name() took it
    with binder.place_of(token):
        check_name(name)
    try:
        check_calls(macro, binder.context)
        macro_expression(macro, binder.context)
    except SharkError as error:
        raise binder.error(error.message, first, type(error), error.hint, error.sqlstate) from None
    return CreateMacro(macro)


def bind_drop_function(binder: CommandBinder, temporary: bool) -> Command:
    """Bind DROP [TEMPORARY] FUNCTION | MACRO [IF EXISTS] name."""
    reader = binder.reader
    is_macro = reader.expect_any("FUNCTION", "MACRO") == "MACRO"
    if_exists = reader.if_exists() or ignores_missing(binder.context.conf)
    token = reader.current
    if is_macro:
        return DropMacro(reader.name("a macro"), if_exists)
    database, name = reader.qualified_name("a function")
    if not temporary and database is None and registry.described(name) is not None:
        raise binder.error(f'"{name}" is a built-in function', token, BindError, "only users' functions are dropped")
    return DropFunction(None if temporary else database or binder.context.database, name, if_exists)


def bind_reload(binder: CommandBinder) -> ReloadFunctions:
    binder.reader.expect("RELOAD")
    binder.reader.expect_any("FUNCTION", "FUNCTIONS")
    return ReloadFunctions()


def _name(binder: CommandBinder, temporary: bool) -> tuple[str | None, str]:
    """Read the database, None for a temporary function, and the name."""
    reader = binder.reader
    token = reader.current
    database, name = reader.qualified_name("a name for the function")
    if temporary and database is not None:
        raise binder.error("a temporary function is in no database", token, hint=f'name it "{name}"')
    assert token is not None  # qualified_name took it
    with binder.place_of(token):
        check_name(name)
        if not temporary:
            return binder.context.catalog.database(database or binder.context.database).name, name
    return None, name
