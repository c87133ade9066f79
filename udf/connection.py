"""Preparation of a DuckDB connection for lowered SQL: settings, variables, macros, kernels.

A kernel is a Python function whose first parameter is the number of the connection, and a macro that adds this number.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from sharkpy.base.settings import VALUE_BYTES
from sharkpy.udf.batch_size import SizeKernel
from sharkpy.udf.calling_connection import NUMBER, CallingConnection, called_from
from sharkpy.udf.create_function import create_function
from sharkpy.udf.group_kernels import GROUP_KERNELS, GroupKernel
from sharkpy.udf.kernels import KERNELS, Kernel
from sharkpy.udf.macros import MACROS
from sharkpy.udf.parameter_count import with_parameters

if TYPE_CHECKING:
    import duckdb

LIMIT = "shark_value_bytes"
"""Variable in DuckDB with the maximum bytes of one value."""
_MARK = "shark_has_kernels"
"""Macro that marks a database with all kernels."""
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

    Macros are temporary. Kernels belong to the database that cursors share, and existing ones are kept. Kernels work
    for the statement of the returned connection object while the caller holds it.
    """
    calling = CallingConnection(value_bytes)
    settings = "; ".join(f"SET {name} = {value}" for name, value in SETTINGS)
    variables = f"SET VARIABLE {NUMBER} = {calling.number}; SET VARIABLE {LIMIT} = {value_bytes}"
    _create_kernels(con)
    macros = "; ".join(f"CREATE OR REPLACE TEMP MACRO {head} AS {body}" for head, body in MACROS.items())
    # The result must be read: an open result blocks the connection for other queries.
    con.execute(f"{settings}; {variables}; {macros}").fetchall()
    return calling


def _create_kernels(con: duckdb.DuckDBPyConnection) -> None:
    # Several threads may prepare cursors of one database: none of them must find half of the kernels.
    with _creating:
        if _has_kernels(con):
            return
        kernels: tuple[AnyKernel, ...] = (*KERNELS, *GROUP_KERNELS, SizeKernel())
        for kernel in kernels:
            _create_kernel(con, kernel)
        # The mark comes last: after a failure, the next call completes the kernels.
        macros = "; ".join(map(_macro, kernels))
        con.execute(f"{macros}; CREATE MACRO IF NOT EXISTS {_MARK}() AS true").fetchall()


def _has_kernels(con: duckdb.DuckDBPyConnection) -> bool:
    import duckdb

    try:
        con.execute(f"SELECT {_MARK}()").fetchall()
    except duckdb.CatalogException:
        return False
    return True


def _python_name(kernel: AnyKernel) -> str:
    return f"{kernel.name}_python"


def _macro(kernel: AnyKernel) -> str:
    names = ", ".join(f"column{index}" for index in range(len(kernel.parameters)))
    call = f"{_python_name(kernel)}(getvariable('{NUMBER}'), {names})"
    return f"CREATE MACRO IF NOT EXISTS {kernel.name}({names}) AS {call}"


def _create_kernel(con: duckdb.DuckDBPyConnection, kernel: AnyKernel) -> None:
    create_function(con, _python_name(kernel), _function_of(kernel), ["INTEGER", *kernel.parameters], kernel.result)


@cache
def _function_of(kernel: AnyKernel) -> Callable[..., Any]:
    """Return the function object of a kernel, one per process: the database calls it by address for all cursors."""
    compute = kernel.vectorized()

    def run(number: Any, *columns: Any) -> Any:
        with called_from(number[0].as_py() if len(number) else None):
            return compute(*columns)

    return with_parameters(run, len(kernel.parameters) + 1)
