"""Calls with words between arguments: FLOOR(x TO unit), TRIM(BOTH a FROM b), SUBSTRING(a FROM b FOR c), OVERLAY."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

_FLOORS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def _call(parser: Any, name: str, arguments: list[Any]) -> Any:
    return parser.expression(exp.Anonymous(this=name, expressions=arguments))


def _operand(parser: Any) -> Any:
    item = parser._parse_disjunction()
    if item is None:
        parser.missing("an expression")
    return item


def _rest(parser: Any) -> list[Any]:
    """Parse the remaining arguments after a comma, if there is one."""
    rest: list[Any] = parser._parse_csv(parser._parse_disjunction) if parser._match(TokenType.COMMA) else []
    return rest


def _floor(parser: Any) -> Any:
    if parser._match(TokenType.R_PAREN, advance=False):
        return _call(parser, "floor", [])
    value = _operand(parser)
    if not parser._match_text_seq("TO"):
        return _call(parser, "floor", [value, *_rest(parser)])
    unit = parser._curr.text.upper() if parser._curr else ""
    if unit not in _FLOORS:
        parser.missing("a unit of time (year, quarter, month, week, day, hour, minute, second)")
    parser._advance()
    return _call(parser, f"floor_{unit.lower()}", [value])


def _trim(parser: Any) -> Any:
    if parser._match(TokenType.R_PAREN, advance=False):
        return _call(parser, "trim", [])
    side = next((word for word in _TRIMS if parser._match_text_seq(word)), None)
    first = None if parser._match(TokenType.FROM, advance=False) else _operand(parser)
    if not parser._match(TokenType.FROM):
        if side is not None:
            parser.missing("FROM")
        return _call(parser, "trim", [first, *_rest(parser)])
    return _call(parser, _TRIMS[side or "BOTH"], [*([] if first is None else [first]), _operand(parser)])


def _substring(name: str) -> Callable[[Any], Any]:
    def parse(parser: Any) -> Any:
        if parser._match(TokenType.R_PAREN, advance=False):
            return _call(parser, name, [])
        arguments = [_operand(parser)]
        if not parser._match(TokenType.FROM):
            return _call(parser, name, arguments + _rest(parser))
        arguments.append(_operand(parser))
        if parser._match(TokenType.FOR):
            arguments.append(_operand(parser))
        return _call(parser, name, arguments)

    return parse


def _overlay(parser: Any) -> Any:
    arguments = [_operand(parser)]
    if not parser._match_text_seq("PLACING"):
        return _call(parser, "overlay", arguments + _rest(parser))
    arguments.append(_operand(parser))
    if not parser._match(TokenType.FROM):
        parser.missing("FROM and a position")
    arguments.append(_operand(parser))
    if parser._match(TokenType.FOR):
        arguments.append(_operand(parser))
    return _call(parser, "overlay", arguments)


CALL_SYNTAX: dict[str, Callable[[Any], Any]] = {
    "FLOOR": _floor,
    "TRIM": _trim,
    "SUBSTR": _substring("substr"),
    "SUBSTRING": _substring("substring"),
    "OVERLAY": _overlay,
    # TRY_CAST has nothing to catch here: CAST returns NULL instead of an error.
    "TRY_CAST": lambda parser: parser._parse_cast(True),
}
"""Function name -> parser of the arguments of its calls, including commas."""
