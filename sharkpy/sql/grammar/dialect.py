"""HiveQL as a sqlglot dialect: tokens, and the grammar of queries with its order of clauses.

Other files have the grammars of FROM and of expressions. sqlglot parses to translate between dialects: it replaces
functions by generic ones and accepts invalid text. Here functions keep their names (the registry knows them), and
constructs of other dialects are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.hive import Hive
from sqlglot.parsers.hive import HiveParser
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.sql.grammar.expression_parser import ExpressionParser
from sharkpy.sql.grammar.long_text import LONG_TEXT, tokenize_long
from sharkpy.sql.grammar.relation_parser import RelationParser
from sharkpy.sql.grammar.script_parser import ScriptParser, with_script_words
from sharkpy.sql.grammar.strict_parser import SyntaxProblem
from sharkpy.sql.grammar.syntax_errors import misspelt
from sharkpy.sql.grammar.window_parser import WINDOWING, WindowingParser, WindowParser, with_windowing_words

_ORDER = (
    (TokenType.WHERE,),
    (TokenType.GROUP_BY,),
    (WINDOWING,),
    (TokenType.HAVING,),
    (TokenType.WINDOW, TokenType.QUALIFY),
    (TokenType.ORDER_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.SORT_BY),
    (TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH),
)
"""Clauses in their order. Clauses of one row may be swapped, and WINDOW may follow ORDER BY, as in Spark."""
_PLACES = {token_type: place for place, row in enumerate(_ORDER) for token_type in row}
_OF_THE_WHOLE = _PLACES[TokenType.ORDER_BY]
"""Place from which on clauses apply to the rows of a whole UNION, not to its parts."""
_SET_OPERATIONS = (TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT)

ClauseParser = Callable[[Any], tuple[str, Any]]


def with_order_check(parsers: Mapping[TokenType, ClauseParser]) -> dict[TokenType, ClauseParser]:
    """Wrap the parsers of clauses, so that each one checks the word after its clause."""
    return {token_type: _checked(token_type, parser) for token_type, parser in parsers.items()}


def _checked(token_type: TokenType, parse: ClauseParser) -> ClauseParser:
    place = _PLACES.get(token_type)

    def parse_clause(parser: Any) -> tuple[str, Any]:
        word = parser._curr.text.upper()
        clause = parse(parser)
        following = parser._curr
        if place is None or not following:
            return clause
        is_late_window = following.token_type == TokenType.WINDOW and place == _OF_THE_WHOLE
        if _PLACES.get(following.token_type, place) < place and not is_late_window:
            parser.raise_error(f"{following.text.upper()} must come before {word}")
        if following.token_type == token_type:
            parser.raise_error(f"one {word} expected")
        if place >= _OF_THE_WHOLE and following.token_type in _SET_OPERATIONS:
            parser.raise_error(f"parentheses around a query with {word} before {following.text.upper()} expected")
        return clause

    return parse_clause


_NUMBER = re.compile(r"(?:[0-9]++\.?[0-9]*+|\.[0-9]++)[eE][0-9]++(?=[+-])")


def split_exponents(text: str, tokens: list[Token], tokenize: Callable[[str], list[Token]]) -> list[Token]:
    """Return the `tokens` of a text, with such numbers separate from the sign and the text after it."""
    cuts = [token.start + end for token in tokens if (end := _end_of_number(token))]
    if not cuts:
        return tokens
    apart: list[Token] = []
    line = 0
    for start, end in pairwise((0, *cuts, len(text))):
        piece = text[start:end]
        # The text after the sign may begin with another such number.
        for token in split_exponents(piece, tokenize(piece), tokenize):
            token.start += start
            token.end += start
            token.line += line
            apart.append(token)
        line += piece.count("\n")
    return apart


def _end_of_number(token: Token) -> int:
    """Length of the number at the start of a token, if a sign follows the number; else 0."""
    if token.token_type not in (TokenType.NUMBER, TokenType.VAR):
        return 0
    found = _NUMBER.match(token.text)
    return 0 if found is None else found.end()


__all__ = ["DIALECT", "HiveQL", "HiveQLParser", "SyntaxProblem", "tokenize"]

_FOREIGN = (
    TokenType.MATCH_RECOGNIZE,
    TokenType.PREWHERE,
    TokenType.FOR,
    TokenType.LOCK,
    TokenType.CONNECT_BY,
    TokenType.USING,
)
_RESERVED_ALIASES = {
    TokenType.ALL,
    TokenType.ANTI,
    TokenType.ASC,
    TokenType.CASE,
    TokenType.DESC,
    TokenType.END,
    TokenType.FULL,
    TokenType.IS,
    TokenType.LEFT,
    TokenType.NATURAL,
    TokenType.OFFSET,
    TokenType.RIGHT,
    TokenType.SEMI,
    TokenType.WINDOW,
}

_DIRECTIONS = (TokenType.ASC, TokenType.DESC)
_QUOTED = {TokenType.IDENTIFIER}


class HiveQLParser(RelationParser, ScriptParser, ExpressionParser, WindowParser, WindowingParser):
    """Parser of HiveQL, stricter than sqlglot's Hive parser.

    Nothing may be missing after a comma, AND, THEN or another keyword.
    """

    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = with_order_check(
        {
            **{token: parse for token, parse in HiveParser.QUERY_MODIFIER_PARSERS.items() if token not in _FOREIGN},
            TokenType.FETCH: lambda parser: ("limit", parser._parse_fetch()),
            WINDOWING: lambda parser: ("windowing", parser._parse_windowing()),
        }
    )
    QUERY_MODIFIER_TOKENS: ClassVar[set[TokenType]] = set(QUERY_MODIFIER_PARSERS)
    # A keyword that ends a clause is not an alias: `from a left join b`, `select a from t full join …`.
    ALIAS_TOKENS: ClassVar[set[TokenType]] = HiveParser.ALIAS_TOKENS - _RESERVED_ALIASES
    TABLE_ALIAS_TOKENS: ClassVar[set[TokenType]] = HiveParser.TABLE_ALIAS_TOKENS - _RESERVED_ALIASES
    # A column may have this name. The next token tells whether rows follow.
    ID_VAR_TOKENS: ClassVar[set[TokenType]] = HiveParser.ID_VAR_TOKENS | {TokenType.VALUES}
    OPTIONAL_ALIAS_TOKEN_CTE: ClassVar[bool] = False

    def parse_query(self) -> Any:
        """Parse a query: SELECT, VALUES, or queries in parentheses, each with the clauses that may follow."""
        if not self._match(TokenType.L_PAREN, advance=False):
            return self._parse_select()
        query = self._parse_paren()
        if not isinstance(query, exp.Query):
            self.raise_error("a query in the parentheses expected", self._prev)
        return self._parse_query_modifiers(self._parse_set_operations(query))

    def parse_expression(self) -> Any:
        return self.required(self._parse_disjunction, "an expression")

    def parse_source(self) -> Any:
        """Parse [WITH …] FROM source, as a Select without a select list."""
        with_ = self._parse_with()
        from_ = self._parse_from(joins=True)
        if from_ is None or from_.this is None:
            self.missing("a table or query after FROM")
        return exp.Select(with_=with_, from_=from_)

    def _parse_in(self, this: Any, alias: bool = False) -> Any:
        """Parse IN (value, …) | (query). The query may also be VALUES … or TABLE t."""
        if not (self._next and self._next.token_type in (TokenType.VALUES, TokenType.TABLE)):
            return super()._parse_in(this, alias)
        return self.expression(exp.In(this=this, query=self.in_parentheses(self.parse_query)))

    def _parse_statement(self) -> Any:
        return self.parse_query()

    def _parse_cte(self) -> Any:
        name = self._parse_id_var()
        if name is None:
            self.missing("a name after WITH")
        columns = None
        if self._match(TokenType.L_PAREN, advance=False):
            columns = self._parse_wrapped_id_vars() or self.raise_error("a column expected in ()", self._prev)
        if not self._match(TokenType.ALIAS):
            self.missing("AS")
        query = self._parse_wrapped(self.parse_query)
        if not isinstance(query, (exp.Query, exp.Values)):
            self.raise_error("a query in the parentheses expected", self._prev)
        return self.expression(exp.CTE(this=query, alias=exp.TableAlias(this=name, columns=columns)))

    def _parse_ordered(self, parse_method: Any = None) -> Any:
        """Parse a sort key: expression [ASC | DESC] [NULLS FIRST | LAST].

        By default, NULL sorts as the smallest value. Keys with directions may share parentheses: (a DESC, b).
        """
        if self._at_directed_keys():
            keys = self.in_parentheses(lambda: self._parse_csv(self._parse_ordered))
            return exp.Ordered(this=exp.Tuple(expressions=keys))
        this = parse_method() if parse_method else self._parse_disjunction()
        if this is None:
            return None
        descends = self._match_set(_DIRECTIONS) and self._prev.token_type == TokenType.DESC
        nulls_first = not descends
        if self._match_text_seq("NULLS"):
            if not self._match_texts(("FIRST", "LAST")):
                self.missing("FIRST or LAST after NULLS")
            nulls_first = self._prev.text.upper() == "FIRST"
        return self.expression(exp.Ordered(this=this, desc=bool(descends), nulls_first=nulls_first))

    def _at_directed_keys(self) -> bool:
        """Return whether parentheses with a direction of a sort key, and without a query, follow."""
        depth = 0
        for place in range(self._index, len(self._tokens)):
            found = self._tokens[place].token_type
            depth += (found == TokenType.L_PAREN) - (found == TokenType.R_PAREN)
            if depth == 0 or (depth == 1 and found in (TokenType.SELECT, *_DIRECTIONS)):
                return found in _DIRECTIONS
        return False

    def _parse_order(self, this: Any = None, skip_order_token: bool = False) -> Any:
        order = super()._parse_order(this, skip_order_token)
        return _with_single_keys(order) if isinstance(order, exp.Order) else order

    def _parse_partition_and_order(self) -> Any:
        partition, order = super()._parse_partition_and_order()
        return partition, order and _with_single_keys(order)

    def _parse_sort(self, exp_class: Any, token: TokenType) -> Any:
        sort = super()._parse_sort(exp_class, token)
        return sort and _with_single_keys(sort)

    def _parse_alias(self, this: Any, explicit: bool = False) -> Any:
        last, start = self._prev, self._curr
        alias = super()._parse_alias(this, explicit)
        if alias is not this:
            self.check_apart(last, start)
        if alias is not this and self._prev.token_type == TokenType.NUMBER:
            self.raise_error("a name after AS expected", self._prev)
        if alias is not this and this.is_star:
            raise SyntaxProblem("FROM or a comma after * expected", self._prev, hint=misspelt(self._prev.text))
        return alias

    def _parse_star_ops(self) -> Any:
        star = super()._parse_star_ops()
        if isinstance(star, exp.Star):
            star.meta["end"] = self._prev.end
        return star

    def _parse_star_op(self, *keywords: str) -> Any:
        """Parse * EXCEPT (column, …)."""
        if not self._match_texts(keywords):
            return None
        items = self.in_parentheses(lambda: self._parse_csv(self._parse_expression))
        return items or self.missing("a column")

    def _parse_cluster(self) -> Any:
        return self._parse_sort(exp.Cluster, TokenType.CLUSTER_BY)

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> Any:
        if self._match(TokenType.TABLE, advance=False) and self._next.token_type in self.ID_VAR_TOKENS | _QUOTED:
            return self._parse_whole_table()
        if self._match_pair(TokenType.SELECT, TokenType.DISTINCT, advance=False):
            self._refuse_distinct_on()
        starts_with_from, start = self._match(TokenType.FROM, advance=False), self._index
        if self._match_pair(TokenType.SELECT, TokenType.FROM, advance=False):
            self.raise_error("a select list expected", self._next)
        query = super()._parse_select_query(*args, **kwargs)
        if isinstance(query, exp.Values) and self._match_set(self.QUERY_MODIFIER_TOKENS, advance=False):
            query = self._parse_query_modifiers(exp.Select(expressions=[exp.Star()], from_=exp.From(this=query)))
        selects = query if isinstance(query, exp.Select) else None
        if selects is not None and not selects.expressions:
            self.missing("a select list")
        if starts_with_from and not self._has_select(start):
            self.missing("SELECT")
        return query

    def _refuse_distinct_on(self) -> None:
        if self._type_at(self._index + 2) == TokenType.ON:
            hint = "QUALIFY row_number() OVER (PARTITION BY keys ORDER BY …) = 1 keeps one row of each"
            raise SyntaxProblem("DISTINCT ON is not supported", self._next, is_unsupported=True, hint=hint)

    def _parse_whole_table(self) -> Any:
        """Parse TABLE name, which is SELECT * FROM name."""
        self._advance()
        table = self._parse_table_parts()
        query = self.expression(exp.Select(expressions=[exp.Star()], from_=exp.From(this=table)))
        return self._parse_query_modifiers(query)

    def _has_select(self, start: int) -> bool:
        """Return whether the query from token `start` on has a SELECT outside of parentheses."""
        depth = 0
        for token in self._tokens[start : self._index]:
            depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
            if depth == 0 and token.token_type == TokenType.SELECT:
                return True
        return False

    def _parse_limit(self, this: Any = None, top: bool = False, skip_limit_token: bool = False) -> Any:
        return this if top else super()._parse_limit(this, top, skip_limit_token)

    def _parse_fetch(self) -> Any:
        """Parse FETCH FIRST | NEXT [n] ROW | ROWS ONLY, which is LIMIT n."""
        self._match(TokenType.FETCH)
        if not self._match_texts(("FIRST", "NEXT")):
            self.missing("FIRST or NEXT after FETCH")
        is_one = self._match_set((TokenType.ROW, TokenType.ROWS), advance=False)
        count = exp.Literal.number(1) if is_one else self.required(self._parse_term, "a number of rows")
        if not self._match_set((TokenType.ROW, TokenType.ROWS)):
            self.missing("ROW or ROWS")
        if self._match_text_seq("WITH", "TIES"):
            self.refuse("FETCH FIRST … WITH TIES")
        self.expect("ONLY")
        return self.expression(exp.Limit(expression=count))

    def _parse_group(self, skip_group_by_token: bool = False) -> Any:
        group = super()._parse_group(skip_group_by_token)
        if group is not None and not any(group.args.values()):
            self.missing("an expression after GROUP BY")
        return group

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> Any:
        """Parse CUBE (a, b + 1), or only CUBE after WITH."""
        if not self._match_set((TokenType.CUBE, TokenType.ROLLUP)):
            return None
        kind = exp.Cube if self._prev.token_type == TokenType.CUBE else exp.Rollup
        keys = [] if with_prefix else self.in_parentheses(lambda: self._parse_csv(self._parse_disjunction))
        if not keys and not with_prefix:
            self.raise_error("an expression expected in ()", self._prev)
        return self.expression(kind(expressions=keys))

    def _parse_grouping_set(self) -> Any:
        return self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()

    def _parse_into(self) -> Any:
        return None


def _with_single_keys(clause: exp.Expr) -> exp.Expr:
    """Split sort keys that share parentheses: CLUSTER BY (a, b) has two keys."""
    keys: list[exp.Expr] = []
    for key in clause.expressions:
        listed = key.this.expressions if isinstance(key.this, exp.Tuple) else ()
        single = (one if isinstance(one, exp.Ordered) else exp.Ordered(**{**key.args, "this": one}) for one in listed)
        keys += list(single) or [key]
    clause.set("expressions", keys)
    return clause


class HiveQL(Hive):
    """Dialect of HiveQL. Suffixes of numbers become casts, types stay text."""

    class Tokenizer(Hive.Tokenizer):
        # Commands, which sqlglot keeps as opaque text, are split into tokens like other statements.
        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            text: TokenType.VAR if token == TokenType.COMMAND else token
            for text, token in Hive.Tokenizer.KEYWORDS.items()
            if (" " not in text or token != TokenType.COMMAND) and token != TokenType.PIPE_GT
        }

    Parser = HiveQLParser

    def tokenize(self, sql: str, dialect: Any = None) -> list[Token]:
        plain = partial(super().tokenize, dialect=dialect)
        return split_exponents(sql, plain(sql), plain)


DIALECT = HiveQL()


def tokenize(text: str) -> list[Token]:
    """Split `text` into tokens, with each long list of literals as one token.

    Raise sqlglot's TokenError if a quote or comment is not closed.
    """
    tokens = DIALECT.tokenize(text) if len(text) < LONG_TEXT else tokenize_long(text, DIALECT.tokenize)
    return with_windowing_words(with_script_words(tokens))
