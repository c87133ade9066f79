"""Columns of a state with several parts, whose rows are in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sharkpy.catalog.model import CacheMode
from sharkpy.plan.expr import Call, Expr, Literal, disjunction
from sharkpy.plan.logical import Filter, LogicalPlan, Project, Scan, Union
from sharkpy.sql.incremental.idle_streams import ActiveWatermark, StreamArrivals
from sharkpy.sql.incremental.state import Names, NewColumn, StatePart
from sharkpy.sql.incremental.watermarks import StreamWatermark
from sharkpy.values.types import BOOLEAN, INT, Field, Schema

EXTREMES = (StreamWatermark, StreamArrivals, ActiveWatermark)
"""Parts that are read with min and max. Rows of other parts have NULL in their columns, and do not count."""
_PART = "part"
"""Column of a state with several parts: the part of a row."""


@dataclass(frozen=True, slots=True)
class StateColumns:
    """Columns of the parts of a state, each with a unique name, after the column with the part of a row.

    A state with one part has only the columns of that part.
    """

    parts: Sequence[StatePart]
    new_column: NewColumn

    def schema(self, places: Iterable[int]) -> Schema:
        """Columns of the parts at `places`."""
        if len(self.parts) == 1:
            return self.parts[0].schema
        fields = self._fields
        return Schema((Field(_PART, INT), *(field for place in places for field in fields[place])))

    def rows_of(self, place: int, rows: LogicalPlan) -> LogicalPlan:
        """Rows of one part, with only its columns.

        Rows of other parts are included if they change nothing: statistics of blocks can answer only without a filter
        on the part.
        """
        if len(self.parts) == 1:
            return rows
        columns = {column.name: column for column in rows.output}
        if not (isinstance(self.parts[place], EXTREMES) and _is_in_memory(rows)):
            rows = Filter(rows, _is_one_of(columns[_PART], (place,)))
        return Project(rows, tuple(columns[field.name] for field in self._fields[place]))

    def without(self, places: Iterable[int], rows: LogicalPlan) -> LogicalPlan:
        """Rows and columns of all parts except the parts at `places`."""
        others = [place for place in range(len(self.parts)) if place not in places]
        columns = {column.name: column for column in rows.output}
        own = Filter(rows, _is_one_of(columns[_PART], others))
        return Project(own, tuple(columns[name] for name in self.schema(others).names))

    def together(self, plans: Mapping[int, LogicalPlan], places: Sequence[int]) -> LogicalPlan:
        """Combine the rows of parts, by their places. Columns of other parts at `places` are NULL."""
        if len(self.parts) == 1:
            return plans[0]
        fields, schema, inputs = self._fields, self.schema(places), list[LogicalPlan]()
        for place, plan in plans.items():
            own: dict[str, Expr] = {_PART: Literal(place, INT)}
            own |= zip((field.name for field in fields[place]), plan.output, strict=True)
            items = (
                self.new_column(field.name, field.dtype).holding(own.get(field.name, Literal(None, field.dtype)))
                for field in schema
            )
            inputs.append(Project(plan, tuple(items)))
        if len(inputs) == 1:
            return inputs[0]
        return Union(tuple(inputs), tuple(self.new_column(field.name, field.dtype) for field in schema))

    @property
    def _fields(self) -> Sequence[Sequence[Field]]:
        names = Names({_PART})
        return [[Field(names.take(field.name), field.dtype) for field in part.schema] for part in self.parts]


def _is_in_memory(rows: LogicalPlan) -> bool:
    return isinstance(rows, Scan) and rows.table.cache_mode is not CacheMode.NONE


def _is_one_of(part: Expr, places: Sequence[int]) -> Expr:
    """Condition that a row belongs to one of the parts at `places`."""
    found = disjunction([Call("eq", (part, Literal(place, INT)), BOOLEAN) for place in places])
    assert found is not None  # there are places
    return found
