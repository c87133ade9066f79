"""Completion of keywords, functions, tables, columns, settings, files, and the shell's own commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from sharkpy.base.errors import SharkError
from sharkpy.cli.commands import COMMANDS, find_command, is_command
from sharkpy.sql.forms import WORDS

if TYPE_CHECKING:
    from sharkpy.cli.shell_session import Names

_KEYWORD_TEXT = """
    ADD ALL ALTER ANALYZE AND ANTI ANY AS ASC BETWEEN BY CACHE CASCADE CASE CAST CLEAR CLUSTER COLUMNS COMMENT
    CREATE CROSS CUBE CURRENT DATA DATABASE DATABASES DELIMITED DESC DESCRIBE DISTINCT DISTRIBUTE DROP ELSE END
    EXCEPT EXISTS EXPLAIN EXTENDED EXTERNAL FALSE FIELDS FIRST FOLLOWING FORMAT FORMATTED FROM FULL FUNCTIONS
    GENERATE GROUP GROUPING HAVING IF IN INNER INPATH INSERT INTERSECT INTERVAL INTO IS JOIN LAST LATERAL LAZY LEFT LIKE
    LIMIT LOAD LOCAL LOCATION MINUS NOT NULL NULLS OFFSET ON OR ORC ORDER OUTER OVER OVERWRITE PARQUET PARTITION
    PRECEDING RANGE REGEXP RENAME REPLACE RESET RIGHT RLIKE ROLLUP ROW ROWS SELECT SEMI SET SETS SHOW SORT
    STORED SUMMARIZE TABLE TABLES TBLPROPERTIES TEMPORARY TERMINATED TEXTFILE THEN TO TRUE TRUNCATE UNBOUNDED UNCACHE
    UNION UNSET USE USING VALUES VIEW VIEWS WHEN WHERE WINDOW WITH
