"""Grammar of literals: numbers, bytes, text in a character set, intervals."""

from __future__ import annotations

import codecs
import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.hive import HiveParser
from sqlglot.tokenizer_core import TokenType

from sharkpy.sql.grammar.long_text import LITERAL_LIST
from sharkpy.sql.grammar.strict_parser import StrictParser

INTERVAL_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class LiteralList(exp.Expression):
    """Items or rows of literals. `this` is their text, which `literal_cells` reads."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class LiteralParser(StrictParser):
    PRIMARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **HiveParser.PRIMARY_PARSERS,
        LITERAL_LIST: lambda self, token: self.expression(LiteralList(this=token.text), token),
        TokenType.NUMBER: lambda self, token: self._parse_number_literal(token),
    }

    def _parse_number_literal(self, token: Any) -> Any:
        """Parse a number, and refuse letters right after it: in `0x1F` or `12ab` they would become an alias."""
        following = self._curr
        if following and following.token_type == TokenType.VAR and following.start == token.end + 1:
            self.raise_error("a space or an operator expected after the number", following)
        if not _NUMBER.fullmatch(token.text):
            self.raise_error("a number expected", token)
        parse: Any = HiveParser.PRIMARY_PARSERS[TokenType.NUMBER]
        return parse(self, token)

    def _parse_interval(self, *_args: Any, **_kwargs: Any) -> Any:
        """Parse INTERVAL value unit [TO unit] …, or INTERVAL '1 day 2 hours'.

        After + or -, also parse `1 day` and `(n) days`.
        """
        if not self._match(TokenType.INTERVAL):
            return self._parse_bare_interval()
        start = self._index
        parts: list[Any] = []
        while (value := self._parse_interval_value()) is not None:
            parts.append(self._interval_of(value, is_alone=not parts))
        if not parts:
            # INTERVAL is a column here.
            self._retreat(start - 1)
            return None
        result = parts[0]
        for part in parts[1:]:
            result = self.expression(exp.Add(this=result, expression=part))
        return result if len(parts) == 1 else self.expression(exp.Paren(this=result))

    def _parse_interval_value(self) -> Any:
        """Parse a value with a unit after it, or a string; None if there is neither."""
        if self._curr.token_type == TokenType.STRING:
            return self._parse_primary()
        start = self._index
        if self._curr.token_type == TokenType.DASH:
            start += 1
        if self._type_at(start) == TokenType.NUMBER:
            return self._parse_unary()
        if self._type_at(start) == TokenType.L_PAREN:
            return self._parse_unary()
        if _is_unit(self._text_at(self._index + 1)) and self._type_at(self._index) in self.ID_VAR_TOKENS:
            return exp.Column(this=self._parse_id_var())
        return None

    def _interval_of(self, value: Any, *, is_alone: bool) -> Any:
        if not _is_unit(self._text_at(self._index)):
            if is_alone and isinstance(value, exp.Literal) and any(map(str.isalpha, value.this)):
                return self.expression(exp.Interval(this=value))
            self.missing("a unit of time (year, month, day, hour, minute, second)")
        unit = self._interval_unit()
        if self._match_text_seq("TO"):
            unit += " TO " + self._interval_unit()
        return self.expression(exp.Interval(this=value, unit=exp.Var(this=unit)))

    def _parse_bare_interval(self) -> Any:
        """Parse `1 day` and `(n) days` after + or -, as in Hive. Elsewhere the unit would be an alias."""
        if self._prev.token_type not in (TokenType.PLUS, TokenType.DASH):
            return None
        if self._curr.token_type == TokenType.NUMBER:
            behind = self._index + 1
        elif self._curr.token_type == TokenType.L_PAREN:
            behind = self._closing(self._index) + 1
        else:
            return None
        if not _is_unit(self._text_at(behind)):
            return None
        return self._interval_of(self._parse_primary(), is_alone=False)

    def _interval_unit(self) -> str:
        unit = self._text_at(self._index)
        if not _is_unit(unit):
            self.missing("a unit of time (year, month, day, hour, minute, second)")
        self._advance()
        return unit.removesuffix("S")

    def _parse_type(self, *args: Any, **kwargs: Any) -> Any:
        literal = None
        if self._curr.token_type == TokenType.VAR:
            literal = self._parse_prefixed_literal()
        elif self._curr.token_type == TokenType.NUMBER:
            literal = self._parse_bare_interval()
        return literal if literal is not None else super()._parse_type(*args, **kwargs)

    def _parse_prefixed_literal(self) -> Any:
        """Parse X'4142' as bytes, and `_UTF-8 'text'` or `_UTF-8 0xE982B5` as text in a character set."""
        first = self._curr
        if first.text in ("X", "x") and self._type_at(self._index + 1) == TokenType.STRING and self._touches_next():
            self._advance(2)
            if not re.fullmatch("(?:[0-9A-Fa-f]{2})*+", self._prev.text):
                self.raise_error("pairs of hexadecimal digits expected", self._prev)
            return self.expression(exp.HexString(this=self._prev.text)).update_positions(first)
        if not first.text.startswith("_"):
            return None
        start = self._index
        while self._touches_next():
            self._advance()
        name = self._find_sql(first, self._curr)[1:]
        self._advance()
        data = self._parse_charset_data() if is_charset(name) else None
        if data is None:
            self._retreat(start)
            return None
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            self.raise_error(f"text in {name} expected", self._prev)
        return exp.Literal.string(text).update_positions(first)

    def _parse_charset_data(self) -> bytes | None:
        """Parse the bytes of a string or of `0x…`; None if there is neither."""
        if self._match(TokenType.STRING):
            return str(self._prev.text).encode()
        digits = self._text_at(self._index + 1)
        if self._curr.text != "0" or not self._touches_next() or not re.fullmatch("X(?:[0-9A-F]{2})++", digits):
            return None
        self._advance(2)
        return bytes.fromhex(digits[1:])

    def _touches_next(self) -> bool:
        """Return whether the next token follows the current one without a space."""
        following = self._next
        return bool(following) and following.start == self._curr.end + 1


def _is_unit(word: str) -> bool:
    return word.removesuffix("S") in INTERVAL_UNITS


def is_charset(name: str) -> bool:
    try:
        return bool(codecs.lookup(name))
    except LookupError:
        return False
