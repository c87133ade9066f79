"""Completion of keywords, functions, tables and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from sharkpy.errors import SharkError

if TYPE_CHECKING:
    from sharkpy.session import SharkContext

_KEYWORD_TEXT = """
    ADD ALL ALTER ANALYZE AND ANTI AS ASC BETWEEN BY CACHE CASCADE CASE CAST CLEAR CLUSTER COLUMNS COMMENT
    CREATE CROSS CUBE CURRENT DATA DATABASE DATABASES DELIMITED DESC DESCRIBE DISTINCT DISTRIBUTE DROP ELSE END
    EXCEPT EXISTS EXPLAIN EXTENDED EXTERNAL FALSE FIELDS FIRST FOLLOWING FORMAT FORMATTED FROM FULL FUNCTIONS
    GROUP GROUPING HAVING IF IN INNER INPATH INSERT INTERSECT INTERVAL INTO IS JOIN LAST LATERAL LAZY LEFT LIKE
    LIMIT LOAD LOCAL LOCATION MINUS NOT NULL NULLS OFFSET ON OR ORC ORDER OUTER OVER OVERWRITE PARQUET PARTITION
    PRECEDING RANGE REGEXP RENAME REPLACE RESET RIGHT RLIKE ROLLUP ROW ROWS SELECT SEMI SET SETS SHOW SORT
    STORED TABLE TABLES TBLPROPERTIES TEMPORARY TERMINATED TEXTFILE THEN TO TRUE TRUNCATE UNBOUNDED UNCACHE
    UNION UNSET USE USING VALUES VIEW VIEWS WHEN WHERE WINDOW WITH
"""
KEYWORDS = tuple(_KEYWORD_TEXT.split())
_WORD = re.compile(r"[\w.`]*$")
_AFTER_TABLE_WORD = re.compile(
    r"\b(?:FROM|JOIN|INTO|TABLE|DESCRIBE|DESC|UNCACHE|CACHE|LIKE|,)\s+[\w.`]*$", re.IGNORECASE
)
_NAMED = re.compile(r"\b(?:FROM|JOIN|INTO|TABLE|,)\s+([\w.`]+)(?:\s+(?:AS\s+)?(\w+))?", re.IGNORECASE)


class SharkCompleter(Completer):
    """Tables after FROM and its like; elsewhere columns of the statement's tables, functions and keywords."""

    def __init__(self, context: SharkContext) -> None:
        self._context = context

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        before = document.text_before_cursor
        match = _WORD.search(before)
        word = match.group() if match else ""
        if _AFTER_TABLE_WORD.search(before):
            yield from _matching(word, self._tables(), "table")
            return
        if "." in word:
            qualifier, _, part = word.rpartition(".")
            table = self._named_tables(document.text).get(qualifier.strip("`").lower(), qualifier)
            yield from _matching(part, self._columns(table), "column")
            return
        if not word:
            return
        for table in dict.fromkeys(self._named_tables(document.text).values()):
            yield from _matching(word, self._columns(table), "column")
        yield from _matching(word, self._tables(), "table")
        yield from _matching(word, self._functions(), "function")
        is_lower = word == word.lower()
        yield from _matching(word, (key.lower() if is_lower else key for key in KEYWORDS), "")

    def _tables(self) -> list[str]:
        try:
            return self._context.catalog.table_names(self._context.current_database)
        except SharkError:
            return []

    def _columns(self, name: str) -> tuple[str, ...]:
        database, _, table = name.replace("`", "").lower().rpartition(".")
        try:
            found = self._context.catalog.find_table(database or self._context.current_database, table)
        except SharkError:
            return ()
        return found.schema.names if found else ()

    def _functions(self) -> Iterable[str]:
        from sharkpy.udf.registry import names

        return names()

    def _named_tables(self, text: str) -> dict[str, str]:
        """Tables and aliases of the statement -> table."""
        found: dict[str, str] = {}
        for table, alias in _NAMED.findall(text):
            found[table.rpartition(".")[2].strip("`").lower()] = table
            if alias and alias.upper() not in KEYWORDS:
                found[alias.lower()] = table
        return found


def _matching(word: str, candidates: Iterable[str], kind: str) -> Iterator[Completion]:
    start = word.lower()
    for candidate in sorted(candidates):
        if candidate.lower().startswith(start) and candidate != word:
            yield Completion(candidate, start_position=-len(word), display_meta=kind)
