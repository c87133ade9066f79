"""Registry names of called functions: the name of a built-in function, or the key of a user's function."""

from __future__ import annotations

from sqlglot import exp

from sharkpy.catalog.function_catalog import CatalogFunction, Macro
from sharkpy.sql.context import Context
from sharkpy.sql.kept_names import note_function
from sharkpy.udf.user.function import MARK


def function_name(node: exp.Expr) -> str:
    """Return the name of a called function as written, in lower case; `database.name` if qualified."""
    return (node.this if isinstance(node.this, str) else node.this.name).lower()


def registry_name(context: Context, node: exp.Expr) -> str:
    """Return the registry's name of a called function. A macro gets a name that the registry does not have."""
    name = function_name(node)
    found = _found(context, name, node)
    if found is None:
        return name
    return f"{name}{MARK}" if isinstance(found, Macro) else found.key


def called_macro(context: Context, node: exp.Expr) -> Macro | None:
    found = _found(context, function_name(node), node)
    return found if isinstance(found, Macro) else None


def _found(context: Context, name: str, node: exp.Expr) -> CatalogFunction | None:
    """Find a user's function, and note the call if the query is stored."""
    found = context.catalog.find_function(context.database, name)
    if found is not None and context.kept is not None:
        note_function(context, node, name, found)
    return found
