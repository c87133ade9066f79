"""Placeholders of parameters in a statement's text: `?` by position, `:name` by name.

The engine's own tokenizer finds the placeholders, so strings, quoted names, comments and hints contain none.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base.errors import ParameterError, SharkError
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.syntax_error import place
from sharkpy.sql.literals import WRONG_PARAMETERS, list_items, literal, plain

if TYPE_CHECKING:
    from sharkpy.sql.grammar.parser import Token

Parameters = Sequence[object] | Mapping[str, object]
_OPAQUE = ("STRING", "IDENTIFIER", "HINT")
_LISTS = (list, tuple, set, frozenset)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Placeholder at the characters `start` to `end` of a template.

    `name` is None for a placeholder by position. `is_enclosed`: it is the only item in parentheses.
    """

    start: int
    end: int
    name: str | None
    is_enclosed: bool

    def text(self, value: object) -> str:
        """Return the literal of `value`, with spaces around it, so that `5-?` and `a?` keep their meaning."""
        value = plain(value)
        if self.is_enclosed and isinstance(value, _LISTS):
            return f" {list_items(value)} "
        return f" {literal(value)} "


@dataclass(frozen=True, slots=True)
class BoundText:
    """Template with literals in it. `starts` has the start of each piece in the text and in the template."""

    text: str
    template: str
    starts: tuple[tuple[int, int], ...] = ((0, 0),)

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Convert a line and column in the text to the template. A place in a literal becomes that of its
        placeholder.
        """
        lines = self.text.split("\n")
        offset = sum(len(text) + 1 for text in lines[: line - 1]) + column - 1
        index = bisect_right(self.starts, offset, key=lambda start: start[0]) - 1
        here, there = self.starts[index]
        after = self.starts[index + 1][1] if index + 1 < len(self.starts) else len(self.template) + 1
        return place(self.template, min(there + offset - here, after - 1))

    def behind(self, prefix: str) -> BoundText:
        """Return the same text after a `prefix` that is not in the template."""
        length = len(prefix)
        return BoundText(
            prefix + self.text, self.template, ((0, 0), *((at + length, there) for at, there in self.starts))
        )


@contextlib.contextmanager
def placed(text: BoundText) -> Iterator[None]:
    """Convert the places of errors that are raised in the body to the template of `text`."""
    try:
        yield
    except SharkError as error:
        if error.line is None or error.column is None or text.text is text.template:
            raise
        moved = copy.copy(error)
        moved.line, moved.column = text.place(error.line, error.column)
        raise moved from error


def placeholders(template: str, *, named: bool, tokens: Sequence[Token] | None = None) -> list[Placeholder]:
    """Placeholders of `template`, in order. Raise ParseError if a quote or comment is not closed."""
    if ("?" not in template) if not named else (":" not in template):
        return []
    known = tokenize(template) if tokens is None else tokens
    return list(_named(template, known) if named else _by_place(template, known))


def _by_place(template: str, tokens: Sequence[Token]) -> Iterator[Placeholder]:
    for index, token in enumerate(tokens):
        if token.token_type.name in _OPAQUE:
            continue
        for offset in range(token.start, token.end + 1):
            if template[offset] == "?":
                yield Placeholder(offset, offset + 1, None, is_enclosed_at(tokens, index, index))


def _named(template: str, tokens: Sequence[Token]) -> Iterator[Placeholder]:
    """Placeholders `:name` whose colon does not follow a name: `struct<a:int>` is a type."""
    for index, (colon, name) in enumerate(itertools.pairwise(tokens)):
        if colon.token_type.name != "COLON" or name.start != colon.end + 1:
            continue
        written = template[name.start : name.end + 1]
        follows_name = colon.start and (template[colon.start - 1].isalnum() or template[colon.start - 1] in "_`")
        if written.isidentifier() and not follows_name:
            yield Placeholder(colon.start, name.end + 1, written, is_enclosed_at(tokens, index, index + 1))


def is_enclosed_at(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Return whether the tokens from `first` to `last` are the only ones in parentheses."""
    if not first or last + 1 >= len(tokens):
        return False
    return tokens[first - 1].token_type.name == "L_PAREN" and tokens[last + 1].token_type.name == "R_PAREN"


def bind_parameters(template: str, parameters: Parameters | None) -> BoundText:
    """Put the parameters into `template`. Raise ParameterError 07001 if their number or names do not match."""
    named = isinstance(parameters, Mapping)
    found = placeholders(template, named=named)
    return put_in(template, found, values_of(found, () if parameters is None else parameters))


def values_of(found: Sequence[Placeholder], parameters: Parameters) -> list[object]:
    """Return the value of each placeholder. Raise ParameterError 07001 if the number or names do not match."""
    if isinstance(parameters, Mapping):
        missing = [one.name for one in found if one.name not in parameters]
        if missing:
            raise _wrong(f'no value for the parameter ":{missing[0]}"')
        return [parameters[one.name or ""] for one in found]
    if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Sequence):
        raise _wrong(f"parameters are a sequence or a mapping, not {type(parameters).__name__}")
    if len(parameters) != len(found):
        raise _wrong(f"placeholders in the statement: {len(found)}, values given: {len(parameters)}")
    return list(parameters)


def _wrong(message: str) -> ParameterError:
    return ParameterError(message, sqlstate=WRONG_PARAMETERS)


def put_in(template: str, found: Sequence[Placeholder], values: Iterable[object]) -> BoundText:
    pieces: list[str] = []
    starts = [(0, 0)]
    length = end = 0
    for one, value in zip(found, values, strict=True):
        before, text = template[end : one.start], one.text(value)
        pieces += (before, text)
        starts += ((length + len(before), one.start), (length + len(before) + len(text), one.end))
        length, end = starts[-1]
    return BoundText("".join((*pieces, template[end:])), template, tuple(starts))
