"""CREATE, DROP and RELOAD of functions and macros."""

from __future__ import annotations

from sharkpy.base.errors import did_you_mean
from sharkpy.catalog.function_catalog import CatalogFunction, FunctionEntry, Macro, not_found
from sharkpy.catalog.names import qualified
from sharkpy.execution.commands.command_result import CommandResult, done
from sharkpy.execution.commands.kept_resources import create_kept
from sharkpy.execution.commands.resources import resource_path
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import (
    CreateFunction,
    CreateMacro,
    CreateSqlFunction,
    DropFunction,
    DropMacro,
    ReloadFunctions,
)
from sharkpy.udf.user.function import UserFunction
from sharkpy.udf.user.kept_code import kept_code


def create_function(command: CreateFunction, session: EngineSession) -> CommandResult:
    """Create a function. Its code is loaded now, so that errors come here and not from a query."""
    session.restrictions.check_code("CREATE FUNCTION")
    functions = session.catalog.functions
    if command.database is None:
        if command.if_not_exists and functions.find_temporary(command.name) is not None:
            return done()
        resources = tuple((kind, resource_path(path, session)) for kind, path in command.resources)
        jars = tuple(("JAR", path) for path in session.catalog.resources.paths("JAR"))
        files = tuple(("FILE", path) for path in session.catalog.resources.paths("FILE"))
        entry = FunctionEntry("", command.name, command.target, (*resources, *jars, *files))
        functions.add_temporary(command.name, functions.loader(entry))
        return done()
    if not command.if_not_exists or functions.entry(command.database, command.name) is None:
        create_kept(command.database, command, session)
    return done()


def keep_function(name: str, function: UserFunction, session: EngineSession, *, replace: bool) -> None:
    """Store a function of this process as a permanent one, by value.

    `name` may be qualified with a database. Raise BindError 42723 if the function exists, unless `replace` is given.
    """
    session.restrictions.check_code("CREATE FUNCTION")
    database, short = qualified(name, session.current_database)
    database = session.catalog.database(database).name
    entry = FunctionEntry(database, short, "", code=kept_code(function))
    session.catalog.functions.create(entry, replace=replace)


def create_sql_function(command: CreateSqlFunction, session: EngineSession) -> CommandResult:
    """Create a function in SQL, which runs no code."""
    functions, function = session.catalog.functions, command.function
    if command.database is None:
        functions.add_temporary(function.name, function, if_not_exists=command.if_not_exists)
        return done()
    entry = FunctionEntry(command.database, function.name, "", macro=function)
    functions.create(entry, replace=command.or_replace, if_not_exists=command.if_not_exists)
    session.catalog.collect_garbage()
    return done()


def drop_function(command: DropFunction, session: EngineSession) -> CommandResult:
    functions = session.catalog.functions
    if command.database is None:
        known = functions.find_temporary(command.name)
        is_macro = isinstance(known, Macro) and not known.is_function
        is_dropped = not is_macro and functions.drop_temporary(command.name)
        names = list(functions.temporary())
    else:
        known_entry = functions.entry(command.database, command.name)
        if known_entry is None or known_entry.macro is None:
            session.restrictions.check_code("DROP FUNCTION")
        is_dropped = functions.drop(command.database, command.name)
        session.catalog.collect_garbage()
        names = [entry.name for entry in functions.entries(command.database)]
    if not is_dropped and not command.if_exists:
        raise not_found(command.name, did_you_mean(command.name, names))
    return done()


def described_users_function(name: str, function: CatalogFunction, extended: bool) -> list[tuple[str]]:
    """Lines of DESCRIBE FUNCTION for a user's function."""
    if isinstance(function, Macro):
        kind = "function in SQL" if function.is_function else "macro"
        return [(f"{name} - {kind}",), *([(f"{function.signature} {function.text}",)] if extended else [])]
    doc = function.row.doc
    first = f"{name} - {doc}" if doc else f"There is no documentation for function '{name}'"
    return [(first,), *((fact,) for fact in function.facts() if extended)]


def reload_functions(_: ReloadFunctions, session: EngineSession) -> CommandResult:
    session.catalog.functions.reload()
    return done()


def create_macro(command: CreateMacro, session: EngineSession) -> CommandResult:
    session.catalog.functions.add_temporary(command.macro.name, command.macro)
    return done()


def drop_macro(command: DropMacro, session: EngineSession) -> CommandResult:
    functions = session.catalog.functions
    known = functions.find_temporary(command.name)
    is_macro = isinstance(known, Macro) and not known.is_function
    if is_macro:
        functions.drop_temporary(command.name)
    elif not command.if_exists:
        raise not_found(command.name)
    return done()
