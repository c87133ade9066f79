"""Parameters `{expression}` and `:name` of a statement: values of Python expressions and variables, bound
as literals.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.parameters import BoundText, Placeholder, insert_values, is_enclosed_at, placeholders

if TYPE_CHECKING:
    from sharkpy.sql.grammar.parser import Token


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
