"""Grammar of OVER (…), WINDOW name AS (…), FILTER (WHERE …) and WINDOWING after GROUP BY."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.sql.grammar.strict_parser import StrictParser


class WindowParser(StrictParser):
    def _parse_window(self, this: Any, alias: bool = False) -> Any:
        if self._match_pair(TokenType.FILTER, TokenType.L_PAREN, advance=False):
            self._advance(2)
            if not self._match(TokenType.WHERE, advance=False):
                self.missing("WHERE")
            self._retreat(self._index - 2)
        window = super()._parse_window(this, alias)
        if self._prev.token_type == TokenType.OVER:
            self.missing('"(" or the name of a window after OVER')
        return window

    def _parse_named_window(self) -> Any:
        name = self.required(self._parse_id_var, "the name of a window")
        if not self._match(TokenType.ALIAS, advance=False):
            self.missing("AS after the name of the window")
        if self._next.token_type != TokenType.L_PAREN and self._next.token_type not in self.ID_VAR_TOKENS:
            self._advance()
            self.missing('"(" after AS')
        return self._parse_window(name, alias=True)

    def _parse_partition_by(self) -> list[Any]:
        is_partitioned = self._match(TokenType.PARTITION_BY, advance=False)
        keys = super()._parse_partition_by()
        if is_partitioned and not keys:
            self.missing("an expression after PARTITION BY")
        return keys

    def _parse_window_spec(self) -> Any:
        """Parse a bound of a frame. Two bounds need BETWEEN."""
        opener = self._prev.token_type
        spec = super()._parse_window_spec()
        if spec["value"] is None:
            self.missing("a bound of the window frame")
        if spec["value"] != "CURRENT ROW" and spec["side"] is None:
            self.missing("PRECEDING or FOLLOWING")
        follows = self._match(TokenType.AND, advance=False)
        if opener == TokenType.BETWEEN and not follows:
            self.missing("AND and another bound of the window frame")
        if opener in (TokenType.ROWS, TokenType.RANGE) and follows:
            self.raise_error("BETWEEN expected before two bounds of a window frame")
        return spec


WINDOWING = TokenType.MATCH_RECOGNIZE
"""Token type of the word. HiveQL has no clause with this type."""
_UNITS = {
    **dict.fromkeys(("MS", "MILLISECOND", "MILLISECONDS"), "milliseconds"),
    **dict.fromkeys(("S", "SEC", "SECOND", "SECONDS"), "seconds"),
    **dict.fromkeys(("M", "MIN", "MINUTE", "MINUTES"), "minutes"),
    **dict.fromkeys(("H", "HOUR", "HOURS"), "hours"),
    **dict.fromkeys(("D", "DAY", "DAYS"), "days"),
}


class Windowing(exp.Expression):
    """The clause WINDOWING.

    `this` is a call of `window` or `session_window` without its time, or of `row_window`. Or `since` is the moment
    after which rows count. `on` is the time.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "since": False, "on": False}


def with_windowing_words(tokens: list[Token]) -> list[Token]:
    """Change the types of WINDOWING before a length, SESSION or SINCE, and of WINDOW before a parenthesis.

    The former then begins a clause, the latter is a name.
    """
    found = [place for place, token in enumerate(tokens[:-1]) if _begins(token, tokens[place + 1])]
    if not found:
        return tokens
    changed = list(tokens)
    for place in found:
        token = tokens[place]
        kind = WINDOWING if token.token_type == TokenType.VAR else TokenType.VAR
        changed[place] = Token(kind, token.text, token.line, token.col, token.start, token.end, token.comments)
    return changed


def _begins(token: Token, following: Token) -> bool:
    if token.token_type == TokenType.WINDOW:
        return following.token_type == TokenType.L_PAREN
    if token.token_type != TokenType.VAR or token.text.upper() != "WINDOWING":
        return False
    is_word = following.token_type != TokenType.STRING and following.text.upper() in ("SESSION", "SINCE")
    return following.token_type == TokenType.NUMBER or is_word


class WindowingParser(StrictParser):
    def _parse_windowing(self) -> Any:
        """Parse the clause WINDOWING.

        Its forms are: length [EVERY length], SESSION length, or SINCE moment, each with [ON time]; number ROWS [EVERY
        number ROWS].
        """
        self._advance()
        clause = self.expression(Windowing(), self._prev)
        if self._match_text_seq("SINCE"):
            clause.set("since", self.required(self._parse_bitwise, "a moment after SINCE"))
        elif self._match_text_seq("SESSION"):
            clause.set("this", exp.Anonymous(this="session_window", expressions=[self._length()]))
        elif (size := self._num_rows()) is not None:
            sizes = [size]
            if self._match_text_seq("EVERY"):
                sizes.append(self.required(self._num_rows, "a number of ROWS after EVERY"))
            clause.set("this", exp.Anonymous(this="row_window", expressions=sizes))
            return clause
        else:
            lengths = [self._length()]
            if self._match_text_seq("EVERY"):
                lengths.append(self._length())
            clause.set("this", exp.Anonymous(this="window", expressions=lengths))
        if self._match(TokenType.ON):
            clause.set("on", self.required(self._parse_bitwise, "a time after ON"))
        return clause

    def _num_rows(self) -> Any:
        """Parse a number of ROWS, if there is one."""
        if self._text_at(self._index + 1) != "ROWS" or not self._match(TokenType.NUMBER):
            return None
        number = exp.Literal.number(self._prev.text)
        self._advance()
        return number

    def _length(self) -> Any:
        """Parse a length of time, such as 60 s, into its text."""
        if not self._match(TokenType.NUMBER):
            self.missing("a number")
        number, unit = self._prev.text, self._curr.text.upper() if self._curr else ""
        if unit not in _UNITS:
            self.missing("MS, S, MINUTES, HOURS or DAYS after the number")
        self._advance()
        return exp.Literal.string(f"{number} {_UNITS[unit]}")
