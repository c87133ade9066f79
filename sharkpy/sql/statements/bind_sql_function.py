"""CREATE FUNCTION … RETURN: functions in SQL, stored as text."""

from __future__ import annotations

import dataclasses

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import BindError, SharkError, TypeMismatchError
from sharkpy.catalog.function_catalog import Macro
from sharkpy.sql.context import KeptTexts
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.bind_macro import check_calls, macro_expression, macro_query
from sharkpy.sql.expressions.expr_binder import Clause, ExprBinder
from sharkpy.sql.grammar.parser import parse_expression
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.queries.star_texts import with_columns
from sharkpy.sql.scope import relation_scope
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import DataType


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
    kept = KeptTexts(reader.text, database or context.database, permanent)
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
    text = with_columns(reader.text, tokens[0].start, kept.texts)
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
