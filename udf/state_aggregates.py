"""Aggregates that are computed from their states even in one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import DISTINCT, OVER, render
from sharkpy.udf.signatures import Types
from sharkpy.values.types import (
    DataType,
)

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

    return AggregateFunction(
        name,
        arguments,
        result,
        complete,
        partials,
        state_types,
        merges,
        finish,
        ignores_distinct,
        constants=constants,
        usage=usage,
        doc=doc,
        example=example,
        answer=answer,
        aliases=aliases,
    )
