"""Reads expressions in Hive's spelling and lowers them through the registry: what the binder does, in small.

The same text goes to Spark SQL for comparison. Literals: 1 1L 1S 1Y 1.5 (decimal) 1.5D 'text' DATE '…'
TIMESTAMP '…' INTERVAL 'n' unit NULL true false; CAST, CASE, function calls, infix operators, a[i], s.name.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from sharkpy.udf import registry
from sharkpy.udf.casts import lower_cast
from sharkpy.udf.duckdb_sql import lower_literal
from sharkpy.udf.lower import lower_complete, lower_scalar
from sharkpy.values import types as T  # noqa: N812 - a table of types is clearer short
from sharkpy.values.type_parser import parse_type

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:BD|[LSYDF])?\b)|(?P<string>'(?:[^'\\]|\\.|'')*')"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<symbol><=>|<>|<=|>=|!=|\|\||[-+*/%=<>(),.\[\]&|^~]))"
)
_BINARY = {
    "OR": (1, "or"),
    "AND": (2, "and"),
    "=": (4, "eq"),
    "<=>": (4, "eq_null_safe"),
    "<>": (4, "ne"),
    "!=": (4, "ne"),
    "<": (4, "lt"),
    "<=": (4, "le"),
    ">": (4, "gt"),
    ">=": (4, "ge"),
    "LIKE": (4, "like"),
    "RLIKE": (4, "rlike"),
    "|": (5, "bit_or"),
    "^": (6, "bit_xor"),
    "&": (7, "bit_and"),
    "||": (8, "concat"),
    "+": (9, "add"),
    "-": (9, "subtract"),
    "*": (10, "multiply"),
    "/": (10, "divide"),
    "%": (10, "mod"),
    "DIV": (10, "div"),
}
_SUFFIX = {"L": T.BIGINT, "S": T.SMALLINT, "Y": T.TINYINT, "D": T.DOUBLE, "F": T.FLOAT}
_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


@dataclass(frozen=True)
class Typed:
    sql: str
    dtype: T.DataType
    value: object = None


def literal(value: object, dtype: T.DataType) -> Typed:
    return Typed(lower_literal(value, dtype), dtype, value)


def cast(expr: Typed, target: T.DataType) -> Typed:
    if expr.dtype == T.NULL:
        return literal(None, target)
    if expr.dtype == target:
        return expr
    integral = target in T.INTEGER_TYPES and isinstance(expr.value, int)
    if integral:
        return literal(expr.value, target)
    return Typed(lower_cast(expr.sql, expr.dtype, target), target, expr.value)


def call(name: str, *args: Typed) -> Typed:
    """A scalar call, arguments cast as the row wants."""
    row = registry.scalar(name)
    assert row is not None, name
    wanted = row.arguments([arg.dtype for arg in args])
    assert wanted is not None, (name, [str(arg.dtype) for arg in args])
    taken = [cast(arg, dtype) for arg, dtype in zip(args, wanted, strict=True)]
    values = [arg.value for arg in taken]
    result = row.result(wanted) if row.literal_result is None else row.literal_result(wanted, values)
    return Typed(lower_scalar(row, [arg.sql for arg in taken], wanted, result), result)


def aggregate(name: str, *args: Typed, distinct: bool = False, over: str = "") -> Typed:
    row = registry.aggregate_of(name, [arg.dtype for arg in args])
    assert row is not None, name
    wanted = row.arguments([arg.dtype for arg in args])
    assert wanted is not None, name
    taken = [cast(arg, dtype).sql for arg, dtype in zip(args, wanted, strict=True)]
    result = row.result(wanted)
    return Typed(lower_complete(row, taken, wanted, result, distinct=distinct, over=over), result)


def lower(text: str, columns: dict[str, T.DataType] | None = None) -> Typed:
    """`text` lowered; names of `columns` are columns of those types."""
    return _Reader(text, columns or {}).read()


def lower_arguments(text: str, columns: dict[str, T.DataType]) -> list[Typed]:
    """The arguments of a call, each lowered; `text` goes on after its parenthesis."""
    return _Reader(text, columns).arguments(")")


class _Reader:
    def __init__(self, text: str, columns: dict[str, T.DataType]) -> None:
        self.tokens = list(_TOKEN.finditer(text))
        self.text = text
        self.columns = columns
        self.position = 0

    def read(self) -> Typed:
        result = self.expression(0)
        assert self.position == len(self.tokens), (self.text, self.position)
        return result

    def peek(self) -> str:
        if self.position >= len(self.tokens):
            return ""
        return self.tokens[self.position].group(0).strip()

    def next(self) -> str:
        self.position += 1
        return self.tokens[self.position - 1].group(0).strip()

    def accept(self, word: str) -> bool:
        if self.peek().upper() == word:
            self.position += 1
            return True
        return False

    def expect(self, word: str) -> None:
        assert self.accept(word), (self.text, word, self.peek())

    def expression(self, level: int) -> Typed:
        left = self.unary(level)
        while True:
            word = self.peek().upper()
            if word == "IS" and level <= 3:
                self.next()
                negated = self.accept("NOT")
                self.expect("NULL")
                left = call("is_not_null" if negated else "is_null", left)
            elif word == "IN" and level <= 3:
                self.next()
                self.expect("(")
                left = call("in", left, *self.arguments(")"))
            elif word == "BETWEEN" and level <= 3:
                self.next()
                low = self.expression(4)
                self.expect("AND")
                left = call("between", left, low, self.expression(4))
            elif word in _BINARY and _BINARY[word][0] > level:
                self.next()
                left = call(_BINARY[word][1], left, self.expression(_BINARY[word][0]))
            else:
                return left

    def unary(self, level: int) -> Typed:
        if self.accept("NOT"):
            return call("not", self.expression(3))
        if self.accept("-"):
            operand = self.expression(10)
            if isinstance(operand.value, (int, float, Decimal)) and not isinstance(operand.value, bool):
                return literal(-operand.value, operand.dtype)
            return call("negate", operand)
        if self.accept("~"):
            return call("bit_not", self.expression(10))
        result = self.primary()
        while self.peek() in ("[", "."):
            if self.next() == "[":
                result = call("element_at", result, self.expression(0))
                self.expect("]")
            else:
                result = call("field", result, literal(self.next(), T.STRING))
        return result

    def arguments(self, end: str) -> list[Typed]:
        found: list[Typed] = []
        while not self.accept(end):
            found.append(self.expression(0))
            self.accept(",")
        return found

    def primary(self) -> Typed:
        token = self.tokens[self.position]
        word = self.next()
        if token.lastgroup == "number":
            return _number(word)
        if token.lastgroup == "string":
            return literal(_unquote(word), T.STRING)
        if word == "(":
            inner = self.expression(0)
            self.expect(")")
            return inner
        special: dict[str, Callable[[], Typed]] = {
            "NULL": lambda: literal(None, T.NULL),
            "TRUE": lambda: literal(True, T.BOOLEAN),
            "FALSE": lambda: literal(False, T.BOOLEAN),
            "CASE": self.case,
            "INTERVAL": self.interval,
        }
        if word.upper() in special:
            return special[word.upper()]()
        if word.upper() in ("DATE", "TIMESTAMP") and self.peek().startswith("'"):
            text = _unquote(self.next())
            if word.upper() == "DATE":
                return literal(datetime.date.fromisoformat(text), T.DATE)
            return literal(datetime.datetime.fromisoformat(text), T.TIMESTAMP)
        if not self.accept("("):
            return Typed(f'"{word}"', self.columns[word])
        if word.upper() == "CAST":
            operand = self.expression(0)
            self.expect("AS")
            target = parse_type(self.type_text())
            return Typed(lower_cast(operand.sql, operand.dtype, target), target)
        return call(word, *self.arguments(")"))

    def type_text(self) -> str:
        depth, text = 0, ""
        while depth or self.peek() != ")":
            word = self.next()
            depth += (word == "(") - (word == ")")
            text += word
        self.next()
        return text.replace("STRUCT<", "struct<")

    def case(self) -> Typed:
        args = []
        while self.accept("WHEN"):
            args.append(self.expression(0))
            self.expect("THEN")
            args.append(self.expression(0))
        args.append(self.expression(0) if self.accept("ELSE") else literal(None, T.NULL))
        self.expect("END")
        return call("case_when", *args)

    def interval(self) -> Typed:
        count, unit = int(_unquote(self.next())), self.next().lower()
        if unit in ("year", "month"):
            return literal(count * (12 if unit == "year" else 1), T.INTERVAL_YEAR_MONTH)
        return literal(count * _MICROS[unit], T.INTERVAL_DAY_TIME)


def _unquote(text: str) -> str:
    body = text[1:-1].replace("''", "'")
    return re.sub(
        r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "%": "\\%", "_": "\\_"}.get(m[1], m[1]), body
    )


def _number(text: str) -> Typed:
    if text.endswith("BD"):
        text = text[:-2]
        return _decimal(text)
    suffix = _SUFFIX.get(text[-1])
    if suffix is not None:
        number = text[:-1]
        return literal(float(number) if suffix in (T.DOUBLE, T.FLOAT) else int(number), suffix)
    if "e" in text.lower():
        return literal(float(text), T.DOUBLE)
    if "." in text:
        return _decimal(text)
    if int(text) >= 2**63:
        return _decimal(text)
    return literal(int(text), T.INT if int(text) < 2**31 else T.BIGINT)


def _decimal(text: str) -> Typed:
    digits = text.replace(".", "").lstrip("0")
    scale = len(text.partition(".")[2])
    return literal(Decimal(text), T.DecimalType(max(len(digits), scale, 1), scale))
