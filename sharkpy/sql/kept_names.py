"""Names in the text of a stored query that would mean something else in another database, folder or session."""

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


def note_table(context: Context, node: exp.Expr, table: Table, *, is_qualified: bool) -> None:
    """Note a table that the stored text names. Raise BindError if a permanent view names a temporary table."""
    if context.is_kept_text and context.kept is not None and table.kind in TEMPORARY_KINDS and context.kept.permanent:
        raise _temporary(context, f"{table.streaming_kind or 'table'} {table.name}", node)
    if not is_qualified:
        note_database(context, node)


def note_database(context: Context, node: exp.Expr) -> None:
    """Note the database of an unqualified name. The name begins with the first part of a table's name."""
    kept, parts = context.kept, node.parts if isinstance(node, exp.Table) else [node]
    if kept is not None and context.is_kept_text and kept.database != context.database:
        _note(context, parts[0], [context.database, parts[0].name])


def note_files(context: Context, node: exp.Expr) -> None:
    """Note the absolute path of files that the stored text names by a relative path."""
    path = node.this.name
    if context.is_kept_text and not uri.scheme_of(path) and not Path(path).is_absolute():
        _note(context, node.this, [local_path(path)])


def note_function(context: Context, node: exp.Expr, name: str, found: CatalogFunction) -> None:
    """Note a user's function that the stored text calls.

    Raise BindError if a permanent view or function calls a temporary function.
    """
    kept = context.kept
    if kept is None or not context.is_kept_text or "." in name:
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
