"""What the name of a function means: to the registry, the name of a built-in one or the key of a user's."""

from __future__ import annotations

from sqlglot import exp

from sharkpy.catalog.function_catalog import Macro
from sharkpy.sql.context import Context
from sharkpy.udf.user.function import MARK


def function_name(node: exp.Expr) -> str:
    """The name as it is written, in lower case; `database.name` where it is qualified."""
    return (node.this if isinstance(node.this, str) else node.this.name).lower()


def registry_name(context: Context, node: exp.Expr) -> str:
    """What the registry knows the called function by; a macro's name is known to nobody there."""
    name = function_name(node)
    found = context.catalog.find_function(context.database, name)
    if found is None:
        return name
    return f"{name}{MARK}" if isinstance(found, Macro) else found.key


def called_macro(context: Context, node: exp.Expr) -> Macro | None:
    found = context.catalog.find_function(context.database, function_name(node))
    return found if isinstance(found, Macro) else None
