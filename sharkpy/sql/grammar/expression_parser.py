"""Grammar of expressions: no part may be missing, and functions keep their names.

Some calls have words between their arguments: FLOOR(x TO unit), TRIM(BOTH a FROM b), SUBSTRING(a FROM b FOR c),
OVERLAY.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.hive import HiveParser
from sqlglot.tokenizer_core import TokenType

from sharkpy.sql.grammar.literal_parser import LiteralParser
from sharkpy.sql.grammar.script_parser import SCRIPT_WORDS

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


_FOREIGN_RANGES = (
    TokenType.AT_GT,
    TokenType.GLOB,
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

_SHIFTS = {"<<": "shiftleft", ">>>": "shiftrightunsigned", ">>": "shiftright"}
"""Operator -> its function. Longer operators come before their prefixes."""
_JSON_NAME = re.compile(r"[A-Za-z0-9_-]+")
_LITERALS = (TokenType.NUMBER, TokenType.STRING)
_ENDS_OF_ITEMS = (TokenType.COMMA, TokenType.R_PAREN)
_NESTED_TYPES = (TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT)


class ExpressionParser(LiteralParser):
    # No function is translated: each becomes Anonymous with the name as written.
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CAST": lambda self: self._parse_cast(True),
        "EXTRACT": lambda self: self._parse_extract(),
        "POSITION": lambda self: self._parse_place(),
        "TRANSFORM": lambda self: self._parse_transform_call(),
        **CALL_SYNTAX,
    }
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        token: HiveParser.COLUMN_OPERATORS[token] for token in (TokenType.DOT, TokenType.DCOLON)
    }
    LAMBDAS: ClassVar[dict[TokenType, Any]] = {
        TokenType.ARROW: lambda self, names: self._parse_lambda_body(names),
    }
    # array(1, 2)[0] is an item of an array, not an array type applied to a list.
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CASE": lambda self: self._parse_case(),
    }
    # Hive's ^ binds tighter than *; the operators of `_parse_bitwise` bind less tightly than +.
    EXPONENT: ClassVar[dict[TokenType, Any]] = {TokenType.CARET: exp.BitwiseXor}
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **{token: parser for token, parser in HiveParser.RANGE_PARSERS.items() if token not in _FOREIGN_RANGES},
        TokenType.LIKE: lambda self, this: self._parse_like(this),
        TokenType.ILIKE: lambda self, this: self._parse_ilike(this),
    }

    def _parse_disjunction(self) -> Any:
        """Parse an expression. A literal followed by a comma or ")" skips the grammar of operators."""
        if self._curr.token_type in _LITERALS and self._next.token_type in _ENDS_OF_ITEMS:
            self._advance()
            return self.PRIMARY_PARSERS[self._prev.token_type](self, self._prev)
        return super()._parse_disjunction()

    def _parse_bitwise(self) -> Any:
        """Parse the operators between + and comparisons, the tightest first: ||, shifts, &, |."""
        return self._left_to_right(self._parse_bitwise_and, TokenType.PIPE, exp.BitwiseOr)

    def _left_to_right(self, operand: Callable[[], Any], sign: TokenType, kind: type[exp.Binary]) -> Any:
        this = operand()
        while self._match(sign):
            this = self.expression(kind(this=this, expression=operand()))
        return this

    def _parse_bitwise_and(self) -> Any:
        return self._left_to_right(self._parse_shift, TokenType.AMP, exp.BitwiseAnd)

    def _parse_shift(self) -> Any:
        """Parse a << b, a >> b, a >>> b as calls of the shift functions."""
        this = self._parse_concatenation()
        while sign := self._shift_sign():
            self._advance(len(sign))
            count = self.required(self._parse_concatenation, f"an operand of {sign}")
            this = self.expression(exp.Anonymous(this=_SHIFTS[sign], expressions=[this, count]))
        return this

    def _shift_sign(self) -> str | None:
        """Return the shift operator that the next tokens form, without spaces between them; else None."""
        if not self._curr or self._curr.token_type not in (TokenType.LT, TokenType.GT):
            return None
        ends = {sign: self._index + len(sign) - 1 for sign in _SHIFTS}
        return next(
            (
                sign
                for sign, end in ends.items()
                if end < len(self._tokens) and self._find_sql(self._curr, self._tokens[end]) == sign
            ),
            None,
        )

    def _parse_concatenation(self) -> Any:
        return self._left_to_right(self._parse_term, TokenType.DPIPE, exp.DPipe)

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
        """Return whether the CASE that began at token `start` has fewer THENs than WHENs."""
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

    def _parse_like(self, this: Any) -> Any:
        """Parse value LIKE pattern [ESCAPE 'c'] | ANY (pattern, …) | ALL (pattern, …)."""
        if self._match_set((TokenType.ANY, TokenType.SOME, TokenType.ALL), advance=False):
            quantifier = exp.All if self._curr.token_type == TokenType.ALL else exp.Any
            self._advance()
            patterns = self.in_parentheses(lambda: self._parse_csv(self._parse_bitwise))
            if not patterns:
                self.raise_error("a pattern expected in ()", self._prev)
            return self.expression(exp.Like(this=this, expression=quantifier(this=exp.Tuple(expressions=patterns))))
        pattern = self.required(self._parse_bitwise, "a pattern after LIKE")
        return self._parse_escape(self.expression(exp.Like(this=this, expression=pattern)))

    def _parse_ilike(self, this: Any) -> Any:
        """Parse value ILIKE … as LIKE with both sides in lower case."""
        found = self._parse_like(self.expression(exp.Anonymous(this="lower", expressions=[this])))
        like = found.this if isinstance(found, exp.Escape) else found
        choices = like.expression.this
        for pattern in choices.expressions if isinstance(choices, exp.Tuple) else [like.expression]:
            if pattern.is_string:
                pattern.set("this", pattern.this.lower())
            else:
                pattern.replace(exp.Anonymous(this="lower", expressions=[pattern.copy()]))
        return found

    def _parse_place(self) -> Any:
        """Parse position(part IN text), or position(part, text[, start]), as a call of locate."""
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
        """Parse a type as text, in a Var. The module of types has the grammar of types."""
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
        """Return whether the current token belongs to the type before it: `(`, `<`, or PRECISION after DOUBLE."""
        if self._curr.token_type in (TokenType.L_PAREN, TokenType.LT):
            return True
        return self._curr.text.upper() == "PRECISION"

    def _parse_dcolon(self) -> Any:
        """Parse the type after `::`, like the type of CAST.

        The tokenizer also puts `::` before the suffix of a number.
        """
        is_written = self._find_sql(self._prev, self._prev) == "::"
        return self.parse_type_name() if is_written else super()._parse_dcolon()

    def build_cast(self, strict: bool, **kwargs: Any) -> Any:  # noqa: ARG002  overridden as declared
        """Build the cast of `x::type`, and of a number with a suffix: `1L` is a CAST with the suffix as a Var."""
        if isinstance(kwargs["to"], exp.Var):
            return self.expression(exp.Cast(this=kwargs["this"], to=kwargs["to"]))
        return self.expression(exp.Cast(this=kwargs["this"], to=exp.Var(this="#" + self._prev.text.lower())))

    def _parse_lambda(self, alias: bool = False) -> Any:
        """Parse an argument of a function: an expression, DISTINCT expressions, or a lambda such as `(x, y) -> …`."""
        if self._is_lambda():
            names = self._parse_wrapped_id_vars() if self._match(TokenType.L_PAREN, advance=False) else None
            names = names or [self.required(self._parse_id_var, "a name")]
            self._advance()
            body = self.required(self._parse_disjunction, "an expression after ->")
            return self.expression(exp.Lambda(this=body, expressions=names))
        if self._match(TokenType.DISTINCT):
            values = self._parse_csv(self._parse_disjunction) or self.missing("an expression after DISTINCT")
            this: Any = self.expression(exp.Distinct(expressions=values))
        else:
            has_all = self._match(TokenType.ALL)
            this = self._parse_select_or_expression(alias=alias)
            if has_all and this is None:
                self.missing("an expression after ALL")
        this = self._parse_respect_or_ignore_nulls(this)
        return self._parse_respect_or_ignore_nulls(self._parse_order(this))

    def _is_lambda(self) -> bool:
        if self._match(TokenType.L_PAREN, advance=False):
            return self._type_at(self._closing(self._index) + 1) == TokenType.ARROW
        return self._type_at(self._index + 1) == TokenType.ARROW

    def _parse_transform_call(self) -> Any:
        """Parse the function transform(array, x -> …). With USING after it, TRANSFORM is a script."""
        if self._text_at(self._closing(self._index - 1) + 1) in SCRIPT_WORDS:
            self.refuse("TRANSFORM with other items in a select list")
        return self.expression(exp.Anonymous(this="transform", expressions=self._parse_csv(self._parse_lambda)))

    def _parse_column(self) -> Any:
        """Parse a column. `text:path` is the value at a path in JSON, as in `get_json_object`."""
        column = super()._parse_column()
        is_colon = self._match(TokenType.COLON, advance=False) and self._is_connected()
        is_path = is_colon and self._next and self._next.start == self._curr.end + 1
        if not is_path or not isinstance(column, (exp.Column, exp.Dot, exp.Bracket)):
            return column
        self._advance()
        path = exp.Literal.string(f"${self._parse_json_path()}")
        return self._parse_column_ops(
            self.expression(exp.Anonymous(this="get_json_object", expressions=[column, path]))
        )

    def _parse_json_path(self) -> str:
        """Parse name | [number | 'name' | *], repeated, with a dot before further names."""
        steps: list[str] = []
        while True:
            if self._match(TokenType.L_BRACKET):
                if not self._match_set((TokenType.NUMBER, TokenType.STRING, TokenType.STAR)):
                    self.missing("a number, a name in quotes or * in []")
                is_name = self._prev.token_type == TokenType.STRING
                steps.append(self._json_step(self._prev.text) if is_name else f"[{self._prev.text}]")
                if not self._match(TokenType.R_BRACKET):
                    self.missing('"]"')
            elif not steps or self._match(TokenType.DOT):
                steps.append(self._json_step(self._parse_connected_name("a name in a path of JSON").name))
            else:
                return "".join(steps)

    def _json_step(self, name: str) -> str:
        if not _JSON_NAME.fullmatch(name):
            self.raise_error(f'"{name}" may not be in a path of JSON: letters, digits, _ and - expected', self._prev)
        return f".{name}"

    def _parse_types(self, *args: Any, **kwargs: Any) -> Any:
        """Parse a type. `array(NULL, 'a')` is a call: after the types ARRAY, MAP and STRUCT comes `<`."""
        if self._curr.token_type in _NESTED_TYPES and self._type_at(self._index + 1) == TokenType.L_PAREN:
            return None
        return super()._parse_types(*args, **kwargs)
