"""Names of functions and tables in a query: lookup of functions, and names that a stored query has to qualify.

A stored query is bound later, perhaps in another database, folder or session. Names that would mean another object
there are replaced in its text by qualified names.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from sharkpy.base import uri
from sharkpy.base.errors import BindError
from sharkpy.catalog.function_catalog import CatalogFunction, Macro
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.sql.context import Context, node_end, node_offset
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


def note_table(context: Context, node: exp.Expr, table: Table, *, is_qualified: bool) -> None:
    """Note a table that the stored text names. Raise BindError if a permanent view names a temporary table."""
    if context.is_stored_text and context.kept is not None and table.kind in TEMPORARY_KINDS and context.kept.permanent:
        raise _temporary(context, f"{table.streaming_kind or 'table'} {table.name}", node)
    if not is_qualified:
        note_database(context, node)


def note_database(context: Context, node: exp.Expr) -> None:
    """Note the database of an unqualified name. The name begins with the first part of a table's name."""
    kept, parts = context.kept, node.parts if isinstance(node, exp.Table) else [node]
    if kept is not None and context.is_stored_text and kept.database != context.database:
        _note(context, parts[0], [context.database, parts[0].name])


def note_files(context: Context, node: exp.Expr) -> None:
    """Note the absolute path of files that the stored text names by a relative path."""
    path = node.this.name
    if context.is_stored_text and not uri.scheme_of(path) and not Path(path).is_absolute():
        _note(context, node.this, [local_path(path)])


def note_function(context: Context, node: exp.Expr, name: str, found: CatalogFunction) -> None:
    """Note a user's function that the stored text calls.

    Raise BindError if a permanent view or function calls a temporary function.
    """
    kept = context.kept
    if kept is None or not context.is_stored_text or "." in name:
        return
    place = context.catalog.function_place(context.database, name)
    if not place and place is not None and kept.permanent:
        what = found.kind if isinstance(found, Macro) else "function"
        raise _temporary(context, f"{what} {name}", node)
    if place and kept.database != place:
        _note(context, node, [place, name])


def _temporary(context: Context, what: str, node: exp.Expr) -> BindError:
    assert context.kept is not None  # names are noted only for stored queries
    message = f"{context.kept.permanent} would outlive the temporary {what}"
    hint = "CREATE TEMPORARY … makes one of this session"
    found = context.error(message, node, BindError, hint, "42K0F")
    assert isinstance(found, BindError)  # as asked for
    return found


def _note(context: Context, node: exp.Expr, parts: Sequence[str]) -> None:
    start, end = node_offset(node), node_end(node)
    if isinstance(node, exp.Anonymous):
        # For a call, the node itself has the place of the name, without the arguments.
        start, end = node.meta.get("start"), node.meta.get("end")
    if context.kept is not None and start is not None and end is not None:
        context.kept.texts[start, end] = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
