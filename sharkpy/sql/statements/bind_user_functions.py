"""CREATE, DROP and RELOAD of functions and macros. Functions in SQL are stored as text."""

from __future__ import annotations

import dataclasses

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import BindError, SharkError, TypeMismatchError
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
from sharkpy.sql.context import TextReplacements
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.bind_macro import check_calls, macro_expression, macro_query
from sharkpy.sql.expressions.expr_binder import Clause, ExprBinder
from sharkpy.sql.grammar.parser import parse_expression
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.queries.bind_star import with_star_columns
from sharkpy.sql.scope import relation_scope
from sharkpy.sql.statements.bind_partition import ignores_missing
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.udf import registry
from sharkpy.values.types import DataType

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


def sql_function(binder: CommandBinder, database: str | None, name: str) -> Macro:
    """Read the rest of CREATE FUNCTION, after the name.

    (parameter type, …) [RETURNS type | TABLE (column type, …)] [LANGUAGE SQL] [[NOT] DETERMINISTIC] [COMMENT 'text']
    [CONTAINS SQL | READS SQL DATA] RETURN expression | query
    """
    reader = binder.reader
    parameters = typed_names(reader, "parameter")
    result, columns = _returns(reader)
    _skip_characteristics(reader)
    reader.expect("RETURN")
    token = reader.current
    if token is None:
        raise reader.error("an expression expected")
    place = "" if database is None else f"{database}.{name}"
    text, dtype = _body(binder, Macro(name, parameters, "", result, "", columns, place), database)
    function = Macro(name, parameters, text, result or dtype, database or binder.context.database, columns, place)
    _check(binder, function, token)
    reader.position = len(reader.tokens)
    return function


def typed_names(reader: TokenReader, what: str) -> tuple[tuple[str, DataType], ...]:
    """Read (name type [COMMENT 'text'], …)."""
    found: dict[str, DataType] = {}
    reader.expect("(")
    while not reader.match(")"):
        if found:
            reader.expect(",")
        name = reader.name(f"a {what}")
        if name in found:
            raise reader.error(f'two {what}s "{name}"')
        found[name] = reader.data_type()
        if reader.peek("DEFAULT"):
            raise reader.unsupported(f"DEFAULT of a {what}")
        reader.optional_string("COMMENT")
    return tuple(found.items())


def _returns(reader: TokenReader) -> tuple[DataType | None, tuple[tuple[str, DataType], ...]]:
    if not reader.match("RETURNS"):
        return None, ()
    if not reader.match("TABLE"):
        return reader.data_type(), ()
    columns = typed_names(reader, "column")
    if not columns:
        raise reader.error("columns of the table expected")
    return None, columns


def _skip_characteristics(reader: TokenReader) -> None:
    """Read characteristics that Spark stores and does not use."""
    while True:
        if reader.match("LANGUAGE"):
            reader.expect("SQL")
        elif reader.match("COMMENT"):
            reader.string("a comment")
        elif not (
            reader.match("DETERMINISTIC")
            or reader.match("NOT", "DETERMINISTIC")
            or reader.match("CONTAINS", "SQL")
            or reader.match("READS", "SQL", "DATA")
        ):
            return


def _body(binder: CommandBinder, function: Macro, database: str | None) -> tuple[str, DataType | None]:
    """Text of the body as it is stored, and the type of an expression."""
    reader, context = binder.reader, binder.context
    tokens, is_query = reader.rest, reader.word() in ("SELECT", "WITH", "VALUES", "TABLE", "FROM")
    permanent = f"the function {function.key}" if database is not None else ""
    kept = TextReplacements(reader.text, database or context.database, permanent)
    inner = dataclasses.replace(context, kept=kept)
    columns = tuple(context.column(name, dtype) for name, dtype in function.parameters)
    scope = relation_scope(function.name, None, columns, None)
    dtype = None
    if function.columns:
        inner.bind_query(binder.query_tree(tokens), inner, scope)
    else:
        tree = exp.Subquery(this=binder.query_tree(tokens)) if is_query else parse_expression(reader.text, tokens)
        dtype = ExprBinder(inner, scope, Clause("a function")).bind(tree).dtype
    last = tokens[-1].end + 1
    text = with_star_columns(reader.text, tokens[0].start, kept.texts)
    text = text[: len(text) - (len(reader.text) - last)]
    return f"({text})" if is_query and not function.columns else text, dtype


def _check(binder: CommandBinder, function: Macro, token: Token) -> None:
    """Check that the function does not call itself, and that its text binds.

    Later changes of the objects it uses are detected when it is called.
    """
    try:
        check_calls(function, binder.context)
        if function.columns:
            macro_query(function, binder.context)
        else:
            expr, _ = macro_expression(function, binder.context)
            if function.result is not None and not castable(expr.dtype, function.result):
                message = f"{function.name} returns {function.result}, and its expression is {expr.dtype}"
                raise TypeMismatchError(message)
    except SharkError as error:
        kind = type(error) if isinstance(error, BindError) else BindError
        raise binder.error(error.message, token, kind, error.hint, error.sqlstate) from None
