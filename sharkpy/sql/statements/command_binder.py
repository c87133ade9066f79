"""Binder of statements other than queries: the words that begin them, and the shared parts of their binders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError, SharkError, TableNotFoundError
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import Table
from sharkpy.catalog.names import check_name
from sharkpy.plan.commands import Command
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import Context
from sharkpy.sql.grammar.parser import parse_query, tokenize
from sharkpy.sql.grammar.syntax_errors import place
from sharkpy.sql.grammar.token_reader import TokenReader


@dataclass(frozen=True, slots=True)
class CommandBinder:
    """Statement that is being read: its tokens, and the context for its names."""

    context: Context
    reader: TokenReader

    def query(self, tokens: list[Token] | None = None) -> LogicalPlan:
        """Bind the rest of the statement, or `tokens`, as a query."""
        tree = self.query_tree(tokens)
        return self.context.bind_query(tree, self.context, None)

    def query_of(self, text: str) -> LogicalPlan:
        """Bind a query whose text is derived from the statement."""
        context = replace(self.context, text=text)
        return context.bind_query(parse_query(text, tokenize(text)), context, None)

    def query_tree(self, tokens: list[Token] | None = None) -> exp.Expr:
        reader = self.reader
        if tokens is None:
            if reader.current is None:
                raise reader.error("a query expected")
            tokens, reader.position = reader.rest, len(reader.tokens)
        return parse_query(reader.text, tokens)

    def file_query(self) -> LogicalPlan | None:
        """Read a path of files, 'x.csv' or format.`path`, as a query of all their rows.

        Return None if a name follows that a table may have.
        """
        following = self.reader.tokens[self.reader.position : self.reader.position + 3]
        if following[:1] and following[0].token_type == TokenType.STRING:
            taken = following[:1]
        elif len(following) > 2 and following[1].text == "." and _is_path(following[2]):
            taken = following
        else:
            return None
        self.reader.position += len(taken)
        return self.query([*tokenize("SELECT * FROM"), *taken])

    def name(self, default: str = "") -> tuple[str, str, Token]:
        """Read [database.]name of a table. Return its database, name and first token.

        Without a database, it is `default` or the current database.
        """
        token = self.reader.current
        database, name = self.reader.qualified_name()
        if database is not None and self.reader.match("."):
            raise self.reader.error("at most database.table expected")
        assert token is not None  # qualified_name took it
        return database or default or self.context.database, name, token

    def new_name(self) -> tuple[str, str]:
        """Read the database and name of a new table. Raise an error if the database does not exist."""
        database, name, token = self.name()
        with self.place_of(token):
            check_name(name)
            self.context.catalog.database(database)
        return database, name

    def table(self) -> Table:
        """Read an existing table or view.

        The error for a missing table has the name as written, since clients look for it.
        """
        start = self.reader.position
        database, name, token = self.name()
        written = "".join(part.text for part in self.reader.tokens[start : self.reader.position])
        with self.place_of(token):
            try:
                return self.context.catalog.table(database, name)
            except TableNotFoundError as error:
                raise TableNotFoundError(f"Table not found {written}", hint=error.hint) from None

    def base_table(self, action: str) -> Table:
        """Read an existing table. Refuse views, streams, and continuous queries without rows."""
        token = self.reader.current
        table = self.table()
        if table.is_view:
            kind = table.streaming_kind or "view"
            hint = "its rows come from its query" if table.continuous else None
            message = f"{table.qualified_name} is a {kind}: {action} needs a table"
            raise self.error(message, token, hint=hint, sqlstate="42809")
        if table.is_stream or table.has_no_rows:
            message = f"{table.qualified_name} is a {table.streaming_kind}: {action} needs a table"
            raise self.error(message, token, sqlstate="42809")
        return table

    def written_table(self, action: str) -> Table:
        """Read an existing table whose rows statements may change. Refuse continuous tables."""
        token = self.reader.current
        table = self.base_table(action)
        self._note_target(token)
        if table.continuous:
            message = f"the rows of {table.qualified_name}, a continuous table, come from its query: {action} may not"
            raise self.error(f"{message} change them", token, sqlstate="42809")
        return table

    def _note_target(self, token: Token | None) -> None:
        """Note the database of a target that the text of a continuous insert names without one."""
        kept, database = self.context.kept, self.context.database
        last = self.reader.tokens[self.reader.position - 1]
        if kept is not None and token is last and kept.database != database:
            kept.texts[token.start, token.end] = f"`{database}`.{kept.text[token.start : token.end + 1]}"

    def dropped_table(self, *, is_optional: bool) -> Table | None:
        """Read a table or view that is to be dropped; None if it is missing and `is_optional`.

        A lake table is found in the catalog, because its format may not know it any more.
        """
        start = self.reader.position
        database, name, _ = self.name()
        found = self.context.catalog.find_entry(database, name)
        if found is not None or is_optional:
            return found
        self.reader.position = start
        return self.table()

    def optional_table(self) -> Table | None:
        database, name, _ = self.name()
        return self.context.catalog.find_table(database, name)

    def error(
        self,
        message: str,
        token: Token | None,
        kind: type[SharkError] = BindError,
        hint: str | None = None,
        sqlstate: str | None = None,
    ) -> SharkError:
        line, column = place(self.reader.text, token.start) if token is not None else (None, None)
        return kind(message, hint=hint, sqlstate=sqlstate, line=line, column=column)

    def place_of(self, token: Token | None) -> _Placed:
        return _Placed(self.reader.text, token)


class _Placed:
    """Context manager that places errors without a place, such as errors of the catalog, at a token."""

    def __init__(self, text: str, token: Token | None) -> None:
        self.text, self.token = text, token

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SharkError) and error.line is None and self.token is not None:
            error.line, error.column = place(self.text, self.token.start)


def _is_path(token: Token) -> bool:
    """Return whether a token is a quoted name that no table can have."""
    return token.token_type == TokenType.IDENTIFIER and any(sign in token.text for sign in "/.")


CommandHandler = Callable[[CommandBinder], Command]
QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "(", "TABLE", "MAP", "REDUCE")


def find_insert(tokens: Sequence[Token]) -> int | None:
    """Return the index of an INSERT outside of parentheses, as in `WITH … INSERT` or `FROM … INSERT`; else None."""
    return next((index for index, token in _outside(tokens) if token.token_type == TokenType.INSERT), None)


def inserts(tokens: Sequence[Token]) -> list[int]:
    """Return the indexes of all INSERTs outside of parentheses."""
    return [index for index, token in _outside(tokens) if token.token_type == TokenType.INSERT]


def has_source(tokens: Sequence[Token]) -> bool:
    """Return whether the tokens before an INSERT have FROM, and not only WITH."""
    return any(token.token_type == TokenType.FROM for _, token in _outside(tokens))


def _outside(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Tokens outside of parentheses, with their indexes."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            yield index, token
