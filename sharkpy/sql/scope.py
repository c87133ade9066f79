"""Columns that are visible at a place in a query, and the lookup of dotted names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from sharkpy.base.records import dataclass
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


class _Columns:
    """Visible and hidden columns with their relations. They are indexed by name at the first lookup."""

    __slots__ = ("_by_name", "columns", "hidden", "relations")

    def __init__(self, columns: Iterable[ScopeColumn], hidden: Iterable[ScopeColumn]) -> None:
        self.columns = tuple(columns)
        self.hidden = tuple(hidden)
        self.relations: frozenset[str | None] = frozenset(column.relation for column in self.columns)
        self._by_name: dict[str, list[ScopeColumn]] | None = None

    def named(self, name: str) -> Sequence[ScopeColumn]:
        if self._by_name is None:
            self._by_name = _by_name((*self.columns, *self.hidden))
        return self._by_name.get(name, ())


class _RelationColumns:
    """Columns of one relation. A ScopeColumn is made when its name is looked up, since a table may have thousands."""

    __slots__ = ("_by_name", "_columns", "_database", "_hidden", "_relation", "relations")

    def __init__(
        self, relation: str | None, database: str | None, columns: Sequence[ColumnRef], hidden: Sequence[ColumnRef]
    ) -> None:
        self._relation = relation
        self._database = database
        self._columns = columns
        self._hidden = hidden
        self.relations: frozenset[str | None] = frozenset((relation,) if columns else ())
        self._by_name: dict[str, list[ColumnRef]] | None = None

    @property
    def columns(self) -> tuple[ScopeColumn, ...]:
        return tuple(map(self._made, self._columns))

    @property
    def hidden(self) -> tuple[ScopeColumn, ...]:
        return tuple(map(self._made, self._hidden))

    def named(self, name: str) -> Sequence[ScopeColumn]:
        if self._by_name is None:
            self._by_name = _by_name((*self._columns, *self._hidden))
        return [self._made(column) for column in self._by_name.get(name, ())]

    def _made(self, column: ColumnRef) -> ScopeColumn:
        return ScopeColumn(self._relation, self._database, column.name, column)


_C = TypeVar("_C", ScopeColumn, ColumnRef)


def _by_name(columns: Iterable[_C]) -> dict[str, list[_C]]:
    found: dict[str, list[_C]] = {}
    for column in columns:
        if (named := found.get(column.name)) is None:
            found[column.name] = [column]
        else:
            named.append(column)
    return found


class Scope:
    """Visible columns in the order of `*`, and hidden columns that `*` leaves out.

    Names that are not found are looked up in `parent`, the scope of the outer query. The scope of a join has the parts
    of both sides.
    """

    __slots__ = ("_parts", "_relations", "depth", "parent", "takes_aggregates")

    def __init__(
        self, columns: Sequence[ScopeColumn], parent: Scope | None = None, hidden: Sequence[ScopeColumn] = ()
    ) -> None:
        self._set((_Columns(columns, hidden),), parent)

    @classmethod
    def _of(cls, parts: tuple[_Columns | _RelationColumns, ...], parent: Scope | None) -> Scope:
        scope = cls.__new__(cls)
        scope._set(parts, parent)
        return scope

    def _set(self, parts: tuple[_Columns | _RelationColumns, ...], parent: Scope | None) -> None:
        self._parts = parts
        self._relations: frozenset[str | None] = frozenset().union(*(part.relations for part in parts))
        self.parent = parent
        self.takes_aggregates = False
        """True if subqueries of the expression may contain aggregates of these columns, as in HAVING."""
        self.depth: int = 1 if parent is None else parent.depth + 1

    def __add__(self, other: Scope) -> Scope:
        return Scope._of(self._parts + other._parts, self.parent)

    def taking_aggregates(self) -> Scope:
        taking = Scope._of(self._parts, self.parent)
        taking.takes_aggregates = True
        return taking

    @property
    def columns(self) -> tuple[ScopeColumn, ...]:
        return tuple(column for part in self._parts for column in part.columns)

    @property
    def hidden(self) -> tuple[ScopeColumn, ...]:
        return tuple(column for part in self._parts for column in part.hidden)

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
        found = tuple(column for column in self._named(parts[0]) if not column.qualified_only)
        if len(parts) > 1 and parts[0] in self._relations:
            # The name is a relation and a column. It is the column only if that can have fields.
            found = tuple(column for column in found if is_nested(column.expr.dtype))
        return Resolved(found, tuple(parts[1:])) if found else None

    def _qualified(self, name: str, relation: str, database: str | None) -> tuple[ScopeColumn, ...]:
        if relation not in self._relations:
            return ()
        return tuple(
            column
            for column in self._named(name)
            if column.relation == relation and database in (None, column.database)
        )

    def _named(self, name: str) -> Iterator[ScopeColumn]:
        return (column for part in self._parts for column in part.named(name))

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
    return Scope._of((_RelationColumns(relation, database, columns, hidden),), parent)
