"""HiveQL as a sqlglot dialect: every patch to sqlglot's Hive grammar is in this file.

sqlglot parses to translate between dialects: it turns functions into generic ones and lets much pass.
Here functions keep their names (the registry knows them), and what HiveQL does not have is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.dialects.hive import Hive
from sqlglot.errors import ParseError
from sqlglot.parsers.hive import HiveParser
from sqlglot.tokenizer_core import Token, TokenType

_FOREIGN_MODIFIERS = (
    TokenType.MATCH_RECOGNIZE,
    TokenType.PREWHERE,
    TokenType.QUALIFY,
    TokenType.FETCH,
    TokenType.FOR,
    TokenType.LOCK,
    TokenType.CONNECT_BY,
    TokenType.USING,
)
_FOREIGN_RANGES = (
    TokenType.AT_GT,
    TokenType.GLOB,
    TokenType.ILIKE,
    TokenType.IRLIKE,
    TokenType.LT_AT,
    TokenType.OVERLAPS,
    TokenType.SIMILAR_TO,
    TokenType.FOR,
    TokenType.QMARK_AMP,
    TokenType.QMARK_PIPE,
    TokenType.HASH_DASH,
    TokenType.AT_QMARK,
    TokenType.ADJACENT,
    TokenType.OPERATOR,
    TokenType.AMP_LT,
    TokenType.AMP_GT,
    TokenType.CARET_AT,
)
INTERVAL_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_RESERVED_ALIASES = {
    TokenType.ALL,
    TokenType.ANTI,
    TokenType.ASC,
    TokenType.CASE,
    TokenType.DESC,
    TokenType.END,
    TokenType.FULL,
    TokenType.LEFT,
    TokenType.NATURAL,
    TokenType.OFFSET,
    TokenType.RIGHT,
    TokenType.SEMI,
    TokenType.WINDOW,
}


class SyntaxProblem(ParseError):
    """What was expected at `token`; None is the end of the text. `construct`: known, but not supported."""

    def __init__(self, message: str, token: Token | None, is_unsupported: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.token = token
        self.is_unsupported = is_unsupported


class HiveQLParser(HiveParser):
    """sqlglot's Hive parser, stricter: nothing may be missing after a comma, AND, THEN or a keyword."""

    # No function is translated: each becomes Anonymous with the name as written.
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CAST": lambda self: self._parse_cast(True),
        "EXTRACT": lambda self: self._parse_extract(),
        "POSITION": lambda self: self._parse_place(),
        "TRANSFORM": lambda self: self.refuse("SELECT TRANSFORM"),
    }
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        token: HiveParser.COLUMN_OPERATORS[token] for token in (TokenType.DOT, TokenType.DCOLON)
    }
    LAMBDAS: ClassVar[dict[TokenType, Any]] = {}
    # array(1, 2)[0] is an item of an array, not an array type applied to a list.
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CASE": lambda self: self._parse_case(),
    }
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        token: parser for token, parser in HiveParser.RANGE_PARSERS.items() if token not in _FOREIGN_RANGES
    }
    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        token: parser for token, parser in HiveParser.QUERY_MODIFIER_PARSERS.items() if token not in _FOREIGN_MODIFIERS
    }
    QUERY_MODIFIER_TOKENS: ClassVar[set[TokenType]] = set(QUERY_MODIFIER_PARSERS)
    # A keyword that ends a clause is no alias: `from a left join b`, `select a from t full join …`.
    ALIAS_TOKENS: ClassVar[set[TokenType]] = HiveParser.ALIAS_TOKENS - _RESERVED_ALIASES
    TABLE_ALIAS_TOKENS: ClassVar[set[TokenType]] = HiveParser.TABLE_ALIAS_TOKENS - _RESERVED_ALIASES
    OPTIONAL_ALIAS_TOKEN_CTE: ClassVar[bool] = False
    ADD_JOIN_ON_TRUE: ClassVar[bool] = False

    def raise_error(self, message: str, token: Any = None) -> NoReturn:
        raise SyntaxProblem(message, token or self._curr or None)

    def missing(self, what: str) -> NoReturn:
        """Raise the error that `what` was expected at the current token."""
        self.raise_error(f"{what} expected")

    def refuse(self, construct: str) -> NoReturn:
        """Raise the error that `construct`, begun before the current token, is not supported."""
        raise SyntaxProblem(f"{construct} is not supported", self._prev, is_unsupported=True)

    def parse_query(self) -> Any:
        """A query: SELECT, VALUES, or queries in parentheses, with what may follow each."""
        if not self._match(TokenType.L_PAREN, advance=False):
            return self._parse_select()
        query = self._parse_paren()
        if not isinstance(query, exp.Query):
            self.raise_error("a query in the parentheses expected", self._prev)
        return self._parse_query_modifiers(self._parse_set_operations(query))

    def _parse_statement(self) -> Any:
        return self.parse_query()

    def _parse_cte(self) -> Any:
        name = self._parse_id_var()
        if name is None:
            self.missing("a name after WITH")
        columns = self._parse_wrapped_id_vars() if self._match(TokenType.L_PAREN, advance=False) else None
        if not self._match(TokenType.ALIAS):
            self.missing("AS")
        query = self._parse_wrapped(self.parse_query)
        if not isinstance(query, exp.Query):
            self.raise_error("a query in the parentheses expected", self._prev)
        return self.expression(exp.CTE(this=query, alias=exp.TableAlias(this=name, columns=columns)))

    def _parse_cluster(self) -> Any:
        return self._parse_sort(exp.Cluster, TokenType.CLUSTER_BY)

    def _parse_csv(self, parse_method: Callable[[], Any], sep: TokenType = TokenType.COMMA) -> list[Any]:
        item = parse_method()
        items = [] if item is None else [item]
        while items and self._match(sep):
            if (item := parse_method()) is None:
                self.missing("an item after the comma")
            items.append(item)
        return items

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> Any:
        query = super()._parse_select_query(*args, **kwargs)
        selects = query if isinstance(query, exp.Select) else None
        if selects is not None and not selects.expressions:
            self.missing("a select list")
        return query

    def _parse_case(self) -> Any:
        start = self._index
        case = super()._parse_case()
        if isinstance(case, exp.Case):
            if not case.args.get("ifs"):
                self.missing("WHEN")
            if any(branch.args.get("true") is None for branch in case.args["ifs"]) or self._lacks_then(start):
                self.missing("THEN and a value after WHEN")
        return case

    def _lacks_then(self, start: int) -> bool:
        """Whether the CASE that began at token `start` has fewer THENs than WHENs."""
        span = self._tokens[start : self._index]
        whens = sum(token.token_type == TokenType.WHEN for token in span)
        return whens != sum(token.token_type == TokenType.THEN for token in span)

    def _parse_between(self, this: Any) -> Any:
        low = self._parse_bitwise()
        if low is None:
            self.missing("a lower bound after BETWEEN")
        if not self._match(TokenType.AND):
            self.missing("AND after the lower bound of BETWEEN")
        high = self._parse_bitwise()
        if high is None:
            self.missing("an upper bound of BETWEEN")
        return self.expression(exp.Between(this=this, low=low, high=high))

    def _parse_in(self, this: Any, alias: bool = False) -> Any:
        if not self._match(TokenType.L_PAREN, advance=False):
            self.missing('"(" after IN')
        result = super()._parse_in(this, alias)
        if not result.args.get("query") and not result.expressions:
            self.raise_error("a value expected in IN ()", self._prev)
        return result

    def _parse_place(self) -> Any:
        """position(part IN text), or position(part, text[, start]) as of locate."""
        part = self._parse_bitwise()
        if part is None:
            self.missing("an expression")
        if not self._match(TokenType.IN):
            self._match(TokenType.COMMA)
        return self.expression(exp.Anonymous(this="locate", expressions=[part, *self._parse_csv(self._parse_bitwise)]))

    def _parse_cast(self, strict: bool, safe: bool | None = None) -> Any:  # noqa: ARG002  overridden as declared
        this = self._parse_disjunction()
        if this is None:
            self.missing("an expression")
        if not self._match(TokenType.ALIAS):
            self.missing("AS and a type")
        to = self.parse_type_name()
        return self.expression(exp.Cast(this=this, to=to))

    def parse_type_name(self) -> Any:
        """A type as its text (in a Var): the types module knows the grammar of types."""
        first = self._curr
        if not first or first.token_type in (TokenType.R_PAREN, TokenType.COMMA):
            self.missing("a type")
        depth = 0
        while self._curr:
            text = self._curr.text
            if depth == 0 and self._index and self._curr is not first and not self._continues_type():
                break
            depth += sum((text.count("<"), text.count("("))) - sum((text.count(">"), text.count(")")))
            self._advance()
        name = exp.Var(this=self._find_sql(first, self._prev))
        return name.update_positions(first)

    def _continues_type(self) -> bool:
        """Whether the current token belongs to the type before it: `(`, `<`, or PRECISION after DOUBLE."""
        if self._curr.token_type in (TokenType.L_PAREN, TokenType.LT):
            return True
        return self._curr.text.upper() == "PRECISION"

    def build_cast(self, strict: bool, **kwargs: Any) -> Any:  # noqa: ARG002  overridden as declared
        """Numeric literals with a suffix come here: `1L` as CAST with the suffix as a Var."""
        if self._prev.text.upper() not in HiveQL.Tokenizer.NUMERIC_LITERALS:
            self.raise_error("CAST expected instead of ::", self._prev)
        return self.expression(exp.Cast(this=kwargs["this"], to=exp.Var(this="#" + self._prev.text.lower())))

    def _parse_joins(self, alias_tokens: Any = None) -> Iterator[Any]:
        """Joins and lateral views in the order written; both end up in the `joins` of the query."""
        while True:
            item = self._parse_lateral() or self._parse_join(alias_tokens=alias_tokens)
            if item is None:
                return
            yield item

    def _parse_join(self, *args: Any, **kwargs: Any) -> Any:
        comma = self._curr if self._match(TokenType.COMMA, advance=False) else None
        join = super()._parse_join(*args, **kwargs)
        if comma and join is None:
            self.missing("a table after the comma")
        return join

    def _parse_limit(self, this: Any = None, top: bool = False, skip_limit_token: bool = False) -> Any:
        return this if top else super()._parse_limit(this, top, skip_limit_token)

    def _parse_group(self, skip_group_by_token: bool = False) -> Any:
        group = super()._parse_group(skip_group_by_token)
        if group is not None and not any(group.args.values()):
            self.missing("an expression after GROUP BY")
        return group

    def _parse_into(self) -> Any:
        return None

    def _parse_pivots(self) -> Any:
        return None

    def _parse_window_spec(self) -> Any:
        spec = super()._parse_window_spec()
        if spec["value"] is None:
            self.missing("a bound of the window frame")
        if spec["value"] != "CURRENT ROW" and spec["side"] is None:
            self.missing("PRECEDING or FOLLOWING")
        return spec

    def _parse_interval(self, *_args: Any, **_kwargs: Any) -> Any:
        """INTERVAL value unit [TO unit], with units as they are written."""
        if not self._match(TokenType.INTERVAL):
            return None
        if self._curr.token_type in (TokenType.STRING, TokenType.NUMBER):
            value = self._parse_primary()
        elif self._curr.token_type in (TokenType.L_PAREN, TokenType.DASH):
            value = self._parse_unary()
        else:
            self._retreat(self._index - 1)
            return None
        unit = self._interval_unit()
        if self._match_text_seq("TO"):
            unit += " TO " + self._interval_unit()
        return self.expression(exp.Interval(this=value, unit=exp.Var(this=unit)))

    def _interval_unit(self) -> str:
        unit = str(self._curr.text.upper())
        if unit.removesuffix("S") not in INTERVAL_UNITS:
            self.missing("a unit of time (year, month, day, hour, minute, second)")
        self._advance()
        return unit.removesuffix("S")


class HiveQL(Hive):
    """The dialect. Suffixes of numbers become casts, types are left as text."""

    class Tokenizer(Hive.Tokenizer):
        # What sqlglot swallows whole as opaque commands is tokenised like everything else.
        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            text: TokenType.VAR if token == TokenType.COMMAND else token
            for text, token in Hive.Tokenizer.KEYWORDS.items()
            if " " not in text or token != TokenType.COMMAND
        }

    Parser = HiveQLParser


DIALECT = HiveQL()


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`; sqlglot's TokenError where a quote or comment does not end."""
    return DIALECT.tokenize(text)
