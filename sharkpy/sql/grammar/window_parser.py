"""Grammar of OVER (…), WINDOW name AS (…) and FILTER (WHERE …)."""

from __future__ import annotations

from typing import Any

from sqlglot.tokenizer_core import TokenType

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