"""
_QUERY_WORDS = frozenset(_KEYWORD_TEXT.split())
"""Words that are not aliases of tables."""
KEYWORDS = tuple(sorted(_QUERY_WORDS.union(WORDS)))
_WORD = re.compile(r"[\w.`]*$")
_AFTER_TABLE_WORD = re.compile(
    r"\b(?:FROM|JOIN|INTO|TABLE|DESCRIBE|DESC|UNCACHE|CACHE|LIKE|,)\s+[\w.`]*$", re.IGNORECASE
)
_AFTER_USE = re.compile(r"^\s*(?:USE|DROP\s+DATABASE)\s+[\w`]*$", re.IGNORECASE)
_AFTER_SET = re.compile(r"^\s*(?:SET|RESET)\s+[\w.]*$", re.IGNORECASE)
_IN_PATH = re.compile(r"""\b(?:INPATH|LOCATION|JAR|FILE|DIRECTORY|FROM|JOIN)\s+'([^']*)$""", re.IGNORECASE)
_IN_FILES = re.compile(r"\b(?:csv|json|text|parquet|orc|avro)\.`([^`]*)$|\bread_\w+\(\s*'([^']*)$", re.IGNORECASE)
_AFTER_COLUMN = re.compile(
    r"^\s*(?:CREATE|ALTER)\b[^;]*\b(?:TABLE|STREAM)\b[^;]*[(,]\s*(?:`[^`]+`|\w+)(?:\s+|\s*:\s*)(\w*)$", re.IGNORECASE
)
_AFTER_OPEN_TYPE = re.compile(
    r"\b(?:ARRAY|MAP|STRUCT)\s*<[^>]*?[<,:]?\s*(\w*)$|\bCAST\s*\(.*\bAS\s+(\w*)$", re.IGNORECASE
)
_TYPES = (
    *("ARRAY", "BIGINT", "BINARY", "BOOLEAN", "CHAR", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "MAP", "SMALLINT"),
    *("STRING", "STRUCT", "TIMESTAMP", "TINYINT", "VARCHAR"),
)
_NAMED = re.compile(r"\b(?:FROM|JOIN|INTO|TABLE|,)\s+([\w.`]+)(?:\s+(?:AS\s+)?(\w+))?", re.IGNORECASE)


class SharkCompleter(Completer):
    """Completer: tables after FROM and similar words; elsewhere columns of the statement's tables, functions and
    keywords.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        if is_command(before):
            yield from self._command_completions(before.lstrip(), complete_event)
        elif path := _IN_PATH.search(before) or _IN_FILES.search(before):
            yield from self._path_completions(path.group(path.lastindex or 1), complete_event)
        elif match := _AFTER_COLUMN.search(before) or _AFTER_OPEN_TYPE.search(before):
            word = match.group(match.lastindex or 1)
            yield from _matching(word, (name.lower() if word.islower() else name for name in _TYPES), "type")
        else:
            yield from self._sql_completions(before, document.text)

    def _sql_completions(self, before: str, text: str) -> Iterator[Completion]:
        match = _WORD.search(before)
        word = match.group() if match else ""
        if _AFTER_USE.search(before):
            yield from _matching(word, self._names.databases(), "database")
        elif _AFTER_SET.search(before):
            from sharkpy.base.settings import SETTINGS

            yield from _matching(word, (setting.key for setting in SETTINGS), "setting")
        elif _AFTER_TABLE_WORD.search(before):
            yield from self._table_completions(word)
        elif "." in word:
            qualifier, _, part = word.rpartition(".")
            table = self._named_tables(text).get(qualifier.strip("`").lower(), qualifier)
            yield from _matching(part, self._names.columns(table), "column")
        elif word:
            for table in dict.fromkeys(self._named_tables(text).values()):
                yield from _matching(word, self._names.columns(table), "column")
            yield from _matching(word, self._names.tables(), "table")
            yield from _matching(word, self._names.functions(), "function")
            is_lower = word == word.lower()
            yield from _matching(word, (key.lower() if is_lower else key for key in KEYWORDS), "")

    def _table_completions(self, word: str) -> Iterator[Completion]:
        database, dot, part = word.rpartition(".")
        yield from _matching(part, self._names.tables(database.strip("`").lower()), "table")
        if word and not dot:
            yield from _matching(part, self._names.databases(), "database")

    def _command_completions(self, text: str, event: CompleteEvent) -> Iterator[Completion]:
        name, space, argument = text.partition(" ")
        if not space:
            known = (one for command in COMMANDS for one in command.names)
            if name.startswith("!"):
                known = ("!" + one[1:] for command in COMMANDS for one in command.names if one.startswith("."))
            yield from _matching(name, known, "command")
            return
        try:
            completes = find_command(name)[0].completes
        except SharkError:
            return
        match completes:
            case "file":
                yield from self._path_completions(argument.lstrip(), event)
            case "table":
                yield from self._table_completions(argument.lstrip())
            case "database":
                yield from _matching(argument.lstrip(), self._names.databases(), "database")
            case "function":
                yield from _matching(argument.lstrip(), self._names.functions(), "function")
            case tuple():
                yield from _matching(argument.lstrip(), completes, "")

    def _path_completions(self, path: str, event: CompleteEvent) -> Iterator[Completion]:
        yield from self._paths.get_completions(Document(path), event)

    def _named_tables(self, text: str) -> dict[str, str]:
        """Return the tables of the statement by alias and by name."""
        found: dict[str, str] = {}
        for name, alias in _NAMED.findall(text):
            plain = name.replace("`", "")
            found[plain.rpartition(".")[2].lower()] = plain
            if alias and alias.upper() not in _QUERY_WORDS:
                found[alias.lower()] = plain
        return found


def _matching(word: str, names: Iterable[str], kind: str) -> Iterator[Completion]:
    lowered = word.strip("`").lower()
    for name in sorted(names):
        if name.lower().startswith(lowered) and name != word:
            yield Completion(name, start_position=-len(word), display_meta=kind)
