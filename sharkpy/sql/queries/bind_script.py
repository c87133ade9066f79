"""SELECT TRANSFORM (…) USING 'script', MAP and REDUCE: a script over the rows of its SELECT."""

from __future__ import annotations

import re

from sqlglot import exp

from sharkpy.base import settings
from sharkpy.base.errors import BindError, ParseError, SharkError, UnsupportedError
from sharkpy.catalog.model import StorageFormat
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan, Step
from sharkpy.plan.row_steps import DELIMITED_JSON, Script
from sharkpy.sql.context import Context
from sharkpy.sql.grammar import script_parser
from sharkpy.sql.grammar.script_parser import ScriptClause
from sharkpy.sql.grammar.syntax_errors import place
from sharkpy.sql.scope import Scope
from sharkpy.values.types import STRING

ORDERING = ("order", "sort", "distribute", "cluster", "limit", "offset")
"""Clauses of a SELECT that apply to the script's output."""
_TAB = StorageFormat("text", (("field.delim", "\t"),))
_ESCAPING = StorageFormat("text", (("field.delim", "\x01"),))
_TEXT_RECORDS = "org.apache.hadoop.hive.ql.exec.TextRecord"
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9]")


def find_script(select: exp.Expr) -> exp.Expr | None:
    """Find the script of a SELECT, if its select list is one."""
    items = select.expressions
    return items[0] if len(items) == 1 and isinstance(items[0], script_parser.Script) else None


def bind_script(select: exp.Expr, script: exp.Expr, context: Context, parent: Scope | None) -> LogicalPlan:
    """Bind a script over the rows of its SELECT. The caller orders and limits the script's output."""
    if select.args.get("distinct"):
        raise context.error("DISTINCT cannot precede TRANSFORM", select, ParseError)
    clause: ScriptClause = script.args["clause"]
    kept = {key: value for key, value in select.args.items() if key not in (*ORDERING, "expressions", "with_")}
    rows = context.bind_query(exp.Select(**{**kept, "expressions": script.expressions}), context, parent)
    columns = _columns(clause, context)
    step = _script(clause, rows.output, columns, context)
    return Step(rows, step, rows.output, columns)


def _columns(clause: ScriptClause, context: Context) -> tuple[ColumnRef, ...]:
    named = clause.columns or (("key", None), ("value", None))
    seen: set[str] = set()
    for name, _ in named:
        if name in seen:
            raise _error(f'the script gives two columns "{name}"', clause, context)
        seen.add(name)
    return tuple(context.column(name, STRING if dtype is None else dtype) for name, dtype in named)


def _script(
    clause: ScriptClause, values: tuple[ColumnRef, ...], columns: tuple[ColumnRef, ...], context: Context
) -> Script:
    conf = context.conf
    escapes = conf.value(settings.SCRIPT_ESCAPES)
    default = _ESCAPING if escapes else _TAB
    written = clause.written or StorageFormat(DELIMITED_JSON, default.properties)
    read = clause.read or default
    if clause.columns is None and clause.read is None:
        # The value is the rest of the line after the key.
        read = StorageFormat(read.name, (*read.properties, ("serialization.last.column.takes.rest", "true")))
    for records in (clause.writer, clause.reader):
        if records is not None and not records.startswith(_TEXT_RECORDS):
            raise _error(f"the record reader or writer {records} is not supported", clause, context, UnsupportedError)
    if not clause.command.strip():
        raise _error("the script is empty", clause, context)
    return Script(
        f"{conf.value(settings.SCRIPT_WRAPPER)} {clause.command}".strip(),
        written,
        read,
        tuple(value.name for value in values),
        tuple(column.name for column in columns),
        context.catalog.resource_paths("FILE"),
        context.catalog.resource_paths("ARCHIVE"),
        (*_settings(context), (conf.value(settings.SCRIPT_ID_VARIABLE), f"SCR_{columns[0].column_id}")),
        escapes,
        conf.value(settings.SCRIPT_MAY_LEAVE_ROWS),
        conf.value(settings.SCRIPT_ERROR_BYTES),
    )


def _settings(context: Context) -> tuple[tuple[str, str], ...]:
    """Settings that the session has changed, under valid names of environment variables: `my.key` is `my_key`."""
    return tuple(
        (_NOT_A_NAME.sub("_", key), value) for key, value in context.conf.changes() if not settings.is_guarded(key)
    )


def _error(message: str, clause: ScriptClause, context: Context, kind: type[SharkError] = BindError) -> SharkError:
    line, column = place(context.text, clause.command_token.start)
    return kind(message, line=line, column=column)
