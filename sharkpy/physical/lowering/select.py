"""SELECT under construction, and the chain of common table expressions below it.

Rows whose values are large together are checked before their first value is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType

from sharkpy.base.records import dataclass
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.kernel_code import Code
from sharkpy.physical.lowering.value import Scope, Value
from sharkpy.physical.plan import PhysicalPlan, column_name
from sharkpy.physical.stage_program import BlockColumns, Lookup, StageInput
from sharkpy.plan.expr import ColumnRef
from sharkpy.udf.checked_call import with_size_check
from sharkpy.udf.value_size import Extent, total

_FLAT_UNION = 64
_NO_SHAPES: Mapping[int, Hashable] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class KernelRows:
    """Rows of one scan with their matches in `lookups`. Those count for which all `conditions` are true.

    `distinct` estimates the different values of columns, by alias. A kernel may make up to `most_partial` partial
    groups, so that merging them costs little; None: any number. There are at most `most_rows`, and without `are_many`
    too few for a kernel to save time.
    """

    blocks: BlockColumns
    conditions: tuple[Code, ...] = ()
    distinct: Mapping[str, int] = field(default_factory=dict, hash=False)
    most_partial: int | None = None
    most_rows: int | None = None
    are_many: bool = True
    lookups: tuple[Lookup, ...] = ()

    @property
    def aliases(self) -> frozenset[str]:
        """Names of the columns that codes may read."""
        return frozenset(self.blocks.aliases).union(*(lookup.blocks.aliases for lookup in self.lookups))

    def filtered(self, condition: Code) -> KernelRows:
        return replace(self, conditions=(*self.conditions, condition))


@dataclass(frozen=True, slots=True)
class Select:
    """Clauses so far; `scope` has the values that a select list may use.

    If `is_join`, `source` needs parentheses as the right side of a join. `rows` are the rows of the FROM and WHERE
    clauses for a kernel; None if a kernel cannot read them.
    """

    source: str
    scope: Scope = field(hash=False)
    where: tuple[str, ...] = ()
    group_by: tuple[str, ...] | None = None
    order_by: str = ""
    limit: str = ""
    is_windowed: bool = False
    is_join: bool = False
    rows: KernelRows | None = None

    @property
    def is_open(self) -> bool:
        """True if it is only `source` with `where`, so that any clause may still be added."""
        return self.group_by is None and not (self.order_by or self.limit or self.is_windowed)

    @property
    def is_bare(self) -> bool:
        """True if it is only `source`."""
        return self.is_open and not self.where and self.is_simple

    @property
    def is_simple(self) -> bool:
        return all(value.sql == f'"{column_name(column_id)}"' for column_id, value in self.scope.items())

    def filtered(self, predicate: str, code: Code | None = None) -> Select:
        rows = None if self.rows is None or code is None else self.rows.filtered(code)
        return replace(self, where=(*self.where, predicate), rows=rows)

    def restricted(self, predicate: Value) -> Select:
        return self.filtered(predicate.logical(), predicate.code)

    def with_scope(self, scope: Scope) -> Select:
        return replace(self, scope=scope)

    def text(self, items: Iterable[str]) -> str:
        parts = ["SELECT " + (", ".join(items) or '1 AS "_"'), f"FROM {self.source}"]
        if self.where:
            parts.append("WHERE " + " AND ".join(self.where))
        if self.group_by:
            parts.append("GROUP BY " + ", ".join(self.group_by))
        if self.order_by:
            parts.append(f"ORDER BY {self.order_by}")
        if self.limit:
            parts.append(self.limit)
        return "\n".join(parts)


class Builder:
    """Collector of the inputs and inner queries of a fragment. Names are given on demand.

    `coded` are the scanned columns to read as indexes into their distinct values. `shapes` are, by id(), the shapes of
    operators that are computed once for all their places. With `looks_up`, kernels may look up rows of joins.
    """

    def __init__(
        self,
        coded: frozenset[int] = frozenset(),
        shapes: Mapping[int, Hashable] = _NO_SHAPES,
        relations: Iterator[int] | None = None,
        *,
        looks_up: bool = False,
    ) -> None:
        self.coded = coded
        self.shapes = shapes
        self.looks_up = looks_up
        self.relations = itertools.count() if relations is None else relations
        """Numbers of relations, distinct across nested queries."""
        self.inputs: list[StageInput] = []
        self.leaves: list[tuple[str, PhysicalPlan]] = []
        self.queries: list[tuple[str, str]] = []
        self.shared: dict[Hashable, tuple[Select, tuple[ColumnRef, ...]]] = {}
        """Queries that are read more than once, by shape."""
        self._kept: set[str] = set()
        """Names of queries whose rows are materialized."""
        self.kernels: list[Decision] = []
        """Decisions between kernels and DuckDB."""
        self._names = self._columns = 0

    def relation(self) -> str:
        return f"in{next(self.relations)}"

    def add_input(self, stage_input: StageInput, leaf: PhysicalPlan) -> None:
        self.inputs.append(stage_input)
        self.leaves.append((stage_input.relation, leaf))

    def place(self, relation: str) -> int:
        """Return the place of the input of that name."""
        return next(place for place, one in enumerate(self.inputs) if one.relation == relation)

    def name(self, prefix: str) -> str:
        """Return a name for a column or query that no plan column has."""
        self._names += 1
        return f"{prefix}{self._names}"

    def column_id(self) -> int:
        """Return an id that no plan column has."""
        self._columns -= 1
        return self._columns

    def query(self, text: str) -> str:
        """Add an inner query and return its name."""
        name = self.name("s")
        self.queries.append((name, text))
        return name

    def wrapped(self, select: Select, extra: Iterable[str] = ()) -> Select:
        """Make `select` an inner query, whose values are then columns. `extra` select items are added."""
        items = [select_item(column_id, value) for column_id, value in select.scope.items()]
        scope = {column_id: value.renamed(column_name(column_id)) for column_id, value in select.scope.items()}
        rows = select.rows if select.is_open else None
        return Select(self.query(select.text([*items, *extra])), scope, rows=rows)

    def kept(self, select: Select) -> Select:
        """Make `select` an inner query that is computed once for several readers."""
        inner = self.wrapped(select)
        self._kept.add(inner.source)
        return inner

    def opened(self, select: Select) -> Select:
        return select if select.is_open else self.wrapped(select)

    def bare(self, select: Select) -> Select:
        return select if select.is_bare else self.wrapped(select)

    def single_use(self, select: Select, uses: Iterable[int]) -> Select:
        """Return `select`, wrapped if a costly value would be written out more than once."""
        seen: set[int] = set()
        for column_id in uses:
            if column_id in seen and column_id in select.scope and not select.scope[column_id].is_simple:
                return self.wrapped(select)
            seen.add(column_id)
        return select

    def finished(self, select: Select, output: tuple[ColumnRef, ...]) -> str:
        """Return the whole query; columns have their logical types."""
        values = {column.column_id: select.scope[column.column_id] for column in output}
        logical = {column_id: value.logical() for column_id, value in values.items()}
        if select.is_open and (checked := checked_row(values)) is not None:
            logical[checked[0]] = checked[1]
        text = select.text(
            select_item(column_id, Value(sql, values[column_id].dtype)) for column_id, sql in logical.items()
        )
        if not self.queries:
            return text
        # Do not indent the body: its literals may have line breaks.
        inner = ",\n".join(
            f"{name} AS {'MATERIALIZED' if name in self._kept else 'NOT MATERIALIZED'} (\n{body}\n)"
            for name, body in self.queries
        )
        return f"WITH {inner}\n{text}"


def united(parts: Sequence[str]) -> str:
    """Return the queries as one; many form a balanced tree, which DuckDB binds faster."""
    if len(parts) <= _FLAT_UNION:
        return "\nUNION ALL\n".join(parts)
    middle = len(parts) // 2
    return f"({united(parts[:middle])})\nUNION ALL\n({united(parts[middle:])})"


def select_item(column_id: int, value: Value) -> str:
    name = f'"{column_name(column_id)}"'
    return name if value.sql == name else f"{value.sql} AS {name}"


def checked_row(values: Scope) -> tuple[int, str] | None:
    """Return the first of several size-checked columns, with SQL that checks all of them; None for fewer than two."""
    large = {
        column_id: value.extent.checked(value.dtype).content.over_null()
        for column_id, value in values.items()
        if value.unchecked and value.extent is not None
    }
    if len(large) < 2:
        return None
    first = next(iter(large))
    return first, with_size_check("the row", Extent(total(large.values())), values[first].sql)
