"""Forms of aggregates that end or begin in states, so that states can be kept in a table and merged later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import render, render_aggregate
from sharkpy.values.types import DataType

Types = Sequence[DataType]


class FormKind(Enum):
    STATE = "state of"
    """From rows to one column of the state."""
    RESUME = "resumed state of"
    """From all columns of the state of earlier rows, NULL where there were none, and rows to one column of the state of
    all of them.
    """
    FOLD = "fold of"
    """From states to one column of the state of all of them."""
    MERGE = "merge of"
    """From states to the answer of the aggregate."""


@dataclass(frozen=True, slots=True)
class AggregateForm:
    """Form of the aggregate `function` of arguments of `types`, whose own answer is a `result`. `part` is the column of
    the state that STATE, RESUME and FOLD give; FOLD and MERGE take all columns of it.
    """

    kind: FormKind
    function: str
    types: tuple[DataType, ...]
    result: DataType
    part: int = 0

    @property
    def name(self) -> str:
        """Name of a call of it, which no function of the registry has."""
        part = "" if self.kind is FormKind.MERGE else f" {self.part}"
        return f"{self.kind.value} {self.function}{part}"


@lru_cache(maxsize=1024)
def form_row(row: AggregateFunction, form: AggregateForm) -> AggregateFunction:
    """The form of an aggregate as a row of its own."""
    states = state_types(row, form.types, form.result)
    if form.kind is FormKind.RESUME:
        return AggregateFunction(
            form.name, lambda types: types, lambda _types: states[form.part], row.resumes[form.part]
        )
    if form.kind is FormKind.STATE:
        partials = tuple(_of_arguments(partial, form) for partial in row.partials)
    else:
        partials = tuple(_of_states(merge, states, dtype) for merge, dtype in zip(row.merges, states, strict=True))
    is_answer = form.kind is FormKind.MERGE
    return AggregateFunction(
        form.name,
        lambda types: types,
        lambda _types: form.result if is_answer else states[form.part],
        _merged(row, partials, form) if is_answer else partials[form.part],
        partials,
        lambda _types: states,
        row.merges,
        _finish(row.finish, form) if is_answer else f"{{{form.part}}}",
        ignores_distinct=row.ignores_distinct,
    )


def state_types(row: AggregateFunction, types: Types, result: DataType) -> Types:
    """Types of the columns of an aggregate's state; none where it has no states that merge or can be gone on from."""
    if not (row.partials or row.resumes):
        return ()
    return (result,) if row.partial_types is None else row.partial_types(types)


def _of_arguments(partial: Lowering, form: AggregateForm) -> Lowering:
    """A state's lowering, for which the answer's type is that of the aggregate."""
    if isinstance(partial, str):
        return partial
    return lambda args, _types, _result: partial(args, form.types, form.result)


def _of_states(merge: Lowering, states: Types, dtype: DataType) -> Lowering:
    return lambda args, _types, _result: render_aggregate(merge, args, states, dtype)


def _finish(finish: Lowering, form: AggregateForm) -> Lowering:
    if isinstance(finish, str):
        return finish
    return lambda args, _types, _result: finish(args, form.types, form.result)


def _merged(row: AggregateFunction, merges: Sequence[Lowering], form: AggregateForm) -> Lowering:
    def complete(args: Sequence[str], types: Types, dtype: DataType) -> str:
        states = [render_aggregate(merge, args, types, dtype) for merge in merges]
        return render(row.finish, states, form.types, form.result)

    return complete
