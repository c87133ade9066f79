"""What a row of the registry says: signature, result type, null policy, how each executor computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from sharkpy.values.types import DataType

SqlArguments = Sequence[str]
TypeRule = Callable[[Sequence[DataType]], Sequence[DataType] | None]
"""Argument types as given -> the types they are cast to, or None where the function does not take them."""
ResultRule = Callable[[Sequence[DataType]], DataType]
"""Argument types after casting -> the type of the result."""
Lowering = str | Callable[[SqlArguments, Sequence[DataType], DataType], str]
"""DuckDB SQL: a template over {0}, {1}, {args}, or a function of (argument SQL, argument types, result type).

`udf.lower` renders it. In aggregates the template also has {distinct} (before the arguments) and {over}
(behind each DuckDB aggregate: a FILTER or OVER clause); functions write `udf.lower`'s DISTINCT and OVER.
"""
ListsRule = Callable[[SqlArguments, Sequence[DataType]], Sequence[str]]
"""(argument SQL, which may be repeated; argument types) -> SQL of a list for each column of a table function."""
LiteralResultRule = Callable[[Sequence[DataType], Sequence[object]], DataType]
"""(argument types after casting, Python values of the literal arguments and None for the others) -> result type."""


class NullPolicy(Enum):
    PROPAGATE = "propagate"
    """NULL where any argument is NULL; never NULL otherwise unless the lowering says so."""
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """One scalar function or operator. `macros`/`kernels` it needs are named in its lowering.

    `is_deterministic` False (rand, uuid, current_timestamp …) forbids folding and duplication.
    `unchecked`, where given, is a cheaper form that is right only where value ranges prove that no step
    leaves the result type's storage; its DuckDB type may be narrower than the result's (DECIMAL(18, s) for
    DECIMAL(32, s)), so that a cast to the result type is needed where the type itself matters.
    `literal_result`, where given, replaces `result` where the type depends on literal arguments.
    """

    name: str
    arguments: TypeRule
    result: ResultRule
    lowering: Lowering
    nulls: NullPolicy = NullPolicy.PROPAGATE
    is_deterministic: bool = True
    doc: str = ""
    example: str = ""
    unchecked: Lowering | None = None
    literal_result: LiteralResultRule | None = None


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate, as partial states that merge.

    `partials` are DuckDB aggregate expressions over the arguments ({0}, {1}; {distinct} where allowed),
    one per state column, with their types from `partial_types`; `merges` are DuckDB aggregates, one per
    state column, over the state columns {0}, {1}, …; `finish` is a scalar expression over the merged
    state columns. `complete` is the aggregate in one step, where all rows of a group are in one place.
    An aggregate without partials needs all rows of a group in one task: approx_count_distinct, of which we have no
    state that merges to the same answer; first and last.
    DISTINCT ones have states once rows equal in group and arguments are in one task.
    `constants` are the positions of arguments that must be constants, with what is wrong with a value of them.
    `variant`, where given, is the row that computes calls of these argument types, None for this one.
    `literal_result` is as that of scalar functions.
    """

    name: str
    arguments: TypeRule
    result: ResultRule
    complete: Lowering
    partials: tuple[Lowering, ...] = ()
    partial_types: Callable[[Sequence[DataType]], Sequence[DataType]] | None = None
    merges: tuple[Lowering, ...] = ()
    finish: Lowering = "{0}"
    ignores_distinct: bool = False
    doc: str = ""
    example: str = ""
    variant: Callable[[Sequence[DataType]], AggregateFunction | None] | None = None
    constants: tuple[tuple[int, Callable[[object], str | None]], ...] = ()
    literal_result: LiteralResultRule | None = None


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

    `columns` gives the names and types of the result; `lists` a list in DuckDB for each of them: the lowering of
    Generate unnests them side by side. They are equally long, and give no row where NULL or empty. Users' have none.
    `literal_columns`, where given, replaces `columns` where the result depends on literal arguments (stack).
    """

    name: str
    arguments: TypeRule
    columns: Callable[[Sequence[DataType]], Sequence[tuple[str, DataType]]]
    lists: ListsRule | None
    doc: str = ""
    example: str = ""
    literal_columns: Callable[[Sequence[DataType], Sequence[object]], Sequence[tuple[str, DataType]]] | None = None


@dataclass(frozen=True, slots=True)
class RelationFunction:
    """A function of whole tables, which GENERATE calls in the session's process; no query does.

    `usage` is its name with its arguments; `example` the end of a GENERATE statement.
    """

    name: str
    usage: str
    doc: str = ""
    example: str = ""
