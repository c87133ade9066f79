"""DuckDB connections prepared for lowered SQL: settings, variables, macros, kernels.

DuckDB calls kernels in its own threads, for any query. So each prepared connection has a number, by which a kernel
finds its statement and limits. The connection stores the number in the variable `shark_connection`. A kernel is a
Python function whose first parameter is this number, and a macro that adds it.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.records import dataclass
from sharkpy.base.settings import VALUE_BYTES
from sharkpy.udf.batch_size import SizeKernel
from sharkpy.udf.duckdb_routines import create_function, with_parameters
from sharkpy.udf.group_kernels import GROUP_KERNELS, GroupKernel
from sharkpy.udf.kernels import KERNELS, Kernel
from sharkpy.udf.macros import MACROS
from sharkpy.udf.value_limit import limited_to

if TYPE_CHECKING:
    import duckdb

CONNECTION_VARIABLE = "shark_connection"
"""Name of the variable in DuckDB."""
_numbers = itertools.count(1)
_by_number: weakref.WeakValueDictionary[int, CallingConnection] = weakref.WeakValueDictionary()


class CallingConnection:
    """The statement of a connection, and its limit on the bytes of one value. It is found by number while it is
    referenced.
    """

    def __init__(self, value_bytes: int = VALUE_BYTES.default) -> None:
        self.value_bytes = value_bytes
        self.number = next(_numbers)
        self._statement: Cancellation | None = None
        _by_number[self.number] = self

    @contextlib.contextmanager
    def working_for(self, statement: Cancellation | None) -> Iterator[None]:
        """Within the block, kernels that the connection calls are cancelled with the statement."""
        before, self._statement = self._statement, statement
        try:
            yield
        finally:
            self._statement = before

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Make this thread work for the connection's statement, under its limits."""
        statement = self._statement
        with limited_to(self.value_bytes), contextlib.nullcontext() if statement is None else statement.active():
            yield


@contextlib.contextmanager
def working_for_connection(number: int | None) -> Iterator[None]:
    """Make this thread work for the connection of that number, if it is known."""
    connection = None if number is None else _by_number.get(number)
    with contextlib.nullcontext() if connection is None else connection.active():
        yield


LIMIT_VARIABLE = "shark_value_bytes"
"""Variable in DuckDB with the maximum bytes of one value."""
_IS_PREPARED = "shark_is_prepared"
"""Macro that marks a database with all kernels and macros."""
_FUNCTION_NAME = re.compile(r"\bshark_\w+(?=\()")
_CALL = re.compile(r"\b(shark_\w+)\(")
_KNOWN_TEXTS = 1_000
_creating = threading.Lock()
AnyKernel = Kernel | GroupKernel | SizeKernel
SETTINGS = (
    ("TimeZone", "'UTC'"),
    ("integer_division", "false"),
    ("error_on_division_by_zero", "false"),
    ("ieee_floating_point_ops", "true"),
    ("default_null_order", "'nulls_first_on_asc_last_on_desc'"),
    ("order_by_non_integer_literal", "true"),
    ("scalar_subquery_error_on_multiple_rows", "true"),
    ("preserve_insertion_order", "true"),
    ("autoinstall_known_extensions", "false"),
    ("autoload_known_extensions", "false"),
)


def prepare_connection(con: duckdb.DuckDBPyConnection, value_bytes: int = VALUE_BYTES.default) -> CallingConnection:
    """Install the settings, macros and kernels of lowered SQL, once per connection and once per cursor of it.

    Macros and kernels belong to the database that cursors share, and existing ones are kept: a further cursor takes
    little time. Kernels work for the statement of the returned connection object while the caller holds it.
    """
    define_all_functions(con)
    return prepare_cursor(con, value_bytes)


def prepare_cursor(con: duckdb.DuckDBPyConnection, value_bytes: int) -> CallingConnection:
    """Install the settings of lowered SQL in a cursor. Kernels: see `prepare_connection`."""
    calling = CallingConnection(value_bytes)
    settings = "; ".join(f"SET {name} = {value}" for name, value in SETTINGS)
    variables = f"SET VARIABLE {CONNECTION_VARIABLE} = {calling.number}; SET VARIABLE {LIMIT_VARIABLE} = {value_bytes}"
    # The result must be read: an open result blocks the connection for other queries.
    con.execute(f"{settings}; {variables}").fetchall()
    return calling


