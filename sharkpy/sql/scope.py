"""Columns that are visible at a place in a query, and the lookup of dotted names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.values.types import is_nested


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """Column that can be named. With `qualified_only`, a merged column (USING) hides its unqualified name."""

    relation: str | None
    database: str | None
    name: str
    expr: Expr
    qualified_only: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """Result of the lookup of a dotted name: the columns found, and the remaining field names.

    Several columns mean that the name is ambiguous.
    """

    columns: tuple[ScopeColumn, ...]
    fields: tuple[str, ...]


class Scope:
    """Visible columns in the order of `*`, and hidden columns that `*` leaves out.

    Names that are not found are looked up in `parent`, the scope of the outer query.
    """

    __slots__ = ("_by_name", "_relations", "columns", "depth", "hidden", "parent", "takes_aggregates")

    def __init__(
        self, columns: Sequence[ScopeColumn], parent: Scope | None = None, hidden: Sequence[ScopeColumn] = ()
    ) -> None:
        self.columns = tuple(columns)
        self.hidden = tuple(hidden)
        self.parent = parent
        self.takes_aggregates = False
        """True if subqueries of the expression may contain aggregates of these columns, as in HAVING."""
        self.depth: int = 1 if parent is None else parent.depth + 1
        self._by_name: dict[str, list[ScopeColumn]] = {}
        self._relations: set[str | None] = {column.relation for column in columns}
        for column in (*self.columns, *self.hidden):
            self._by_name.setdefault(column.name, []).append(column)

    def __add__(self, other: Scope) -> Scope:
        return Scope(self.columns + other.columns, self.parent, self.hidden + other.hidden)

    def taking_aggregates(self) -> Scope:
        taking = Scope(self.columns, self.parent, self.hidden)
        taking.takes_aggregates = True
        return taking

    @property
    def relations(self) -> set[str]:
        return {name for name in self._relations if name}

    def relation_columns(self, relation: str, database: str | None = None) -> list[ScopeColumn]:
        return [
            column for column in self.columns if column.relation == relation and database in (None, column.database)
        ]

    def find(self, parts: Sequence[str]) -> Resolved | None:
        """Look up [database.]table.column.field… or column.field… in this scope, not in outer queries."""
        if len(parts) > 2 and (found := self._qualified(parts[2], parts[1], parts[0])):
            return Resolved(found, tuple(parts[3:]))
        if len(parts) > 1 and (found := self._qualified(parts[1], parts[0], None)):
            return Resolved(found, tuple(parts[2:]))
        found = tuple(column for column in self._by_name.get(parts[0], ()) if not column.qualified_only)
        if len(parts) > 1 and parts[0] in self._relations:
            # The name is a relation and a column. It is the column only if that can have fields.
            found = tuple(column for column in found if is_nested(column.expr.dtype))
        return Resolved(found, tuple(parts[1:])) if found else None

    def _qualified(self, name: str, relation: str, database: str | None) -> tuple[ScopeColumn, ...]:
        if relation not in self._relations:
            return ()
        return tuple(
            column
            for column in self._by_name.get(name, ())
            if column.relation == relation and database in (None, column.database)
        )

    def chain(self) -> Iterable[Scope]:
        """Yield this scope and the scopes of the outer queries, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


def relation_scope(
    relation: str | None,
    database: str | None,
    columns: Sequence[ColumnRef],
    parent: Scope | None,
    hidden: Sequence[ColumnRef] = (),
) -> Scope:
    def named(those: Sequence[ColumnRef]) -> list[ScopeColumn]:
        return [ScopeColumn(relation, database, column.name, column) for column in those]

    return Scope(named(columns), parent, named(hidden))
