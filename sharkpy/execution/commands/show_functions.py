"""SHOW and DESCRIBE FUNCTION, in Hive's layout."""

from __future__ import annotations

import re

from sharkpy.catalog.pattern import matching
from sharkpy.execution.commands.result import CommandResult, text_rows
from sharkpy.execution.commands.user_functions import described_users_function
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import DescribeFunction, ShowFunctions
from sharkpy.udf import registry
from sharkpy.udf.forms import FORMS
from sharkpy.udf.function import RelationFunction
from sharkpy.udf.usages import usage
from sharkpy.values.types import PRIMITIVES


def show_functions(command: ShowFunctions, session: EngineSession) -> CommandResult:
    functions = session.catalog.functions
    users = (*functions.temporary(), *(entry.qualified_name for entry in functions.entries()))
    names = registry.listed().union(users)
    found = _matching_regex(names, command.pattern) if command.is_regex else matching(names, command.pattern)
    return text_rows(("tab_name",), [(name,) for name in found])


def _matching_regex(names: frozenset[str], pattern: str | None) -> list[str]:
    """The names that match as a whole; none do where the pattern is no regular expression."""
    try:
        return sorted(name for name in names if pattern is None or re.fullmatch(pattern, name))
    except re.error:
        return []


def describe_function(command: DescribeFunction, session: EngineSession) -> CommandResult:
    """A line of what it is for; then, where EXTENDED, its other names, an example and that it is built in."""
    name = command.name.lower()
    if users := session.catalog.find_function(session.current_database, name):
        return text_rows(("tab_name",), described_users_function(name, users, command.extended))
    return text_rows(("tab_name",), [(line,) for line in _described(name, command.extended)])


def _described(name: str, extended: bool) -> list[str]:
    row = registry.described(name)
    doc, example = (row.doc, row.example) if row is not None else (FORMS.get(name, ""), "")
    if reason := registry.refused(name) if row is None else None:
        doc = f"not supported: {reason}"
    if not doc:
        is_type = name in PRIMITIVES
        return [f"There is no documentation for function '{name}'" if is_type else f"Function '{name}' does not exist."]
    is_relation = isinstance(row, RelationFunction)
    call = row.usage if isinstance(row, RelationFunction) else usage(registry.canonical(name), name, example)
    lines = [f"{call} - {doc}"]
    if not extended:
        return lines
    if others := registry.synonyms(name):
        lines.append(f"Synonyms: {', '.join(others)}")
    if example:
        lines += ["Example:", f"  > {'GENERATE' if is_relation else 'SELECT'} {example};"]
    return [*lines, "Function type:BUILTIN"]
