"""Query that a statement stores: its plan and its text, in which each `*` is replaced by its current columns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from sharkpy.base.errors import SharkError
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import KeptTexts
from sharkpy.sql.queries.star_texts import with_columns
from sharkpy.sql.statements.command_binder import CommandBinder


@dataclass(frozen=True, slots=True)
class KeptQuery:
    """Stored query. `text` keeps its meaning when tables get more columns. `written` is the original text."""

    plan: LogicalPlan
    text: str
    written: str


def kept_query(binder: CommandBinder, database: str, permanent: str = "", views: tuple[str, ...] = ()) -> KeptQuery:
    """Bind the rest of the statement as a query that is stored, and later bound in `database`.

    `permanent` names the permanent view that stores it. The query must not use any of `views`.
    """
    reader = binder.reader
    start = reader.current
    if start is None:
        raise reader.error("a query expected")
    kept = KeptTexts(reader.text, database, permanent)
    context = dataclasses.replace(binder.context, kept=kept, views=views)
    plan = context.bind_query(binder.query_tree(), context, None)
    written = _trimmed(reader.text[start.start :])
    text = _trimmed(with_columns(reader.text, start.start, kept.texts))
    if kept.texts and not _means_same(binder, text, plan, database):
        text = written
    return KeptQuery(plan, text, written)


def _trimmed(text: str) -> str:
    return text.rstrip().rstrip(";").rstrip()


def _means_same(binder: CommandBinder, text: str, query: LogicalPlan, database: str) -> bool:
    """Return whether `text` has the columns of `query`.

    It does not if two columns have the same name, which no text can distinguish.
    """
    try:
        there = dataclasses.replace(binder, context=dataclasses.replace(binder.context, database=database))
        output = there.query_of(text).output
    except SharkError:
        return False
    return [(column.name, column.dtype) for column in output] == [(one.name, one.dtype) for one in query.output]
