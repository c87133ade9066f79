"""Select items that expand to several columns: `*`, `t.*`, `* EXCEPT (…)`, regular expressions.

A stored query, such as a view, stores the columns that these items had when it was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sharkpy.base import settings
from sharkpy.base.errors import ColumnNotFoundError, did_you_mean
from sharkpy.plan.expr import Expr
from sharkpy.sql.context import Context, node_end, node_offset
from sharkpy.sql.expressions.bind_name import name_parts, resolve
from sharkpy.sql.expressions.expr_binder import SELECT, ExprBinder
from sharkpy.sql.scope import Scope, ScopeColumn
from sharkpy.udf.java_regex.python_engine import matcher
from sharkpy.values.types import StructType

Named = list[tuple[str, Expr]]


def expand_columns(binder: ExprBinder, node: exp.Expr) -> Named | None:
    """Expand a select item to its columns, by name; None for an ordinary expression."""
    columns = _expanded(binder, node)
    if columns is not None:
        note_star(binder, node, columns)
    return columns


def expand_star(context: Context, scope: Scope, node: exp.Expr) -> list[Expr] | None:
    """Expand an argument `*` or `t.*` to its columns; None for another argument."""
    is_star = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
    if not is_star:
        return None
    columns = expand_columns(ExprBinder(context, scope, SELECT), node) or []
    if not context.budget.take(len(columns)):
        raise context.too_large(node)
    return [expr for _, expr in columns]


def _expanded(binder: ExprBinder, node: exp.Expr) -> Named | None:
    if isinstance(node, exp.Star):
        return _without_excepted(binder, node, _all_columns(binder, node))
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return _without_excepted(binder, node.this, _relation_columns(binder, node))
    if isinstance(node, exp.Column) and _is_pattern(binder, node):
        return _matching_columns(binder, node)
    return None


def _all_columns(binder: ExprBinder, node: exp.Expr) -> Named:
    columns = [column for column in binder.scope.columns if not column.qualified_only]
    if not columns:
        raise binder.context.error("* needs FROM", node)
    return _named(columns)


def _relation_columns(binder: ExprBinder, node: exp.Expr) -> Named:
    *database, relation = name_parts(node)[:-1]
    columns = binder.scope.relation_columns(relation, database[-1] if database else None)
    if not columns and (fields := _struct_fields(binder, [*database, relation], node)):
        return fields
    if not columns:
        raise _no_relation(binder, relation, node)
    return _named(columns)


def _no_relation(binder: ExprBinder, relation: str, node: exp.Expr) -> Exception:
    hint = did_you_mean(relation, binder.scope.relations)
    return binder.context.error(f'no table or alias "{relation}" here', node, ColumnNotFoundError, hint)


def _named(columns: Sequence[ScopeColumn]) -> Named:
    return [(column.name, column.expr) for column in columns]


def _struct_fields(binder: ExprBinder, parts: Sequence[str], node: exp.Expr) -> Named:
    """Fields of a struct column written as `column.*`; empty if the name is not a struct."""
    found = binder.scope.find(parts)
    if found is None or not isinstance(found.columns[0].expr.dtype, StructType):
        return []
    names = found.columns[0].expr.dtype.names if not found.fields else ()
    return [(name, resolve(binder, [*parts, name], node)) for name in names]


def _without_excepted(binder: ExprBinder, star: exp.Expr, columns: Named) -> Named:
    """Columns without the columns in EXCEPT (a, b)."""
    binder.context.only(star, "except_")
    left_out: set[str] = set()
    for item in star.args.get("except_") or ():
        name = item.name.lower()
        if not isinstance(item, (exp.Column, exp.Identifier)) or name not in {known for known, _ in columns}:
            hint = did_you_mean(name, [known for known, _ in columns])
            raise binder.context.error(f'no column "{name}" to leave out', item, ColumnNotFoundError, hint)
        left_out.add(name)
    kept = [(name, expr) for name, expr in columns if name not in left_out]
    if not kept:
        raise binder.context.error("EXCEPT leaves no column", star)
    return kept


def _is_pattern(binder: ExprBinder, node: exp.Column) -> bool:
    """Return whether a name in backquotes is a regular expression: hive.support.quoted.identifiers=none."""
    name = node.this
    if not isinstance(name, exp.Identifier) or not name.args.get("quoted") or name.this.isidentifier():
        return False
    return binder.context.conf.value(settings.QUOTED_IDENTIFIERS).lower() == "none"


def _matching_columns(binder: ExprBinder, node: exp.Column) -> Named:
    """Columns whose names match completely, regardless of case."""
    relation = node.text("table").lower()
    if relation and relation not in binder.scope.relations:
        raise _no_relation(binder, relation, node)
    pattern = matcher(node.this.this, ignore_case=True)
    candidates = binder.scope.relation_columns(relation) if relation else binder.scope.columns
    columns = [
        column
        for column in candidates
        if (relation or not column.qualified_only) and pattern.fullmatch(column.name) is not None
    ]
    if not columns:
        raise binder.context.error(f"no column matches `{node.this.this}`", node, ColumnNotFoundError)
    return _named(columns)


def note_star(binder: ExprBinder, node: exp.Expr, columns: Sequence[tuple[str, Expr]]) -> None:
    """Note the columns of the item `node` as text, by its place, if the query is stored.

    The columns of EXISTS (SELECT * …) are irrelevant and not noted.
    """
    kept = binder.context.kept
    start, end = node_offset(node), node_end(node)
    if kept is None or not binder.context.is_stored_text or start is None or end is None or _is_in_exists(node):
        return
    prefix = name_parts(node)[:-1] if isinstance(node, exp.Column) else []
    named = _NamedColumns(binder.scope.columns)
    kept.texts[start, end] = ", ".join(_written(named, name, expr, prefix) for name, expr in columns)


def with_star_columns(text: str, first: int, texts: Mapping[tuple[int, int], str]) -> str:
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
