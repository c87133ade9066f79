"""Functions of FROM that read files, such as read_csv('x.csv', header = true), as tables at a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from sharkpy.catalog.file_options import READERS, FileOptions, GivenColumns
from sharkpy.sql.grammar.strict_parser import SyntaxProblem

FILE_OPTIONS = "file_options"
"""Key for the FileOptions in the tree of a table at a path."""


def is_reader(table: Any) -> bool:
    """Return whether a table is a call of a function that reads files."""
    is_call = isinstance(table, exp.Table) and isinstance(table.this, exp.Anonymous)
    return is_call and not table.args.get("db") and table.this.name.lower() in READERS


def table_of_files(table: Any, end: Any) -> exp.Table:
    """Return the table at the path in a call's first argument, with the options in the other arguments.

    Raise SyntaxProblem at the token `end`.
    """
    call = table.this
    name = call.name.lower()
    word, fixed = READERS[name]
    first, *others = call.expressions or [None]
    places = _places(first)
    if not places:
        raise SyntaxProblem(f"{name} takes a path, or a list of paths: {name}('/data/x')", end)
    columns = [other for other in others if _option_name(other) in _OF_COLUMNS]
    values = (*fixed, *(_option(other, name, end) for other in others if other not in columns))
    path = exp.Identifier(this=places[0].name, quoted=True)
    path._meta = places[0]._meta
    found = exp.Table(this=path, db=exp.to_identifier(word))
    found.set(FILE_OPTIONS, FileOptions(values, tuple(one.name for one in places[1:]), _columns(columns, end)))
    return found


def _places(node: Any) -> list[exp.Expr]:
    """Literals of paths, or their names in backticks; empty for other nodes."""
    match node:
        case exp.Literal() if node.is_string:
            return [node]
        case exp.Column(this=exp.Identifier()) if node.this.args.get("quoted"):
            return [node.this]
        case exp.Array() | exp.Tuple():
            found = [_places(item) for item in node.expressions]
            return [one for places in found for one in places] if all(found) else []
    return []


def _option_name(node: Any) -> str:
    """Name of an option in lower case; empty if the node is not an option."""
    if isinstance(node, (exp.EQ, exp.PropertyEQ)) and isinstance(node.this, (exp.Column, exp.Identifier)):
        return node.this.name.lower()
    return ""


def _columns(options: Sequence[Any], end: Any) -> GivenColumns | None:
    """Names and types of columns from `options`; None if there are no options."""
    found = GivenColumns()
    for node in options:
        read, form = _OF_COLUMNS[_option_name(node)]
        given = read(node.expression)
        if given is None:
            raise SyntaxProblem(f"{form} expected", end)
        if (found.names and given.names) or (found.types and given.types):
            raise SyntaxProblem(f"{node.this.name} defines the columns a second time", end)
        found = GivenColumns(found.names + given.names, found.types + given.types, found.is_whole or given.is_whole)
    return found if options else None


def _whole(node: Any) -> GivenColumns | None:
    pairs = _pairs(node)
    return GivenColumns(tuple(pairs), tuple(enumerate(pairs.values())), is_whole=True) if pairs else None


def _names(node: Any) -> GivenColumns | None:
    names = tuple(name.lower() for name in _texts(node))
    return GivenColumns(names) if all(names) and names else None


def _types(node: Any) -> GivenColumns | None:
    types: tuple[tuple[str | int, str], ...] = tuple(_pairs(node).items()) or tuple(enumerate(_texts(node)))
    return GivenColumns(types=types) if types else None


_OF_COLUMNS: dict[str, tuple[Callable[[Any], GivenColumns | None], str]] = {
    "columns": (_whole, "columns = {'a': 'INT'}"),
    **dict.fromkeys(("names", "column_names"), (_names, "names = ['a', 'b']")),
    **dict.fromkeys(("types", "dtypes", "column_types"), (_types, "types = {'a': 'INT'} or types = ['INT']")),
}
"""Options for names and types of columns: the function that reads each, and its form."""


def _texts(node: Any) -> list[str]:
    """Texts of a list of literals; empty for other nodes."""
    is_list = isinstance(node, (exp.Array, exp.Tuple)) or (isinstance(node, exp.Anonymous) and node.name == "array")
    items = node.expressions if is_list else []
    return [item.name for item in items] if all(map(_is_text, items)) else []


def _pairs(node: Any) -> dict[str, str]:
    """Texts in a struct or map of literals, by their names in lower case.

    Empty for other nodes, or if a name occurs twice.
    """
    items = node.expressions
    match node:
        case exp.Struct() if all(isinstance(item, exp.PropertyEQ) for item in items):
            pairs = [(item.this, item.expression) for item in items]
        case exp.Anonymous() if node.name.lower() in ("map", "named_struct") and len(items) % 2 == 0:
            pairs = list(zip(items[::2], items[1::2], strict=True))
        case _:
            return {}
    found = {name.name.lower(): value.name for name, value in pairs if name.name and _is_text(value)}
    return found if len(found) == len(pairs) else {}


def _is_text(node: Any) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _option(node: Any, function: str, end: Any) -> tuple[str, str]:
    """Name and value of `name = value`, or `name := value`."""
    if _option_name(node):
        match node.expression:
            case exp.Boolean() as value:
                return node.this.name, str(value.this).lower()
            case exp.Literal() as value:
                return node.this.name, value.name
            case exp.Neg(this=exp.Literal() as value):
                return node.this.name, f"-{value.name}"
    raise SyntaxProblem(f"options of {function} are name = value", end)
