"""CREATE, DROP and RELOAD of functions and macros.

Local files of a permanent function stay in place, remote ones are copied into the catalog's state folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import did_you_mean
from sharkpy.catalog.function_catalog import CatalogFunction, FunctionEntry, Macro, not_found
from sharkpy.catalog.names import qualified
from sharkpy.execution.commands.command_result import CommandResult, done
from sharkpy.execution.commands.session_commands import check_room, facts_of_file, resource_path
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import (
    CreateFunction,
    CreateMacro,
    CreateSqlFunction,
    DropFunction,
    DropMacro,
    ReloadFunctions,
)
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.open_files import data_file_of
from sharkpy.sources.staged_files import sync_folders
from sharkpy.udf.user.function import UserFunction
from sharkpy.udf.user.python_code import function_to_bytes


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
        create_permanent_function(command.database, command, session)
    return done()


def store_function(name: str, function: UserFunction, session: EngineSession, *, replace: bool) -> None:
    """Store a function of this process as a permanent one, by value.

    `name` may be qualified with a database. Raise BindError 42723 if the function exists, unless `replace` is given.
    """
    session.restrictions.check_code("CREATE FUNCTION")
    database, short = qualified(name, session.current_database)
    database = session.catalog.database(database).name
    entry = FunctionEntry(database, short, "", code=function_to_bytes(function))
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


def create_permanent_function(database: str, command: CreateFunction, session: EngineSession) -> None:
    """Create a permanent function and load its code.

    Remote files are read only now, with the creator's access. Later calls use the copies and need no access to the
    storage.
    """
    functions, unfinished = session.catalog.functions, session.catalog.unfinished
    entry, is_made = FunctionEntry(database, command.name, command.target), False
    folder = functions.copies(entry) if any(uri.is_remote(path) for _, path in command.resources) else ""
    try:
        if folder:
            unfinished.begin(folder)
        entry = replace(entry, resources=_permanent_resources(command.resources, folder, session))
        functions.loader(entry)
        if folder:
            unfinished.keep(folder)
        is_made = functions.create(entry, replace=command.or_replace, if_not_exists=command.if_not_exists)
    finally:
        if folder:
            if not is_made:
                shutil.rmtree(folder, ignore_errors=True)
            unfinished.end(folder)
    session.catalog.collect_garbage()


def _permanent_resources(
    given: Sequence[tuple[str, str]], folder: str, session: EngineSession
) -> tuple[tuple[str, str], ...]:
    """Return the resources with lasting local paths.

    Each remote file is copied, under its own name, into a subfolder of `folder`.
    """
    found, copied, taken = list[tuple[str, str]](), list[str](), 0
    for number, (kind, path) in enumerate(given):
        if not uri.is_remote(path):
            found.append((kind, resource_path(path, session)))
            continue
        access_id = session.catalog.named_access_id(path)
        facts = facts_of_file(path, access_id)
        check_room(facts, taken, "the files of a function have {} MB in all")
        target = Path(folder, str(number), uri.name_of(path))
        try:
            target.parent.mkdir(parents=True)
        except OSError as error:
            raise io_error(error, folder) from None
        copy_files([(data_file_of(facts, access_id), str(target))])
        taken += facts.size_bytes
        copied += [str(target), str(target.parent)]
        found.append((kind, str(target)))
    if copied:
        sync_folders([*copied, folder, str(Path(folder).parent)])
    return tuple(found)
