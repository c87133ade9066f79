"""Aggregates of a state by groups: their state columns, and the calls that start, merge and finish states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sharkpy.base.errors import InternalError
from sharkpy.plan.expr import AggregateCall, Alias, ColumnRef, Literal
from sharkpy.sql.incremental.row_wise import refused
from sharkpy.udf import registry
from sharkpy.udf.aggregate_forms import AggregateForm, FormKind, state_types
from sharkpy.udf.function import AggregateFunction
from sharkpy.udf.user.function import shown_name
from sharkpy.values.types import DataType


@dataclass(frozen=True, slots=True)
class States:
    """An aggregate with a state in columns of the state table, from column `first` on."""

    item: Alias
    row: AggregateFunction
    first: int

    @property
    def call(self) -> AggregateCall:
        return call_of(self.item)

    def form(self, kind: FormKind, part: int = 0) -> AggregateForm:
        types = tuple(arg.dtype for arg in self.call.args)
        return AggregateForm(kind, self.call.function, types, self.call.dtype, part)

    @property
    def num_parts(self) -> int:
        return len(self.row.merges)

    def begun(self) -> list[AggregateCall]:
        """Calls that compute each state column from only the rows of an epoch."""
        types = state_types(self.row, self.form(FormKind.STATE).types, self.call.dtype)
        # States that do not merge resume from a state, here from NULL.
        before = tuple(Literal(None, dtype) for dtype in types) if self.row.resumes else ()
        kind = FormKind.RESUME if before else FormKind.STATE
        forms = [(self.form(kind, part), dtype) for part, dtype in enumerate(types)]
        args = (*before, *self.call.args)
        return [
            replace(self.call, function=form.name, args=args, dtype=dtype, distinct=False, form=form)
            for form, dtype in forms
        ]


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """An aggregate of DISTINCT arguments, which are keys of the state.

    `places` are the places of the arguments, None for constants.
    """

    item: Alias
    places: tuple[int | None, ...]
    filter_place: int | None


def formed(form: AggregateForm, args: Sequence[ColumnRef], dtype: DataType) -> AggregateCall:
    return AggregateCall(form.name, tuple(args), dtype, form=form)


def call_of(item: Alias) -> AggregateCall:
    if not isinstance(item.expr, AggregateCall):
        raise InternalError(f"{item} is not an aggregate")
    return item.expr


def aggregate_row(call: AggregateCall) -> AggregateFunction:
    row = registry.aggregate_of(call.function, [arg.dtype for arg in call.args])
    if row is None:
        raise refused(f"{shown_name(call.function)} over a stream")
    return row
