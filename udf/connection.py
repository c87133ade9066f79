"""Makes a DuckDB connection ready for lowered SQL: settings, macros, kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from sharkpy.udf.group_kernels import GROUP_KERNELS, GroupKernel
from sharkpy.udf.kernels import KERNELS, Kernel
from sharkpy.udf.macros import MACROS

if TYPE_CHECKING:
    import duckdb

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


def prepare_connection(con: duckdb.DuckDBPyConnection) -> None:
    """Settings, macros and kernels of lowered SQL; once for a connection, and again for a cursor of it.

    Macros are temporary, kernels belong to the database that cursors share: those already there are kept.
    """
    settings = "; ".join(f"SET {name} = {value}" for name, value in SETTINGS)
    _create_kernels(con)
    macros = "; ".join(f"CREATE OR REPLACE TEMP MACRO {head} AS {body}" for head, body in MACROS.items())
    con.execute(f"{settings}; {macros}")


def _create_kernels(con: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    try:
        _create_kernel(con, KERNELS[0])
    except (duckdb.NotImplementedException, duckdb.CatalogException):
        return
    kernels: tuple[Kernel | GroupKernel, ...] = (*KERNELS[1:], *GROUP_KERNELS)
    for kernel in kernels:
        _create_kernel(con, kernel)


def _create_kernel(con: duckdb.DuckDBPyConnection, kernel: Kernel | GroupKernel) -> None:
    from duckdb.func import FunctionNullHandling, PythonUDFType

    con.create_function(
        kernel.name,
        _function_of(kernel),
        list(kernel.parameters),
        kernel.result,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


@cache
def _function_of(kernel: Kernel | GroupKernel) -> Callable[..., Any]:
    """One function object for the life of the process: the database calls it by address, whichever cursor made it."""
    return kernel.vectorized()
