"""Base of all parts of the HiveQL parser: sqlglot's Hive parser with errors that name the expected token.

Nodes know their parents, so a tree is full of reference cycles. Trees of a long statement would wait for the garbage
collector, which stops all threads during its search. So they are taken apart after the statement is bound.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.hive import HiveParser
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.parse_limits import whole_number
from sharkpy.sql.grammar.long_text import LONG_TEXT

_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


class SyntaxProblem(ParseError):
    """Syntax error at `token`; None is the end of the text.

    `is_unsupported`: the construct is known, but not supported.
    """

    def __init__(
        self, message: str, token: Token | None, is_unsupported: bool = False, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.token = token
        self.is_unsupported = is_unsupported
        self.hint = hint


class StrictParser(HiveParser):
    """Parser in which nothing may be missing after a comma or a keyword.

    It stops when the statement of its thread is cancelled.
    """

    def expression(self, instance: Any, token: Any = None, comments: Any = None) -> Any:
        check_cancelled()
        note_node(instance)
        return super().expression(instance, token, comments)

    def raise_error(self, message: str, token: Any = None) -> NoReturn:
        if message.startswith("Expected "):
            # sqlglot names the token before the missing one. The token found in its place says more.
            token = None
        raise SyntaxProblem(message, token or self._curr or None)

    def missing(self, what: str) -> NoReturn:
        """Raise the error that `what` was expected at the current token."""
        self.raise_error(f"{what} expected")

    def refuse(self, construct: str) -> NoReturn:
        """Raise the error that `construct`, begun before the current token, is not supported."""
        raise SyntaxProblem(f"{construct} is not supported", self._prev, is_unsupported=True)

    def required(self, parse_method: Callable[[], Any], what: str) -> Any:
        """Parse with `parse_method`. Raise the error that `what` was expected if it returns None."""
        found = parse_method()
        if found is None:
            self.missing(what)
        return found

    def expect(self, *words: str) -> None:
        """Take these words. Raise an error if they do not come next."""
        if not self._match_text_seq(*words):
            self.missing(" ".join(words))

    def in_parentheses(self, parse_method: Callable[[], Any]) -> Any:
        """Parse `(…)` with `parse_method` for the content."""
        if not self._match(TokenType.L_PAREN):
            self.missing('"("')
        found = parse_method()
        if not self._match(TokenType.R_PAREN):
            self.missing('")"')
        return found

    def whole_number(self, what: str) -> int:
        """Parse a number without sign, point or exponent."""
        text = self._curr.text if self._curr else ""
        if self._curr.token_type != TokenType.NUMBER or (number := whole_number(text)) is None:
            self.missing(what)
        self._advance()
        return number

    def check_apart(self, last: Any, alias: Any) -> None:
        """Refuse an alias that begins right after the token `last`: `a$b`, `'a'b`.

        A closing bracket may be right before it.
        """
        if last and alias and last.end + 1 == alias.start and last.token_type not in _CLOSING:
            raise SyntaxProblem("a blank or AS expected before an alias", alias)

    def _parse_connected_name(self, what: str) -> Any:
        """Parse a name that begins right after the last token."""
        name = self._parse_id_var() if self._is_connected() else None
        return name or self.missing(what)

    def _parse_placeholder(self) -> None:
        """Refuse `?`, `@name`, `:name` and `$name` as expressions and names.

        Parameters are put into the text before it is parsed.
        """

    def _parse_csv(self, parse_method: Callable[[], Any], sep: TokenType = TokenType.COMMA) -> list[Any]:
        item = parse_method()
        items = [] if item is None else [item]
        while items and self._match(sep):
            items.append(self.required(parse_method, "an item after the comma"))
        return items

    def _closing(self, index: int) -> int:
        """Return the index of the parenthesis that closes the one at `index`; the last token if there is none."""
        depth = 0
        for place in range(index, len(self._tokens)):
            token_type = self._tokens[place].token_type
            depth += (token_type == TokenType.L_PAREN) - (token_type == TokenType.R_PAREN)
            if depth == 0:
                return place
        return len(self._tokens) - 1

    def _type_at(self, index: int) -> TokenType | None:
        return self._tokens[index].token_type if index < len(self._tokens) else None

    def _text_at(self, index: int) -> str:
        """Text of the token at `index` in upper case; empty at the end and for strings."""
        token = self._tokens[index] if index < len(self._tokens) else None
        return "" if token is None or token.token_type == TokenType.STRING else str(token.text.upper())


_new_nodes: contextvars.ContextVar[list[exp.Expr] | None] = contextvars.ContextVar("sharkpy_made_nodes", default=None)


def note_node(node: exp.Expr) -> None:
    if (nodes := _new_nodes.get()) is not None:
        nodes.append(node)


@contextlib.contextmanager
def release_trees(text: str) -> Iterator[None]:
    """Take apart the trees that are made inside for a long `text`, at the end. No code may use them after that."""
    if len(text) < LONG_TEXT:
        yield
        return
    nodes: list[exp.Expr] = []
    before = _new_nodes.set(nodes)
    try:
        yield
    finally:
        _new_nodes.reset(before)
        for node in nodes:
            node.parent = None
            node.args = {}
