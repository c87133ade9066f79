"""Files in FROM: a path, with or without options."""

from __future__ import annotations

from sqlglot import exp

from sharkpy.base.errors import SharkError
from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.catalog.model import Table
from sharkpy.sql.context import Context
from sharkpy.sql.grammar.file_readers import FILE_OPTIONS
from sharkpy.sql.kept_names import note_files


def described_files(context: Context, word: str, node: exp.Expr) -> Table | None:
    """Return the table of files at a path with options; None without options."""
    given: FileOptions | None = node.args.get(FILE_OPTIONS)
    if given is None:
        return None
    files = named_files(context, word, node, given)
    if files is None:
        message = f'options of "{node.this.name}", whose name does not tell a file format'
        raise context.error(message, node, hint="write it before the path, as in csv.`path` OPTIONS (…)")
    return files


def named_files(context: Context, word: str, node: exp.Expr, given: FileOptions = NO_OPTIONS) -> Table | None:
    """Return the table of files at the path in a quoted name; None if it is not such a path."""
    if not node.this.args.get("quoted"):
        return None
    try:
        found = context.catalog.file_table(word, node.this.name, given)
    except SharkError as error:
        raise context.error(error.message, node, type(error), error.hint, error.sqlstate) from None
    if found is not None:
        note_files(context, node)
    return found


def relation_name(name: str) -> str:
    """Return the name of a table in its query. For files, it is the file name without folder and suffix."""
    return name.rstrip("/").rpartition("/")[2].partition(".")[0]
