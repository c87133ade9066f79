"""Texts of select items that stand for several columns: a view keeps the columns that these had when it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sharkpy.plan.expr import Expr
from sharkpy.sql.context import node_end, node_offset
from sharkpy.sql.expressions.bind_name import name_parts
from sharkpy.sql.expressions.expr_binder import ExprBinder
from sharkpy.sql.scope import ScopeColumn


def note_columns(binder: ExprBinder, node: exp.Expr, columns: Sequence[tuple[str, Expr]]) -> None:
    """Note the text of the columns that the item `node` stands for, by its place, if the statement wants that.

    The columns of EXISTS (SELECT * …) mean nothing.
    """
    texts = binder.context.star_texts
    start, end = node_offset(node), node_end(node)
    if texts is None or start is None or end is None or _is_in_exists(node):
        return
    prefix = name_parts(node)[:-1] if isinstance(node, exp.Column) else []
    texts[start, end] = ", ".join(_written(binder, name, expr, prefix) for name, expr in columns)


def with_columns(text: str, first: int, texts: Mapping[tuple[int, int], str]) -> str:
    """Rest of `text` from the offset `first` on, the items at the noted places replaced by their columns."""
    pieces: list[str] = []
    for (start, end), columns in sorted(texts.items()):
        pieces += [text[first:start], columns]
        first = end + 1
    return "".join([*pieces, text[first:]])


def _is_in_exists(node: exp.Expr) -> bool:
    select = node.parent
    return select is not None and isinstance(select.parent, exp.Exists)


def _written(binder: ExprBinder, name: str, expr: Expr, prefix: Sequence[str]) -> str:
    columns = binder.scope.columns
    source = next((column for column in columns if column.name == name and column.expr is expr), None)
    # Fields of a struct are no columns of the scope.
    parts = [*prefix, name] if source is None else [*_qualifier(columns, source), name]
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def _qualifier(columns: Sequence[ScopeColumn], source: ScopeColumn) -> list[str]:
    """Relation of a column, with its database where relations of two databases have one name."""
    if source.relation is None:
        return []
    databases = {column.database for column in columns if column.relation == source.relation}
    if len(databases) > 1 and source.database is not None:
        return [source.database, source.relation]
    return [source.relation]
