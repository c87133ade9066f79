"""Grammar of FROM: joins and lateral views, VALUES, TABLESAMPLE, PIVOT and UNPIVOT."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from sharkpy.base.parse_limits import whole_number
from sharkpy.catalog.file_options import FileOptions
from sharkpy.sql.grammar.file_readers import FILE_OPTIONS, is_reader, table_of_files
from sharkpy.sql.grammar.literal_parser import LiteralList
from sharkpy.sql.grammar.long_text import LITERAL_LIST
from sharkpy.sql.grammar.strict_parser import StrictParser, SyntaxProblem

_ROW_STARTS = (
    *(TokenType.L_PAREN, TokenType.NUMBER, TokenType.STRING, TokenType.DASH, TokenType.NULL, TokenType.VAR),
    LITERAL_LIST,
)
_ENDS_OF_JOINS = (
    *(TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.QUALIFY, TokenType.ORDER_BY),
    *(TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.SORT_BY, TokenType.LIMIT, TokenType.COMMA),
    *(TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.LATERAL, TokenType.INSERT),
)
_OPTION_NAMES = (TokenType.STRING, TokenType.VAR, TokenType.IDENTIFIER)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
STATE = "state"
"""Key in the tree of a table that marks its state as the source."""
_BYTES = re.compile(r"(\d{1,38})([bkmg])", re.ASCII | re.IGNORECASE)
_VERSION = re.compile(r"v(\d{1,19})", re.ASCII | re.IGNORECASE)
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class RelationParser(StrictParser):
    ADD_JOIN_ON_TRUE: ClassVar[bool] = False
    VERSION_PHRASES: ClassVar[dict[tuple[str, ...], str]] = {
        **StrictParser.VERSION_PHRASES,
        ("FOR", "SYSTEM_VERSION"): "VERSION",
    }

    def _parse_joins(self, alias_tokens: Any = None) -> Iterator[Any]:
        """Parse joins and lateral views in written order. Both end up in the `joins` of the query."""
        while True:
            item = self._parse_lateral() or self._parse_join(alias_tokens=alias_tokens)
            if item is None:
                return
            yield item

    def _parse_join(self, *_args: Any, alias_tokens: Any = None, **_kwargs: Any) -> Any:
        """Parse `, table`, or [NATURAL] [side] [kind] JOIN table [ON … | USING (…)]; None if neither follows."""
        if self._match(TokenType.COMMA):
            table = self._parse_joined_table("a table after the comma", alias_tokens)
            return self.expression(exp.Join(this=table, kind="CROSS"))
        start = self._index
        words = self._parse_join_parts()
        if not self._match(TokenType.JOIN):
            self._retreat(start)
            return None
        table = self._parse_joined_table("a table after JOIN", alias_tokens)
        method, side, kind = (None if word is None else word.text.upper() for word in words)
        join = exp.Join(this=table, method=method, side=side, kind=kind)
        if self._has_own_condition(self._index):
            # a JOIN b JOIN c ON … ON …: the first ON belongs to the last JOIN.
            if nested := list(self._parse_joins(alias_tokens)):
                table.set("joins", nested)
            if self._match(TokenType.ON):
                join.set("on", self.required(self._parse_disjunction, "a condition after ON"))
            elif self._match(TokenType.USING):
                join.set("using", self._parse_using_identifiers())
        return self.expression(join)

    def _parse_joined_table(self, what: str, alias_tokens: Any) -> Any:
        token_type = self._curr.token_type if self._curr else TokenType.R_PAREN
        if token_type in (*_ENDS_OF_JOINS, TokenType.R_PAREN, TokenType.ON) and token_type != TokenType.LATERAL:
            self.missing(what)
        return self.required(lambda: self._parse_table(alias_tokens=alias_tokens), what)

    def _has_own_condition(self, index: int) -> bool:
        """Return whether an ON or USING from token `index` on belongs to the join before it.

        Each condition belongs to the last join that has none.
        """
        wanted, depth = 1, 0
        for place in range(index, len(self._tokens)):
            token_type = self._tokens[place].token_type
            depth += (token_type == TokenType.L_PAREN) - (token_type == TokenType.R_PAREN)
            if depth < 0 or (depth == 0 and token_type in _ENDS_OF_JOINS):
                return False
            if depth == 0 and token_type == TokenType.JOIN:
                wanted += 1
            elif depth == 0 and token_type in (TokenType.ON, TokenType.USING):
                wanted -= 1
                if wanted == 0:
                    return True
        return False

    def _parse_using_identifiers(self) -> list[Any]:
        if not self._match(TokenType.L_PAREN, advance=False):
            self.missing('"(" after USING')
        return self._parse_wrapped_id_vars() or self.raise_error("a column expected in USING ()", self._prev)

    def _parse_lateral(self) -> Any:
        lateral = super()._parse_lateral()
        if lateral is None:
            return None
        if lateral.this is None:
            self.missing("a table function after LATERAL VIEW")
        if lateral.args.get("view"):
            if lateral.args["alias"].this is None:
                self.missing("a name for the lateral view")
            if self._prev.token_type == TokenType.ALIAS:
                self.missing("a column name after AS")
        return lateral

    def _parse_table_alias(self, alias_tokens: Any = None) -> Any:
        has_as = self._match(TokenType.ALIAS, advance=False)
        last, start = self._prev, self._curr
        alias = super()._parse_table_alias(alias_tokens)
        if has_as and (alias is None or alias.this is None):
            self.missing("a name after AS")
        if alias is not None:
            self.check_apart(last, start)
        return alias

    def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
        if self._curr.token_type == TokenType.VAR and self._curr.text.upper() == "UNIQUEJOIN":
            self._advance()
            self.refuse("UNIQUEJOIN")
        if not self._is_state():
            return super()._parse_table(*args, **kwargs)
        self._advance(2)
        table = self.required(lambda: self._parse_table(*args, **kwargs), "a continuous table after STATE OF")
        if not isinstance(table, exp.Table):
            self.missing("a continuous table after STATE OF")
        table.set(STATE, exp.true())
        return table

    def _parse_table_parts(self, *args: Any, **kwargs: Any) -> Any:
        """Parse [database.]table. `t$name` is `t.name`, a metadata table of a lake table."""
        if self._match(TokenType.DOT, advance=False):
            self.missing("a table")
        table = super()._parse_table_parts(*args, **kwargs)
        if is_reader(table):
            table = table_of_files(table, self._prev)
        elif isinstance(table, exp.Table) and self._has_options(table):
            table.set(FILE_OPTIONS, FileOptions(tuple(self._parse_file_options())))
        if self._is_sign("$") and isinstance(table, exp.Table):
            self._advance()
            name = self._parse_connected_name("a name of facts right after $")
            table = self.expression(exp.Table(this=name, db=table.this, catalog=table.args.get("db")))
        if self._match(TokenType.STAR, advance=False):
            self.raise_error("an alias or a clause expected")
        return table

    def _has_options(self, table: exp.Table) -> bool:
        """Return whether OPTIONS (name = value, …) follows a path. An alias with columns has commas or one name."""
        if (
            not table.this.args.get("quoted")
            or self._curr.text.upper() != "OPTIONS"
            or not self._is_next(1, TokenType.L_PAREN)
        ):
            return False
        return not (self._is_next(3, TokenType.COMMA) or self._is_next(3, TokenType.R_PAREN))

    def _is_next(self, count: int, token_type: TokenType) -> bool:
        place = self._index + count
        return place < len(self._tokens) and self._tokens[place].token_type == token_type

    def _parse_file_options(self) -> Iterator[tuple[str, str]]:
        """Parse the options of OPTIONS (…)."""
        self._advance(2)
        while True:
            if self._curr.token_type not in _OPTION_NAMES and not self._curr.text.isidentifier():
                self.missing("the name of an option")
            name = self._curr.text
            self._advance()
            self._match(TokenType.EQ)
            if self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN, TokenType.SENTINEL):
                self.missing(f"a value of {name}")
            yield name, self._curr.text
            self._advance()
            if self._match(TokenType.R_PAREN):
                return
            if not self._match(TokenType.COMMA):
                self.missing('"," or ")"')

    def _parse_version(self) -> Any:
        """Parse VERSION | TIMESTAMP AS OF …. `t@v1` is `t VERSION AS OF 1`."""
        if not self._is_sign("@"):
            return super()._parse_version()
        self._advance()
        name = self._parse_connected_name("a version right after @")
        if not (found := _VERSION.fullmatch(name.name)):
            raise SyntaxProblem("a version like @v1 expected", self._prev, hint="FOR SYSTEM_TIME AS OF names a moment")
        number = exp.Literal.number(found[1])
        return self.expression(exp.Version(this="VERSION", expression=number, kind="AS OF"))

    def _is_sign(self, sign: str) -> bool:
        """Return whether this sign comes next, right after a name."""
        return self._curr.token_type == TokenType.PARAMETER and self._curr.text == sign and self._is_connected()

    def _is_state(self) -> bool:
        """Return whether STATE OF name comes next. A table `state` with the alias `of` has no name after it."""
        words = [token.text.upper() for token in self._tokens[self._index : self._index + 2]]
        behind = self._tokens[self._index + 2 : self._index + 3]
        return words == ["STATE", "OF"] and any(one.token_type in _NAMES for one in behind)

    def _parse_derived_table_values(self, *args: Any, **kwargs: Any) -> Any:
        """Parse VALUES rows. `values` may also be a column, and `(VALUES …)` is a query in parentheses."""
        is_rows = self._match(TokenType.VALUES, advance=False) and self._next.token_type in _ROW_STARTS
        return super()._parse_derived_table_values(*args, **kwargs) if is_rows else None

    def _parse_value(self, values: bool = True) -> Any:  # noqa: ARG002  overridden as declared
        """Parse a row of VALUES: (value, …), or a single value. Many rows of literals are one LiteralList."""
        value = self._parse_disjunction()
        if value is None:
            self.missing("a row of values")
        if isinstance(value, LiteralList):
            return value
        if isinstance(value, exp.Tuple):
            return value if value.expressions else self.raise_error("a value expected in ()", self._prev)
        return self.expression(exp.Tuple(expressions=[value.unnest()]))

    def _parse_subquery(self, this: Any, parse_alias: bool = True) -> Any:
        sample = self._parse_table_sample() if this is not None and parse_alias else None
        subquery = super()._parse_subquery(this, parse_alias)
        if sample is not None and subquery is not None:
            if subquery.args.get("sample"):
                self.raise_error("one TABLESAMPLE expected", self._prev)
            subquery.set("sample", sample)
        return subquery

    def _parse_table_sample(self, as_modifier: bool = False) -> Any:  # noqa: ARG002  overridden as declared
        """Parse TABLESAMPLE (n PERCENT | n ROWS | nB|K|M|G | BUCKET x OUT OF y [ON expr, …]) [REPEATABLE (seed)]."""
        if not self._match(TokenType.TABLE_SAMPLE):
            return None
        start = self._prev
        sample = self.in_parentheses(self._parse_sample_size)
        if self._match_text_seq("REPEATABLE"):
            sample.set("seed", self.in_parentheses(lambda: self.whole_number("a whole number")))
        return sample.update_positions(start)

    def _parse_sample_size(self) -> exp.TableSample:
        if self._match_text_seq("BUCKET"):
            return self._parse_bucket()
        if (size := self._parse_byte_length()) is not None:
            return exp.TableSample(size=size)
        number = self._curr.text
        if not self._match(TokenType.NUMBER):
            self.missing("a number of ROWS, PERCENT or bytes, or BUCKET")
        if self._match(TokenType.PERCENT):
            return exp.TableSample(percent=number)
        if not self._match(TokenType.ROWS):
            self.missing("ROWS or PERCENT")
        if (rows := whole_number(number)) is None:
            self.raise_error("a whole number of ROWS expected", self._prev)
        return exp.TableSample(rows=rows)

    def _parse_byte_length(self) -> int | None:
        """Parse `100M`, which the tokenizer reads as a name that starts with a digit, or as a number and a name."""
        text, count = self._curr.text, 1
        if self._curr.token_type == TokenType.NUMBER and self._next and self._next.start == self._curr.end + 1:
            text, count = text + self._next.text, 2
        if not (match := _BYTES.fullmatch(text)):
            return None
        self._advance(count)
        return int(match[1]) * _UNITS[match[2].lower()]

    def _parse_bucket(self) -> exp.TableSample:
        numerator = self.whole_number("the number of a bucket")
        self.expect("OUT", "OF")
        denominator = self.whole_number("a number of buckets")
        columns = None
        if self._match(TokenType.ON):
            columns = self._parse_csv(self._parse_bitwise) or self.missing("an expression after ON")
        return exp.TableSample(bucket_numerator=numerator, bucket_denominator=denominator, expressions=columns)

    def _parse_pivots(self) -> Any:
        pivots = []
        while self._match_set((TokenType.PIVOT, TokenType.UNPIVOT)):
            start = self._prev
            parse = self._parse_pivot_clause if start.token_type == TokenType.PIVOT else self._parse_unpivot_clause
            pivot = parse()
            pivot.set("alias", self._parse_table_alias())
            pivots.append(pivot.update_positions(start))
        return pivots or None

    def _parse_pivot_clause(self) -> exp.Pivot:
        """Parse PIVOT (aggregate [[AS] name], … FOR column|(column, …) IN (value [[AS] name], …))."""

        def clause() -> exp.Pivot:
            aggregates = self._parse_csv(self._parse_aliased)
            if not aggregates:
                self.missing("an aggregate")
            columns = self._parse_for()
            self.expect("IN")
            values = self.in_parentheses(lambda: self._parse_csv(self._parse_aliased))
            if not values:
                self.raise_error("a value expected in IN ()", self._prev)
            return exp.Pivot(expressions=aggregates, fields=[exp.In(this=columns, expressions=values)])

        return self.in_parentheses(clause)  # type: ignore[no-any-return]

    def _parse_unpivot_clause(self) -> exp.Pivot:
        """Parse UNPIVOT [INCLUDE|EXCLUDE NULLS] (value|(value, …) FOR name IN (column|(column, …) [[AS] name], …))."""
        keeps_nulls = bool(self._match_text_seq("INCLUDE", "NULLS"))
        if not keeps_nulls:
            self._match_text_seq("EXCLUDE", "NULLS")

        def clause() -> exp.Pivot:
            values = self._parse_names()
            if not self._match(TokenType.FOR):
                self.missing("FOR")
            name = self.required(self._parse_id_var, "a column name")
            self.expect("IN")
            columns = self.in_parentheses(lambda: self._parse_csv(self._parse_aliased))
            if not columns:
                self.raise_error("a column expected in IN ()", self._prev)
            field = exp.In(this=name, expressions=columns)
            return exp.Pivot(expressions=values, fields=[field], unpivot=True, include_nulls=keeps_nulls)

        return self.in_parentheses(clause)  # type: ignore[no-any-return]

    def _parse_aliased(self) -> Any:
        """Parse an expression and its name, if it has one."""
        value = self._parse_bitwise()
        if value is None:
            return None
        has_as = self._match(TokenType.ALIAS)
        name = self._parse_id_var(any_token=False, tokens=self.ALIAS_TOKENS - {TokenType.FOR})
        if has_as and name is None:
            self.missing("a name after AS")
        return value if name is None else self.expression(exp.Alias(this=value, alias=name))

    def _parse_for(self) -> Any:
        if not self._match(TokenType.FOR):
            self.missing("FOR")
        return self.required(self._parse_bitwise, "a column")

    def _parse_names(self) -> list[Any]:
        if self._match(TokenType.L_PAREN, advance=False):
            return self._parse_wrapped_id_vars()
        return [self.required(self._parse_id_var, "a column name")]
