"""SHOW and DESCRIBE FUNCTION, in Hive's layout."""

from __future__ import annotations

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.base.wildcards import names_matching
from sharkpy.execution.commands.command_result import CommandResult, text_rows
from sharkpy.execution.commands.user_functions import described_users_function
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import DescribeFunction, ShowFunctions
from sharkpy.udf import registry
from sharkpy.udf.function import Answer, Failure, Varying
from sharkpy.udf.java_regex.matching import matcher
from sharkpy.udf.special_forms import JavaForm
from sharkpy.values.types import PRIMITIVES


def show_functions(command: ShowFunctions, session: EngineSession) -> CommandResult:
    functions = session.catalog.functions
    users = (*functions.temporary(), *(entry.qualified_name for entry in functions.entries()))
    names = registry.listed().union(users)
    found = _matching_regex(names, command.pattern) if command.is_regex else names_matching(names, command.pattern)
    return text_rows(("tab_name",), [(name,) for name in found])


def _matching_regex(names: frozenset[str], pattern: str | None) -> list[str]:
    """Return the names that fully match a regular expression, or none if the pattern is invalid."""
    if pattern is None:
        return sorted(names)
    try:
        found = matcher(pattern)
    except (BindError, UnsupportedError):
        return []
    return sorted(name for name in names if found.fullmatch(name))


def describe_function(command: DescribeFunction, session: EngineSession) -> CommandResult:
    """Describe a function's usage; EXTENDED adds its synonyms, an example and its type."""
    name = command.name.lower()
    functions = session.catalog.functions
    is_java_form = isinstance(registry.special_form(name), JavaForm) and functions.find_temporary(name) is None
    users = None if is_java_form else session.catalog.find_function(session.current_database, name)
    if users:
        return text_rows(("tab_name",), described_users_function(name, users, command.extended))
    return text_rows(("tab_name",), [(line,) for line in _described(name, command.extended)])


def _described(name: str, extended: bool) -> list[str]:
    row = registry.described(name) or registry.special_form(name)
    if row is not None:
        first = f"{row.usage_as(name)} - {row.doc}"
    elif reason := registry.refused(name):
        first = f"{name}(…) - not supported: {reason}"
    elif name in PRIMITIVES:
        return [f"There is no documentation for function '{name}'"]
    else:
        return [f"Function '{name}' does not exist."]
    if not extended:
        return [first]
    lines = [first]
    if others := registry.synonyms(name):
        lines.append(f"Synonyms: {', '.join(others)}")
    if row is not None:
        lines += ["Example:", f"  > {row.example_statement};", *_answer(row.answer)]
    if isinstance(row, JavaForm):
        lines.append(f"Function class:{row.class_name}")
    return [*lines, "Function type:BUILTIN"]


def _answer(answer: Answer) -> list[str]:
    """Lines of an example's answer."""
    match answer:
        case Failure(message):
            return [f"  Error: {message}"]
        case Varying(sample):
            answer = sample
    return [f"  {line}" for line in answer.split("\n")]
