"""Rows of the registry: a function's names, its page in the manual, its types, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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


EXAMPLE_ROWS = "VALUES (1, 2), (3, 4) AS t(x, y)"
"""The rows that examples of aggregates and window functions are over."""


@dataclass(frozen=True, slots=True)
class Varying:
    """Answer that differs from call to call: one of many, and the regular expression that each of them matches."""

    sample: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Answer of a call that ends with an error: its message."""

    message: str


Answer = str | Varying | Failure
"""The rows of an example as Hive's shell prints them: a line a row, a tab between columns."""


@dataclass(frozen=True, slots=True)
class Function:
    """Names of a function and its page in the manual, which DESCRIBE FUNCTION shows; common to all kinds of rows.

    1. `usage` is how it is called, optional parts in brackets; {} in it stands for the name or sign asked for.
    2. `doc` says in a line what the call gives.
    3. `example` is a call, `answer` its result; the test of examples compares them.
    4. `aliases` are its other names and signs.
    5. `is_listed` False: SHOW FUNCTIONS leaves the name out, for queries write an alias, or the binder alone calls it.

    Built-in functions have 1 to 3; those of users `doc` alone.
    """

    name: str
    usage: str = field(default="", kw_only=True)
    doc: str = field(default="", kw_only=True)
    example: str = field(default="", kw_only=True)
    answer: Answer = field(default="", kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    is_listed: bool = field(default=True, kw_only=True)

    def usage_as(self, name: str) -> str:
        """The usage by `name`, which is the function's own or an alias."""
        return self.usage.replace(f"{self.name}(", f"{name}(").format(name.upper())

    @property
    def example_statement(self) -> str:
        """The example as a statement that can be run."""
        return f"SELECT {self.example}"


class NullPolicy(Enum):
    PROPAGATE = "propagate"
    """NULL where any argument is NULL; never NULL otherwise unless the lowering says so."""
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class ScalarFunction(Function):
    """One scalar function or operator. `macros`/`kernels` it needs are named in its lowering.

    `is_deterministic` False (rand, uuid, current_timestamp …) forbids folding and duplication.
    `unchecked`, where given, is a cheaper form that is right only where value ranges prove that no step
    leaves the result type's storage; its DuckDB type may be narrower than the result's (DECIMAL(18, s) for
    DECIMAL(32, s)), so that a cast to the result type is needed where the type itself matters.
    `literal_result`, where given, replaces `result` where the type depends on literal arguments.
    """

    arguments: TypeRule
    result: ResultRule
    lowering: Lowering
    nulls: NullPolicy = NullPolicy.PROPAGATE
    is_deterministic: bool = True
    unchecked: Lowering | None = None
    literal_result: LiteralResultRule | None = None


@dataclass(frozen=True, slots=True)
class AggregateFunction(Function):
    """One aggregate, as partial states that merge.

    `partials` are DuckDB aggregate expressions over the arguments ({0}, {1}; {distinct} where allowed),
    one per state column, with their types from `partial_types`; `merges` are DuckDB aggregates, one per
    state column, over the state columns {0}, {1}, …; `finish` is a scalar expression over the merged
    state columns. `complete` is the aggregate in one step, where all rows of a group are in one place.
    An aggregate without partials needs all rows of a group in one task: approx_count_distinct, of which we have no
    state that merges to the same answer; first and last.
    DISTINCT ones have states once rows equal in group and arguments are in one task.
    `resumes`, where given, are for one whose states do not merge, but can be gone on from: DuckDB aggregates, one per
    state column, over the state columns and the arguments; NULLs in place of a state begin a new one. `merges` then
    give the latest of several states.
    `timeout`, of these, is after how many microseconds without a row, by the first argument, a new state begins; the
    time of the last row is the last state column.
    `constants` are the positions of arguments that must be constants, with what is wrong with a value of them.
    `variant`, where given, is the row that computes calls of these argument types, None for this one.
    `literal_result` is as that of scalar functions.
    """

    arguments: TypeRule
    result: ResultRule
    complete: Lowering
    partials: tuple[Lowering, ...] = ()
    partial_types: Callable[[Sequence[DataType]], Sequence[DataType]] | None = None
    merges: tuple[Lowering, ...] = ()
    finish: Lowering = "{0}"
    ignores_distinct: bool = False
    variant: Callable[[Sequence[DataType]], AggregateFunction | None] | None = None
    constants: tuple[tuple[int, Callable[[object], str | None]], ...] = ()
    literal_result: LiteralResultRule | None = None
    resumes: tuple[Lowering, ...] = ()
    timeout: int | None = None

    @property
    def example_statement(self) -> str:
        return f"SELECT {self.example} FROM {EXAMPLE_ROWS}"


@dataclass(frozen=True, slots=True)
class WindowFunction(Function):
    """A pure window function (rank, lead, ntile …); aggregates serve as window functions by `complete`."""

    arguments: TypeRule
    result: ResultRule
    lowering: Lowering
    takes_frame: bool = False

    @property
    def example_statement(self) -> str:
        return f"SELECT {self.example} OVER (ORDER BY x) FROM {EXAMPLE_ROWS}"


@dataclass(frozen=True, slots=True)
class TableFunction(Function):
    """A generator for LATERAL VIEW: explode, posexplode, inline, stack, json_tuple, parse_url_tuple.

    `columns` gives the names and types of the result; `lists` a list in DuckDB for each of them: the lowering of
    Generate unnests them side by side. They are equally long, and give no row where NULL or empty. Users' have none.
    `literal_columns`, where given, replaces `columns` where the result depends on literal arguments (stack).
    """

    arguments: TypeRule
    columns: Callable[[Sequence[DataType]], Sequence[tuple[str, DataType]]]
    lists: ListsRule | None
    literal_columns: Callable[[Sequence[DataType], Sequence[object]], Sequence[tuple[str, DataType]]] | None = None


@dataclass(frozen=True, slots=True)
class RelationFunction(Function):
    """A function of whole tables, which GENERATE calls in the session's process; no query does.

    `example` is the end of a GENERATE statement, `answer` the names of its result's columns.
    """

    @property
    def example_statement(self) -> str:
        return f"GENERATE {self.example}"
