"""Parameters of a statement: placeholders in its text, and Python values as HiveQL literals.

A placeholder is `?` by position, or `:name`. The engine's own tokenizer finds placeholders, so strings, quoted names,
comments and hints contain none.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import DataError, ParameterError, SharkError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.syntax_errors import place
from sharkpy.values.types import MAX_PRECISION

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
        value = python_value(value)
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
def errors_at_template(text: BoundText) -> Iterator[None]:
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
    return insert_values(template, found, parameter_values(found, () if parameters is None else parameters))


def parameter_values(found: Sequence[Placeholder], parameters: Parameters) -> list[object]:
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


def insert_values(template: str, found: Sequence[Placeholder], values: Iterable[object]) -> BoundText:
    pieces: list[str] = []
    starts = [(0, 0)]
    length = end = 0
    for one, value in zip(found, values, strict=True):
        before, text = template[end : one.start], one.text(value)
        pieces += (before, text)
        starts += ((length + len(before), one.start), (length + len(before) + len(text), one.end))
        length, end = starts[-1]
    return BoundText("".join((*pieces, template[end:])), template, tuple(starts))


_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"})
"""Escapes of characters. A quote gets a backslash: in HiveQL, 'a''b' is two adjacent strings."""
_VARIABLE, _NO_VARIABLE = "${", "\\u0024{"
"""Start of a variable, which the session would replace within a string too, and an escape that it leaves alone."""
WRONG_PARAMETERS = "07001"
_NAMED_FLOATS = {math.inf: "Infinity", -math.inf: "-Infinity"}


def literal(value: object) -> str:
    """Return the literal of `value`, on one line. A negative number begins with its sign.

    A list, tuple or set becomes the right side of IN, in parentheses. Raise DataError if HiveQL has no equal value, or
    UnsupportedError if it has no such type.
    """
    value = python_value(value)
    if value is None:
        return "NULL"
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise UnsupportedError(f"a parameter of type {type(value).__name__} has no HiveQL literal")


def python_value(value: Any) -> Any:
    """Convert values of NumPy and pandas (scalars, arrays, series) to Python's own. Missing values become None."""
    kind = type(value)
    root = kind.__module__.split(".")[0]
    if root not in ("numpy", "pandas"):
        return value
    if kind.__name__ in ("NAType", "NaTType"):
        return None
    if root == "numpy" and value.dtype.kind in "mM":
        # Nanoseconds would become plain numbers.
        value = value.astype(f"{value.dtype.kind}8[us]")
    return value.tolist() if hasattr(value, "tolist") else value


def list_items(values: Any) -> str:
    """Return the literals for the right side of IN, without parentheses. Raise ParameterError if there are none."""
    if not values:
        raise ParameterError("the list of values for IN is empty: give at least one value", sqlstate=WRONG_PARAMETERS)
    return ", ".join(map(literal, values))


def string_literal(value: str) -> str:
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError("a string with half of a surrogate pair is not valid text") from None
    return f"'{text.translate(_ESCAPES).replace(_VARIABLE, _NO_VARIABLE)}'"


def _float(value: float) -> str:
    if math.isfinite(value):
        text = float.__repr__(value)
        return text if "e" in text else f"{text}e0"
    return f"CAST('{_NAMED_FLOATS.get(value, 'NaN')}' AS DOUBLE)"


def _integer(value: int) -> str:
    if abs(value) >= 10**MAX_PRECISION:
        raise DataError(f"a whole number of more than {MAX_PRECISION} digits")
    return int.__repr__(value)


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise DataError(f"the decimal {value} is not a number that DECIMAL has")
    if abs(value.adjusted()) > MAX_PRECISION:
        raise DataError(f"the decimal {value} has more than {MAX_PRECISION} digits")
    text = format(value, "f")
    if sum(character.isdigit() for character in text.lstrip("-0.")) > MAX_PRECISION:
        raise DataError(f"the decimal {value} has more than {MAX_PRECISION} digits")
    return f"{text}BD"


def _timestamp(value: datetime.datetime) -> str:
    if value.tzinfo is not None:
        raise DataError("a datetime with a time zone: TIMESTAMP has none; convert it and take the zone away")
    return f"timestamp '{datetime.datetime.isoformat(value.replace(fold=0), ' ', 'microseconds')}'"


def _date(value: datetime.date) -> str:
    return f"date '{datetime.date.isoformat(value)}'"


def _interval(value: datetime.timedelta) -> str:
    microseconds = value // datetime.timedelta(microseconds=1)
    return f"INTERVAL '{Decimal(microseconds).scaleb(-6):f}' SECOND"


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (bool, lambda value: "true" if value else "false"),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (str, string_literal),
    ((bytes, bytearray, memoryview), lambda value: f"unhex('{bytes(value).hex()}')"),
    (datetime.datetime, _timestamp),
    (datetime.date, _date),
    (datetime.timedelta, _interval),
    ((list, tuple, set, frozenset), lambda values: f"({list_items(values)})"),
)
"""Writers by type. bool precedes int, and datetime precedes date, because they are subclasses of these."""
