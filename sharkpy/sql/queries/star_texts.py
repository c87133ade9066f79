"""Texts of select items that expand to several columns. A view stores the columns they had when it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sharkpy.plan.expr import Expr
from sharkpy.sql.context import node_end, node_offset
from sharkpy.sql.expressions.bind_name import name_parts
from sharkpy.sql.expressions.expr_binder import ExprBinder
from sharkpy.sql.scope import ScopeColumn


def note_columns(binder: ExprBinder, node: exp.Expr, columns: Sequence[tuple[str, Expr]]) -> None:
    """Note the columns of the item `node` as text, by its place, if the query is stored.

    The columns of EXISTS (SELECT * …) are irrelevant and not noted.
    """
    kept = binder.context.kept
    start, end = node_offset(node), node_end(node)
    if kept is None or not binder.context.is_kept_text or start is None or end is None or _is_in_exists(node):
        return
    prefix = name_parts(node)[:-1] if isinstance(node, exp.Column) else []
    named = _NamedColumns(binder.scope.columns)
    kept.texts[start, end] = ", ".join(_written(named, name, expr, prefix) for name, expr in columns)


def with_columns(text: str, first: int, texts: Mapping[tuple[int, int], str]) -> str:
    """Return `text` from the offset `first` on, with the items at noted places replaced by their texts."""
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
    # Fields of a struct are not columns of the scope.
    parts = [*(prefix if qualifier is None else qualifier), name]
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


class _NamedColumns:
    """Columns of a scope by name and expression, and the databases of its relations."""

    def __init__(self, columns: Sequence[ScopeColumn]) -> None:
        self._columns: dict[tuple[str, int], ScopeColumn] = {}
        self._databases: dict[str, set[str | None]] = {}
        for column in columns:
            self._columns.setdefault((column.name, id(column.expr)), column)
            if column.relation is not None:
                self._databases.setdefault(column.relation, set()).add(column.database)

    def qualifier(self, name: str, expr: Expr) -> list[str] | None:
        """Return the relation of a column; None if the column is not in the scope.

        The database is included if relations of two databases have the same name.
        """
        column = self._columns.get((name, id(expr)))
        if column is None or column.relation is None:
            return None if column is None else []
        if len(self._databases[column.relation]) > 1 and column.database is not None:
            return [column.database, column.relation]
        return [column.relation]
