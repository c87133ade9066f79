"""Arguments of the magic: options before a statement, and its parameters `{expression}` and `:name`.

Parameters are values of Python expressions and variables, bound as literals.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from sharkpy.base.errors import did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.parameters import BoundText, Placeholder, insert_values, is_enclosed_at, placeholders

if TYPE_CHECKING:
    from sharkpy.sql.grammar.parser import Token

_OPTION = re.compile(r"""\s*(-\w|--[A-Za-z][\w-]*)(?:=|\s+|$)""")
_VALUE = re.compile(r"""("[^"]*"|'[^']*'|[^\s-]\S*)\s*""")
_NAMES = {
    "-o": "out",
    "--out": "out",
    "-n": "limit",
    "--limit": "limit",
    "-e": "explain",
    "--explain": "explain",
    "--connect": "connect",
    "--master": "master",
    "--set": "set",
}


@dataclass(slots=True)
class Options:
    out: str | None = None
    limit: int | None = None
    explain: bool = False
    connect: str | None = None
    """Warehouse; empty for the default one."""
    master: str = "local[*]"
    settings: dict[str, str] = field(default_factory=dict)
    statement: str = ""
    """Text after the options."""


def parse_options(line: str) -> Options:
    """Parse the options. Raise UsageError if one is unknown or lacks its value. `-- text` is a comment of HiveQL, not
    an option.
    """
    options = Options()
    while match := _OPTION.match(line):
        name = _NAMES.get(match.group(1))
        if name is None:
            hint = did_you_mean(match.group(1), _NAMES) or f"there are {', '.join(_NAMES)}"
            raise UsageError(f'no option "{match.group(1)}"; {hint}')
        line = line[match.end() :]
        if name == "explain":
            options.explain = True
            continue
        value = _VALUE.match(line)
        line = line[value.end() :] if value else line
        _set(options, name, value.group(1).strip("\"'") if value else None)
    options.statement = line
    return options


def _set(options: Options, name: str, value: str | None) -> None:
    if value is None and name != "connect":
        raise UsageError(f"the option --{name} takes a value")
    text = value or ""
    if name == "limit":
        if not text.isdigit():
            raise UsageError(f'--limit takes a number of rows, not "{text}"')
        options.limit = int(text)
    elif name == "out":
        if not text.isidentifier():
            raise UsageError(f'--out takes the name of a variable, not "{text}"')
        options.out = text
    elif name == "set":
        key, is_pair, setting = text.partition("=")
        if not is_pair:
            raise UsageError(f'--set takes key=value, not "{text}"')
        options.settings[key] = setting
    elif name == "connect":
        options.connect = text
    else:
        options.master = text


def bind_expressions(template: str, namespace: Mapping[str, Any]) -> BoundText:
    """Put the literals of values into `template`. Exceptions of an expression are raised unchanged.

    Raise UsageError if a name or expression is missing, UnsupportedError or DataError if a value has no literal.
    """
    if "{" not in template and ":" not in template:
        return BoundText(template, template)
    tokens = tokenize(template)
    expressions = list(_expressions(template, tokens))
    names = placeholders(template, named=True, tokens=tokens)
    outside = [one for one in names if not any(other.start < one.start < other.end for other in expressions)]
    found = sorted((*expressions, *outside), key=lambda one: one.start)
    return insert_values(template, found, [_value(template, one, namespace) for one in found])


def _expressions(template: str, tokens: Sequence[Token]) -> Iterator[Placeholder]:
    """Find `{…}` outside of strings, quoted names and comments, up to the brace that makes it a Python expression."""
    end = 0
    for index, token in enumerate(tokens):
        if token.start < end or template[token.start] != "{" or template[token.start - 1 : token.start] == "$":
            continue
        end = _expression_end(template, token.start)
        last = max(number for number, other in enumerate(tokens) if other.start < end)
        yield Placeholder(token.start, end, None, is_enclosed_at(tokens, index, last))


def _expression_end(template: str, start: int) -> int:
    end = template.find("}", start)
    while end >= 0:
        try:
            ast.parse(template[start + 1 : end].strip(), mode="eval")
        except SyntaxError:
            end = template.find("}", end + 1)
        else:
            return end + 1
    raise UsageError(f"no Python expression in braces: {template[start : start + 40]}")


def _value(template: str, place: Placeholder, namespace: Mapping[str, Any]) -> Any:
    if place.name is None:
        expression = template[place.start + 1 : place.end - 1].strip()
        return eval(expression, dict(namespace))
    if place.name not in namespace:
        raise UsageError(f'no variable "{place.name}" for :{place.name}')
    return namespace[place.name]
