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
    kept = binder.context.kept
    start, end = node_offset(node), node_end(node)
    if kept is None or not binder.context.is_kept_text or start is None or end is None or _is_in_exists(node):
        return
    prefix = name_parts(node)[:-1] if isinstance(node, exp.Column) else []
    named = _NamedColumns(binder.scope.columns)
    kept.texts[start, end] = ", ".join(_written(named, name, expr, prefix) for name, expr in columns)


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


def _written(named: _NamedColumns, name: str, expr: Expr, prefix: Sequence[str]) -> str:
    qualifier = named.qualifier(name, expr)
    # Fields of a struct are no columns of the scope.
    parts = [*(prefix if qualifier is None else qualifier), name]
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


class _NamedColumns:
    """Columns of a scope, by name and expression, and the databases of its relations."""

    def __init__(self, columns: Sequence[ScopeColumn]) -> None:
        self._columns: dict[tuple[str, int], ScopeColumn] = {}
        self._databases: dict[str, set[str | None]] = {}
        for column in columns:
            self._columns.setdefault((column.name, id(column.expr)), column)
            if column.relation is not None:
                self._databases.setdefault(column.relation, set()).add(column.database)

    def qualifier(self, name: str, expr: Expr) -> list[str] | None:
        """Relation of a column, with its database where relations of two databases have one name; None if it is not
        in the scope.
        """
        column = self._columns.get((name, id(expr)))
        if column is None or column.relation is None:
            return None if column is None else []
        if len(self._databases[column.relation]) > 1 and column.database is not None:
            return [column.database, column.relation]
        return [column.relation]
