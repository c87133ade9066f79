"""What a row of the registry says: signature, result type, null policy, how each executor computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from sharkpy.types import DataType

SqlArguments = Sequence[str]
TypeRule = Callable[[Sequence[DataType]], Sequence[DataType] | None]
"""Argument types as given -> the types they are cast to, or None where the function does not take them."""
ResultRule = Callable[[Sequence[DataType]], DataType]
"""Argument types after casting -> the type of the result."""
Lowering = str | Callable[[SqlArguments, Sequence[DataType], DataType], str]
"""DuckDB SQL: a template over {0}, {1}, {args}, or a function of (argument SQL, argument types, result type)."""


class NullPolicy(Enum):
    PROPAGATE = "propagate"
    """NULL where any argument is NULL; never NULL otherwise unless the lowering says so."""
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """One scalar function or operator. `macros`/`kernels` it needs are named in its lowering.

    `is_deterministic` False (rand, uuid, current_timestamp …) forbids folding and duplication.
    """

    name: str
    arguments: TypeRule
    result: ResultRule
    lowering: Lowering
    nulls: NullPolicy = NullPolicy.PROPAGATE
    is_deterministic: bool = True
    doc: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate, as partial states that merge.

    `partials` are DuckDB aggregate expressions over the arguments ({0}, {1}; {distinct} where allowed),
    one per state column, with their types from `partial_types`; `merges` are DuckDB aggregates, one per
    state column, over the state columns {0}, {1}, …; `finish` is a scalar expression over the merged
    state columns. `complete` is the aggregate in one step, where all rows of a group are in one place.
    An aggregate without partials (percentile, distinct ones) needs all rows of a group in one task.
    """

    name: str
    arguments: TypeRule
    result: ResultRule
    complete: Lowering
    partials: tuple[Lowering, ...] = ()
    partial_types: Callable[[Sequence[DataType]], Sequence[DataType]] | None = None
    merges: tuple[str, ...] = ()
    finish: Lowering = "{0}"
    ignores_distinct: bool = False
    doc: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """A pure window function (rank, lead, ntile …); aggregates serve as window functions by `complete`."""

    name: str
    arguments: TypeRule
    result: ResultRule
    lowering: Lowering
    takes_frame: bool = False
    doc: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class TableFunction:
    """A generator for LATERAL VIEW: explode, posexplode, inline, stack, json_tuple, parse_url_tuple.

    `columns` gives the names and types of the result; `lowering` a DuckDB expression of type
    LIST(STRUCT(c0 …, c1 …)) per row: the lowering of Generate unnests it. A NULL or empty list gives no row.
    """

    name: str
    arguments: TypeRule
    columns: Callable[[Sequence[DataType]], Sequence[tuple[str, DataType]]]
    lowering: Lowering
    doc: str = ""
    example: str = ""
