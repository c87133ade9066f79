"""Names of called functions as the registry knows them: a built-in function's name, or the key of a user's."""

from __future__ import annotations

from sqlglot import exp

from sharkpy.catalog.function_catalog import Macro
from sharkpy.sql.context import Context
from sharkpy.udf.user.function import MARK


def function_name(node: exp.Expr) -> str:
    """Name of a called function as written, in lower case; `database.name` if qualified."""
    return (node.this if isinstance(node.this, str) else node.this.name).lower()


def registry_name(context: Context, node: exp.Expr) -> str:
    """Registry's name of a called function; a macro gets a name that the registry does not know."""
    name = function_name(node)
    found = context.catalog.find_function(context.database, name)
    if found is None:
        return name
    return f"{name}{MARK}" if isinstance(found, Macro) else found.key


def called_macro(context: Context, node: exp.Expr) -> Macro | None:
    found = context.catalog.find_function(context.database, function_name(node))
    return found if isinstance(found, Macro) else None
