"""Cursor over the tokens of statements other than queries."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import ParseError, UnsupportedError
from sharkpy.base.parse_limits import whole_number
from sharkpy.base.secrets import names_secret
from sharkpy.sql.grammar.syntax_errors import place, syntax_error
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import DataType

_OPEN, _CLOSE = (TokenType.L_PAREN, TokenType.LT), (TokenType.R_PAREN, TokenType.GT)


def word_of(token: Token | None) -> str:
    """Text of a token in upper case; empty without a token, and for strings and quoted names, which are not words."""
    if token is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return ""
    return str(token.text.upper())


class TokenReader:
    """Reader of words, names and values in order. An unexpected token raises ParseError at its place."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.position = 0

    @property
    def current(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    @property
    def rest(self) -> list[Token]:
        return self.tokens[self.position :]

    def error(self, message: str) -> ParseError:
        return syntax_error(self.text, message, self.current)

    def unsupported(self, construct: str) -> UnsupportedError:
        token = self.current or self.tokens[-1]
        line, column = place(self.text, token.start)
        return UnsupportedError(f"{construct} is not supported", line=line, column=column)

    def word(self) -> str:
        """Text of the current token in upper case; empty at the end and for strings and quoted names."""
        return word_of(self.current)

    def peek(self, *phrase: str) -> bool:
        """Return whether the next tokens are these words."""
        found: list[str] = []
        for token in self.tokens[self.position : self.position + len(phrase)]:
            if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
                break
            found += token.text.upper().split()
        return found[: len(phrase)] == list(phrase)

    def match(self, *phrase: str) -> bool:
        """Take these words if they come next. Return whether they did."""
        if not self.peek(*phrase):
            return False
        count = 0
        while count < len(phrase):
            count += len(self.tokens[self.position].text.split())
            self.position += 1
        return True

    def match_any(self, *words: str) -> str | None:
        """Take and return one of these words if it comes next; else None."""
        word = self.word()
        if word in words:
            self.position += 1
            return word
        return None

    def until(self, *words: str) -> list[Token]:
        """Take the tokens up to one of `words`, or up to the closing parenthesis.

        Words within parentheses and CASE … END are skipped.
        """
        start, depth = self.position, 0
        while self.current is not None and not (depth == 0 and self.word() in (*words, ")")):
            depth += (self.word() in ("(", "CASE")) - (self.word() in (")", "END"))
            self.position += 1
        return self.tokens[start : self.position]

    def expect(self, *phrase: str) -> None:
        if not self.match(*phrase):
            words = " ".join(phrase)
            raise self.error(f"{words} expected" if words[0].isalnum() else f'"{words}" expected')

    def expect_any(self, *words: str) -> str:
        word = self.match_any(*words)
        if word is None:
            raise self.error(f"{', '.join(words[:-1])} or {words[-1]} expected")
        return word

    def expect_end(self) -> None:
        if self.current is not None:
            raise self.error("the statement should end here")

    def take(self) -> Token:
        token = self.current
        if token is None:
            raise self.error("more text expected")
        self.position += 1
        return token

    def name(self, what: str = "a name") -> str:
        """Take an identifier, in lower case."""
        token = self.current
        is_name = token is not None and token.token_type == TokenType.IDENTIFIER
        is_word = token is not None and token.token_type != TokenType.STRING and _is_word(token.text)
        if token is None or not (is_name or is_word):
            raise self.error(f"{what} expected")
        self.position += 1
        return str(token.text.lower())

    def qualified_name(self, what: str = "a table name") -> tuple[str | None, str]:
        """Take [database.]name, in lower case."""
        first = self.name(what)
        if self.match("."):
            return first, self.name(what)
        return None, first

    def string(self, what: str = "a string") -> str:
        token = self.current
        if token is None or token.token_type != TokenType.STRING:
            raise self.error(f"{what} in quotes expected")
        self.position += 1
        return str(token.text)

    def whole_number(self, what: str = "a number") -> int:
        token = self.current
        number = whole_number(token.text) if token is not None and token.token_type == TokenType.NUMBER else None
        if number is None:
            raise self.error(f"{what} expected")
        self.position += 1
        return number

    def optional_string(self, *phrase: str) -> str | None:
        """Take the string after `phrase`, if `phrase` comes next."""
        return self.string() if self.match(*phrase) else None

    def if_exists(self) -> bool:
        return self.match("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        return self.match("IF", "NOT", "EXISTS")

    def key(self, what: str = "a property name") -> str:
        """Take a property's name: a string, or words joined by dots."""
        token = self.current
        if token is not None and token.token_type == TokenType.STRING:
            return self.string()
        parts = [self.name(what)]
        while self.match("."):
            parts.append(self.name(what))
        return ".".join(parts)

    def properties(self) -> tuple[tuple[str, str], ...]:
        """Take ('key' = 'value', …).

        Raise UnsupportedError for a secret, because the catalog stores and shows properties.
        """
        self.expect("(")
        pairs: dict[str, str] = {}
        while True:
            start, key = self.position, self.key()
            if names_secret(key):
                self.position = start
                error = self.unsupported(f"a secret among properties, {key},")
                error.hint = f"properties are for all to see; SET {key} instead"
                raise error
            self.expect("=")
            token = self.take()
            pairs[key] = str(token.text)
            if self.match(")"):
                return tuple(pairs.items())
            self.expect(",")

    def data_type(self) -> DataType:
        """Take a type, up to its closing bracket."""
        first = self.current
        if first is None or not _is_word(first.text):
            raise self.error("a type expected")
        self.position += 1
        last, depth = first, 0
        while (token := self.current) is not None:
            opens = token.token_type in _OPEN
            if depth == 0 and not opens and not (last is first and token.text.upper() == "PRECISION"):
                break
            depth += opens - (token.token_type in _CLOSE)
            last = token
            self.position += 1
            if depth == 0 and token.token_type in _CLOSE:
                break
        try:
            return parse_type(self.text[first.start : last.end + 1])
        except ParseError as error:
            line, column = place(self.text, first.start)
            raise ParseError(
                error.message, hint=error.hint, sqlstate=error.sqlstate, line=line, column=column
            ) from None


def _is_word(text: str) -> bool:
    return text[:1].isalnum() or text[:1] == "_"
