"""EXPLAIN: its forms, and the explained statement."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.catalog.function_catalog import CatalogFunction, ModelFunction
from sharkpy.catalog.model import Database, Table
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.catalog.table_history import Change, VersionPoint
from sharkpy.plan.arrow_data import GivenRows
from sharkpy.plan.commands import Explain, GenerateTable, SetConf, Statement
from sharkpy.sql.context import CatalogReader, Context
from sharkpy.sql.grammar.parser import parse_query
from sharkpy.sql.grammar.token_reader import TokenReader, word_of
from sharkpy.sql.statements.command_binder import QUERY_WORDS, find_insert

FORMS = (
    *("EXTENDED", "ANALYZE", "FORMATTED", "DEPENDENCY", "AUTHORIZATION", "LOGICAL", "CBO", "AST", "LOCKS"),
    *("VECTORIZATION", "COST", "CODEGEN", "REWRITE", "OPTIMIZER"),
)
FORMATS = ("TEXT", "JSON", "HTML")
"""Formats of EXPLAIN ANALYZE."""
_UNSUPPORTED = ("REOPTIMIZATION", "DEBUG", "DDL")
_VECTORIZATION_WORDS = ("ONLY", "SUMMARY", "OPERATOR", "EXPRESSION", "DETAIL")


def bind_explain(
    context: Context, reader: TokenReader, bind_statement: Callable[[Context, TokenReader], Statement]
) -> Explain:
    reader.expect("EXPLAIN")
    if reader.word() in _UNSUPPORTED:
        raise reader.unsupported(f"EXPLAIN {reader.word()}")
    is_analyze_table = reader.peek("ANALYZE", "TABLE") and any(word_of(token) == "COMPUTE" for token in reader.rest)
    options = _options(reader)
    form = "" if is_analyze_table else options or (reader.match_any(*FORMS) or "").lower()
    if form == "vectorization":
        while reader.match_any(*_VECTORIZATION_WORDS):
            pass
    if form == "cbo":
        reader.match_any("COST", "JOINCOST")
    if form == "analyze" and not options:
        form = _analyze_form(reader)
    if reader.current is None:
        raise reader.error("a statement expected after EXPLAIN")
    start = reader.position
    views = _ViewRecorder(context.catalog)
    statement = bind_statement(dataclasses.replace(context, catalog=views), reader)
    if isinstance(statement, (Explain, SetConf)):
        reader.position = start
        raise reader.error("a query or another statement that does something expected after EXPLAIN")
    tree = _tree(reader, start, statement) if form == "ast" else ""
    is_analyze, is_extended = form.startswith("analyze"), form.endswith(("extended", "codegen"))
    return Explain(statement, is_analyze, is_extended, form, tree, tuple(views.found.values()))


def _analyze_form(reader: TokenReader) -> str:
    """Read what follows EXPLAIN ANALYZE: EXTENDED, or FORMAT TEXT | JSON | HTML."""
    if reader.match("EXTENDED"):
        return "analyze extended"
    if not reader.match("FORMAT"):
        return "analyze"
    return _format(reader)


def _format(reader: TokenReader) -> str:
    found = reader.expect_any(*FORMATS).lower()
    return "analyze" if found == "text" else f"analyze {found}"


def _options(reader: TokenReader) -> str:
    """Read `(ANALYZE [, FORMAT TEXT | JSON | HTML])`, as other engines write it. Return the form, or "" if there is
    none.
    """
    if not reader.peek("(", "ANALYZE"):
        return ""
    reader.expect("(", "ANALYZE")
    found = "analyze"
    if reader.match(","):
        reader.expect("FORMAT")
        found = _format(reader)
    reader.expect(")")
    return found


def _tree(reader: TokenReader, start: int, statement: Statement) -> str:
    """Syntax tree of the query in a statement, as text.

    Raise UnsupportedError if the statement has no query, or may have several.
    """
    tokens = [] if isinstance(statement, GenerateTable) else reader.tokens[start:]
    index = find_insert(tokens)
    for place, token in enumerate(tokens[index or 0 :], index or 0):
        if word_of(token) in QUERY_WORDS[:4] and (index is None or place > index):
            return repr(parse_query(reader.text, tokens[place:]))
    reader.position = start
    raise reader.unsupported("EXPLAIN AST of a statement without a query")


class _ViewRecorder:
    """Catalog that records the views that are looked up in it."""

    def __init__(self, catalog: CatalogReader) -> None:
        self._catalog = catalog
        self.found: dict[str, Table] = {}

    def table(self, database: str, name: str) -> Table:
        found = self._catalog.table(database, name)
        self._note(found)
        return found

    def find_table(self, database: str, name: str) -> Table | None:
        found = self._catalog.find_table(database, name)
        self._note(found)
        return found

    def find_entry(self, database: str, name: str) -> Table | None:
        return self._catalog.find_entry(database, name)

    def at(self, table: Table, point: VersionPoint) -> Table:
        return self._catalog.at(table, point)

    def changes(self, table: Table, first: int, last: int) -> list[Change]:
        return self._catalog.changes(table, first, last)

    def lake_facts(self, table: Table, what: str) -> SystemTable:
        return self._catalog.lake_facts(table, what)

    def source_of(self, stream: Table) -> Table | None:
        return self._catalog.source_of(stream)

    def _note(self, table: Table | None) -> None:
        if table is not None and table.is_view:
            self.found[table.table_id] = table

    def database(self, name: str) -> Database:
        return self._catalog.database(name)

    def system_table(self, database: str, name: str) -> SystemTable | None:
        return self._catalog.system_table(database, name)

    def given_rows(self, name: str, *, is_registered: bool) -> GivenRows | None:
        return self._catalog.given_rows(name, is_registered=is_registered)

    def file_table(self, word: str, place: str, given: FileOptions = NO_OPTIONS) -> Table | None:
        return self._catalog.file_table(word, place, given)

    def table_names(self, database: str) -> Iterable[str]:
        return self._catalog.table_names(database)

    def find_function(self, database: str, name: str) -> CatalogFunction | None:
        return self._catalog.find_function(database, name)

    def function_place(self, database: str, name: str) -> str | None:
        return self._catalog.function_place(database, name)

    def model_function(self, table: Table, method: str) -> ModelFunction:
        return self._catalog.model_function(table, method)

    def resource_paths(self, kind: str) -> tuple[str, ...]:
        return self._catalog.resource_paths(kind)

    def named_schema_text(self, location: str) -> str:
        return self._catalog.named_schema_text(location)

    def check_path(self, path: str) -> None:
        self._catalog.check_path(path)
