"""Rows of the registry: a function's names, manual page, types, and lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum

from sharkpy.base.records import dataclass
from sharkpy.values.types import DataType

SqlArguments = Sequence[str]
TypeRule = Callable[[Sequence[DataType]], Sequence[DataType] | None]
"""Argument types as given -> the types that they are cast to, or None if the function does not accept them."""
ResultRule = Callable[[Sequence[DataType]], DataType]
"""Argument types after casting -> the type of the result."""
Lowering = str | Callable[[SqlArguments, Sequence[DataType], DataType], str]
"""DuckDB SQL: a template over {0}, {1}, {args}, or a function of (argument SQL, argument types, result type).

`udf.lower` renders it. In aggregates the template also has {distinct} (before the arguments) and {over} (after each
DuckDB aggregate: a FILTER or OVER clause). Functions use `udf.lower`'s DISTINCT and OVER.
"""
ListsRule = Callable[[SqlArguments, Sequence[DataType]], Sequence[str]]
"""(argument SQL, which may be repeated; argument types) -> SQL of a list for each column of a table function."""
LiteralResultRule = Callable[[Sequence[DataType], Sequence[object]], DataType]
"""(argument types after casting, Python values of the literal arguments and None for other arguments) ->
result type.
"""


EXAMPLE_ROWS = "VALUES (1, 2), (3, 4) AS t(x, y)"
"""The rows for examples of aggregates and window functions."""


@dataclass(frozen=True, slots=True)
class Varying:
    """An answer that varies between calls: a sample, and a regular expression that all answers match."""

    sample: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The answer of a call that raises an error: its message."""

    message: str


Answer = str | Varying | Failure
"""The rows of an example as Hive's shell prints them: one line per row, a tab between columns."""


@dataclass(frozen=True, slots=True)
class Function:
    """Names of a function and its manual page, which DESCRIBE FUNCTION shows; common to all kinds of rows.

    1. `usage` is the call, with optional parts in brackets. {} in it is replaced by the name or sign of the request.
    2. `doc` describes the result in one line.
    3. `example` is a call, `answer` its result. A test compares them.
    4. `aliases` are other names and signs.
    5. `is_listed` False: SHOW FUNCTIONS omits the name, since queries use an alias, or only the binder calls it.

    Built-in functions have 1 to 3. User functions only have `doc`.
    """

    name: str
    usage: str = field(default="", kw_only=True)
    doc: str = field(default="", kw_only=True)
    example: str = field(default="", kw_only=True)
    answer: Answer = field(default="", kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    is_listed: bool = field(default=True, kw_only=True)

    def usage_as(self, name: str) -> str:
        """Return the usage under `name`, which is the function's name or an alias."""
        return self.usage.replace(f"{self.name}(", f"{name}(").format(name.upper())

    @property
    def example_statement(self) -> str:
        """The example as an executable statement."""
        return f"SELECT {self.example}"


class NullPolicy(Enum):
    PROPAGATE = "propagate"
    """NULL if any argument is NULL. Otherwise NULL only if the lowering says so."""
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class ScalarFunction(Function):
    """One scalar function or operator. Its lowering names the macros and kernels that it needs.

    - `is_deterministic` False (rand, uuid, current_timestamp and so on) forbids folding and duplication.
    - `unchecked` is an optional cheaper form. It is correct only if value ranges prove that no step exceeds the storage
      of the result type. Its DuckDB type may be narrower than the result's (DECIMAL(18, s) for DECIMAL(32, s)), so it
      needs a cast to the result type if the type itself matters.
    - `literal_result`, if present, replaces `result` when the type depends on literal arguments.
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
    """One aggregate, with partial states that merge.

    - `partials` are DuckDB aggregates over the arguments ({0}, {1}; {distinct} if allowed), one per state column, with
      types from `partial_types`. Without partials, all rows of a group must be in one task: first and last, and
      approx_count_distinct, for which no state merges to the same result. DISTINCT aggregates have states once rows
      with equal group and arguments are in one task.
    - `merges` are DuckDB aggregates over the state columns {0}, {1} and so on, one per state column.
    - `finish` is a scalar expression over the merged state columns.
    - `complete` is the aggregate in one step, if all rows of a group are in one place.
    - `window`, if present, is the aggregate as a window function; otherwise `complete` is.
    - `resumes` are for aggregates whose states do not merge but can be resumed: DuckDB aggregates over the state
      columns and the arguments, one per state column. NULLs as a state begin a new one. `merges` then return the latest
      of several states.
    - `timeout` is the number of microseconds without a row, by the first argument, after which such an aggregate begins
      a new state. The last state column holds the time of the last row.
    - `constants` are the positions of arguments that must be constants, each with a check of its value.
    - `variant`, if present, returns the row that computes calls with given argument types, or None for this row.
    - `literal_result` is as in scalar functions.
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
    window: Lowering | None = None

    @property
    def example_statement(self) -> str:
        return f"SELECT {self.example} FROM {EXAMPLE_ROWS}"


@dataclass(frozen=True, slots=True)
class WindowFunction(Function):
    """A pure window function (rank, lead, ntile and so on). Aggregates are window functions by their `complete`."""

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

    `columns` returns the names and types of the result. `lists` returns a DuckDB list for each of them. The lowering of
    Generate unnests these lists together. They have equal lengths, and produce no row if they are NULL or empty. User
    functions have no `lists`. `literal_columns`, if present, replaces `columns` when the result depends on literal
    arguments (stack).
    """

    arguments: TypeRule
    columns: Callable[[Sequence[DataType]], Sequence[tuple[str, DataType]]]
    lists: ListsRule | None
    literal_columns: Callable[[Sequence[DataType], Sequence[object]], Sequence[tuple[str, DataType]]] | None = None


@dataclass(frozen=True, slots=True)
class RelationFunction(Function):
    """A function of whole tables. Only GENERATE calls it, in the session's process.

    `example` is the end of a GENERATE statement, `answer` the names of its result's columns.
    """

    @property
    def example_statement(self) -> str:
        return f"GENERATE {self.example}"
