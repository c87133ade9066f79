"""Aggregates by their states: forms that produce or read states, so that a table can store them and merge them
later, and aggregates that are computed from their states even in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache

from sharkpy.base.records import dataclass
from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import DISTINCT, OVER, render, render_aggregate
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types
from sharkpy.values.types import DataType


class FormKind(Enum):
    STATE = "state of"
    """From rows to one column of the state."""
    RESUME = "resumed state of"
    """From the state columns of earlier rows (NULL without earlier rows) and new rows to one column of the state of all
    rows.
    """
    FOLD = "fold of"
    """From states to one column of the combined state."""
    MERGE = "merge of"
    """From states to the result of the aggregate."""


@dataclass(frozen=True, slots=True)
class AggregateForm:
    """Form of the aggregate `function` with arguments of `types` and the result type `result`.

    `part` is the state column that STATE, RESUME and FOLD produce. FOLD and MERGE read all state columns.
    """

    kind: FormKind
    function: str
    types: tuple[DataType, ...]
    result: DataType
    part: int = 0

    @property
    def name(self) -> str:
        """Name of a call of the form, which no function of the registry has."""
        part = "" if self.kind is FormKind.MERGE else f" {self.part}"
        return f"{self.kind.value} {self.function}{part}"


@lru_cache(maxsize=1024)
def form_row(row: AggregateFunction, form: AggregateForm) -> AggregateFunction:
    """Return the form of an aggregate as a row."""
    states = state_types(row, form.types, form.result)
    if form.kind is FormKind.RESUME:
        return AggregateFunction(
            form.name, lambda types: types, lambda _types: states[form.part], row.resumes[form.part]
        )
    if form.kind is FormKind.STATE:
        partials = tuple(_of_argument_rows(partial, form) for partial in row.partials)
    else:
        partials = tuple(_of_states(merge, states, dtype) for merge, dtype in zip(row.merges, states, strict=True))
    is_answer = form.kind is FormKind.MERGE
    return AggregateFunction(
        form.name,
        lambda types: types,
        lambda _types: form.result if is_answer else states[form.part],
        _merged_states(row, partials, form) if is_answer else partials[form.part],
        partials,
        lambda _types: states,
        row.merges,
        _finish(row.finish, form) if is_answer else f"{{{form.part}}}",
        ignores_distinct=row.ignores_distinct,
    )


def state_types(row: AggregateFunction, types: Types, result: DataType) -> Types:
    """Return the types of an aggregate's state columns; none if its states can be neither merged nor resumed."""
    if not (row.partials or row.resumes):
        return ()
    return (result,) if row.partial_types is None else row.partial_types(types)


def _of_argument_rows(partial: Lowering, form: AggregateForm) -> Lowering:
    """Return a state's lowering with the aggregate's own result type."""
    if isinstance(partial, str):
        return partial
    return lambda args, _types, _result: partial(args, form.types, form.result)


def _of_states(merge: Lowering, states: Types, dtype: DataType) -> Lowering:
    return lambda args, _types, _result: render_aggregate(merge, args, states, dtype)


def _finish(finish: Lowering, form: AggregateForm) -> Lowering:
    if isinstance(finish, str):
        return finish
    return lambda args, _types, _result: finish(args, form.types, form.result)


def _merged_states(row: AggregateFunction, merges: Sequence[Lowering], form: AggregateForm) -> Lowering:
    def complete(args: Sequence[str], types: Types, dtype: DataType) -> str:
        states = [render_aggregate(merge, args, types, dtype) for merge in merges]
        return render(row.finish, states, form.types, form.result)

    return complete


StateTypes = Callable[[Types], Sequence[DataType]]


def state_aggregate(
    name: str,
    arguments: Callable[[Types], Types | None],
    result: Callable[[Types], DataType],
    partials: tuple[Lowering, ...],
    state_types: StateTypes,
    merges: tuple[str, ...],
    finish: Lowering,
    *,
    ignores_distinct: bool = False,
    constants: tuple[tuple[int, Callable[[object], str | None]], ...] = (),
    usage: str = "",
    doc: str = "",
    example: str = "",
    answer: str = "",
    aliases: tuple[str, ...] = (),
) -> AggregateFunction:
    """Return a row that is computed from its states even in one step, so that its result is the same everywhere."""

    def complete(args: Sequence[str], types: Types, dtype: DataType) -> str:
        states = [
            partial.format(*args, distinct=DISTINCT, over=OVER)
            if isinstance(partial, str)
            else partial(args, types, dtype)
            for partial in partials
        ]
        return render(finish, states, types, dtype)

    return Page(usage, doc, f"{example} -> {answer}", name=name).aggregate(
        arguments,
        result,
        complete,
        partials,
        state_types,
        merges,
        finish,
        ignores_distinct=ignores_distinct,
        constants=constants,
        aliases=aliases,
    )