def define_all_functions(con: duckdb.DuckDBPyConnection) -> None:
    """Create all kernels and macros in the database of `con`, unless it has them."""
    # Several threads may prepare cursors of one database: none of them must find half of the kernels.
    with _creating:
        if not _is_prepared(con):
            # The mark comes last: after a failure, the next call completes the kernels and macros.
            _define(con, [*_definitions().values(), _Definition(f"{_IS_PREPARED}()", "true")])


def define_functions(con: duckdb.DuckDBPyConnection, names: Collection[str]) -> None:
    """Create the kernels and macros of these names in the database of `con`, and keep existing ones.

    This takes half a millisecond for each: a new database with all of them takes longer than many statements.
    """
    with _creating:
        _define(con, [one for name, one in _definitions().items() if name in names])


@lru_cache(_KNOWN_TEXTS)
def functions_of(sql: str) -> frozenset[str]:
    """Return the names of the kernels and macros that `sql` calls, also within macros."""
    found: set[str] = set()
    texts = [sql]
    while texts:
        new = _FUNCTION_NAME.findall(texts.pop())
        texts += [_definitions()[name].body for name in new if name not in found and name in _definitions()]
        found.update(new)
    return frozenset(found & _definitions().keys())


@dataclass(frozen=True, slots=True)
class _Definition:
    """A macro, with the kernel that it calls if it adds the connection's number for one."""

    head: str
    body: str
    kernel: AnyKernel | None = None


@cache
def _definitions() -> dict[str, _Definition]:
    """All macros by name, in an order in which each one calls those above it."""
    kernels: tuple[AnyKernel, ...] = (*KERNELS, *GROUP_KERNELS, SizeKernel())
    made = [_Definition(*_macro(kernel), kernel) for kernel in kernels]
    made += [_Definition(head, body) for head, body in MACROS.items()]
    return {one.head.partition("(")[0]: one for one in made}


def _define(con: duckdb.DuckDBPyConnection, definitions: Sequence[_Definition]) -> None:
    for one in definitions:
        if one.kernel is not None:
            _create_kernel(con, one.kernel)
    if definitions:
        macros = (f"CREATE MACRO IF NOT EXISTS {one.head} AS {one.body}" for one in definitions)
        con.execute("; ".join(macros)).fetchall()


def _is_prepared(con: duckdb.DuckDBPyConnection) -> bool:
    import duckdb

    try:
        con.execute(f"SELECT {_IS_PREPARED}()").fetchall()
    except duckdb.CatalogException:
        return False
    return True


def _python_name(kernel: AnyKernel) -> str:
    return f"{kernel.name}_python"


def with_numbers(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return a query for this connection only, with its number in the calls of kernels.

    A prepared query that reads the variable would be bound again for each run.
    """
    if _names_with_parameters().isdisjoint(_CALL.findall(sql)):
        return sql
    ((number,),) = con.execute(f"SELECT getvariable('{CONNECTION_VARIABLE}')").fetchall()

    def numbered(call: re.Match[str]) -> str:
        return f"{call[1]}_python({number}, " if call[1] in _names_with_parameters() else call[0]

    return _CALL.sub(numbered, sql)


@cache
def _names_with_parameters() -> frozenset[str]:
    kernels: tuple[AnyKernel, ...] = (*KERNELS, *GROUP_KERNELS)
    return frozenset(one.name for one in kernels if one.parameters)


def _macro(kernel: AnyKernel) -> tuple[str, str]:
    """Return the head and the body of the macro that calls a kernel for a connection."""
    names = ", ".join(f"column{index}" for index in range(len(kernel.parameters)))
    call = f"{_python_name(kernel)}(getvariable('{CONNECTION_VARIABLE}'), {names})"
    return f"{kernel.name}({names})", call


def _create_kernel(con: duckdb.DuckDBPyConnection, kernel: AnyKernel) -> None:
    create_function(con, _python_name(kernel), _function_of(kernel), ["INTEGER", *kernel.parameters], kernel.result)


@cache
def _function_of(kernel: AnyKernel) -> Callable[..., Any]:
    """Return the function object of a kernel, one per process: the database calls it by address for all cursors."""
    compute = kernel.vectorized()

    def run(number: Any, *columns: Any) -> Any:
        with working_for_connection(number[0].as_py() if len(number) else None):
            return compute(*columns)

    return with_parameters(run, len(kernel.parameters) + 1)
