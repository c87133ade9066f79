"""Functions of FROM that read files, read_csv('x.csv', header = true), as tables at a path."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from sharkpy.catalog.file_options import READERS, FileOptions
from sharkpy.sql.grammar.strict_parser import SyntaxProblem

FILE_OPTIONS = "file_options"
"""Part of the tree of a table at a path: its FileOptions."""


def is_reader(table: Any) -> bool:
    """True for a call of a function that reads files."""
    is_call = isinstance(table, exp.Table) and isinstance(table.this, exp.Anonymous)
    return is_call and not table.args.get("db") and table.this.name.lower() in READERS


def table_of_files(table: Any, end: Any) -> exp.Table:
    """The table at the path that a call names first, with the options that follow. SyntaxProblem at its `end`."""
    call = table.this
    name = call.name.lower()
    word, fixed = READERS[name]
    first, *others = call.expressions or [None]
    places = _places(first)
    if not places:
        raise SyntaxProblem(f"{name} takes a path, or a list of paths: {name}('/data/x')", end)
    values = (*fixed, *(_option(other, name, end) for other in others))
    path = exp.Identifier(this=places[0].name, quoted=True)
    path._meta = places[0]._meta
    found = exp.Table(this=path, db=exp.to_identifier(word))
    found.set(FILE_OPTIONS, FileOptions(values, tuple(one.name for one in places[1:])))
    return found


def _places(node: Any) -> list[exp.Expr]:
    """Literals, or names in backticks, of paths."""
    match node:
        case exp.Literal() if node.is_string:
            return [node]
        case exp.Column(this=exp.Identifier()) if node.this.args.get("quoted"):
            return [node.this]
        case exp.Array() | exp.Tuple():
            found = [_places(item) for item in node.expressions]
            return [one for places in found for one in places] if all(found) else []
    return []


def _option(node: Any, function: str, end: Any) -> tuple[str, str]:
    """Name and value of `name = value`, or `name := value`."""
    if isinstance(node, (exp.EQ, exp.PropertyEQ)) and isinstance(node.this, (exp.Column, exp.Identifier)):
        match node.expression:
            case exp.Boolean() as value:
                return node.this.name, str(value.this).lower()
            case exp.Literal() as value:
                return node.this.name, value.name
            case exp.Neg(this=exp.Literal() as value):
                return node.this.name, f"-{value.name}"
    raise SyntaxProblem(f"options of {function} are name = value", end)
