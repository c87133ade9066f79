"""Parser of HiveQL types: `parse_type("map<string,array<decimal(10,2)>>")`."""

from __future__ import annotations

import functools
import re

from sharkpy.base.errors import ParseError, UnsupportedError, did_you_mean
from sharkpy.base.parse_limits import shortened, whole_number
from sharkpy.values.types import (
    MAX_PRECISION,
    PRIMITIVES,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    VarcharType,
)

MOST_LEVELS = 100
_SHORT = 200
"""Maximum length of a text whose parsed type is cached."""
_TOKEN = re.compile(
    r"""(`[^`]*`|[A-Za-z_][A-Za-z0-9_]*|\d+|[<>(),:]|'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")""",
    re.ASCII | re.DOTALL,
)


def parse_type(text: str, *, keep_case: bool = False) -> DataType:
    """Parse a HiveQL type such as `map<string,array<decimal(10,2)>>`. Raise ParseError if it is not a type.

    Field names become lower case, unless `keep_case` is set.
    """
    return _known(text, keep_case) if len(text) <= _SHORT else _TypeParser(text, keep_case).parse()


@functools.lru_cache(1024)
def _known(text: str, keep_case: bool) -> DataType:
    return _TypeParser(text, keep_case).parse()


def parse_columns(text: str, *, keep_case: bool = False) -> tuple[tuple[str, DataType], ...]:
    """Parse a list of columns, `id bigint, name string` as in CREATE TABLE. Raise ParseError if it is not one."""
    return _TypeParser(text, keep_case).parse_columns()


class _TypeParser:
    def __init__(self, text: str, keep_case: bool) -> None:
        self.text = text
        self.keep_case = keep_case
        self.tokens = [match.group(1) for match in _TOKEN.finditer(text)]
        if re.sub(r"\s+", "", "".join(self.tokens)) != re.sub(r"\s+", "", text):
            raise ParseError(f'"{text}" is not a type')
        self.position = 0
        self.depth = 0

    def parse(self) -> DataType:
        dtype = self._type()
        if self.position != len(self.tokens):
            raise ParseError(f'"{self.text}" is not a type')
        return dtype

    def parse_columns(self) -> tuple[tuple[str, DataType], ...]:
        columns: list[tuple[str, DataType]] = []
        while True:
            name = self._next().strip("`")
            if self._peek() == ":":
                self._next()
            columns.append((name, self._type()))
            if self.position == len(self.tokens):
                return tuple(columns)
            if self._next() != ",":
                raise ParseError(f'"{self.text}" is not a list of columns', hint='such as "id bigint, name string"')

    def _next(self) -> str:
        if self.position >= len(self.tokens):
            raise ParseError(f'"{self.text}" is not a complete type')
        self.position += 1
        return self.tokens[self.position - 1]

    def _peek(self) -> str | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise ParseError(f'"{self.text}" is not a type: "{token}" expected')

    def _numbers(self) -> list[int]:
        if self._peek() != "(":
            return []
        self._next()
        numbers = [self._number()]
        while self._peek() == ",":
            self._next()
            numbers.append(self._number())
        self._expect(")")
        return numbers

    def _number(self) -> int:
        token = self._next()
        number = whole_number(token)
        if number is None:
            raise ParseError(f'"{shortened(self.text)}" is not a type: a number expected, not "{shortened(token)}"')
        return number

    def _type(self) -> DataType:
        self.depth += 1
        if self.depth > MOST_LEVELS:
            raise ParseError(f"the type is nested more than {MOST_LEVELS} levels deep", sqlstate="54001")
        dtype = self._one_type()
        self.depth -= 1
        return dtype

    def _one_type(self) -> DataType:
        name = self._next().lower()
        match name:
            case "array":
                self._expect("<")
                element = self._type()
                self._expect(">")
                return ArrayType(element)
            case "map":
                self._expect("<")
                key = self._type()
                self._expect(",")
                value = self._type()
                self._expect(">")
                return MapType(key, value)
            case "struct":
                return self._struct()
            case "decimal" | "numeric" | "dec":
                return self._decimal(self._numbers())
            case "varchar" | "char" | "character":
                return self._characters(name, self._numbers())
            case "double" if (self._peek() or "").lower() == "precision":
                self._next()
        if name == "uniontype":
            raise UnsupportedError("the type UNIONTYPE is not supported", hint="a STRUCT with a field for each type")
        if name not in PRIMITIVES:
            raise ParseError(f'unknown type "{name}"', hint=did_you_mean(name, PRIMITIVES))
        return PRIMITIVES[name]

    def _decimal(self, numbers: list[int]) -> DataType:
        precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
        if not (1 <= precision <= MAX_PRECISION and 0 <= scale <= precision):
            raise ParseError(f"decimal({precision},{scale}): precision is 1 to 38, scale 0 to precision")
        return DecimalType(precision, scale)

    def _characters(self, name: str, numbers: list[int]) -> DataType:
        limit = 65535 if name == "varchar" else 255
        if len(numbers) != 1 or not 1 <= numbers[0] <= limit:
            raise ParseError(f"{name} needs a length from 1 to {limit}")
        return VarcharType(numbers[0]) if name == "varchar" else CharType(numbers[0])

    def _comment(self) -> None:
        """Skip COMMENT 'text' of a field. As in Hive, the comment is dropped."""
        self._next()
        if self._next()[0] not in "'\"":
            raise ParseError(f'"{shortened(self.text)}" is not a type: a comment in quotes expected')

    def _struct(self) -> DataType:
        self._expect("<")
        names: list[str] = []
        types: list[DataType] = []
        while True:
            name = self._next().strip("`")
            names.append(name if self.keep_case else name.lower())
            self._expect(":")
            types.append(self._type())
            if (self._peek() or "").lower() == "comment":
                self._comment()
            if (token := self._next()) == ">":
                return StructType(tuple(names), tuple(types))
            if token != ",":
                raise ParseError(f'"{self.text}" is not a type')


def type_text(dtype: DataType) -> str:
    """Return the HiveQL spelling of a type with all struct fields quoted, so that `parse_type` can read any name."""
    match dtype:
        case ArrayType(element):
            return f"array<{type_text(element)}>"
        case MapType(key, value):
            return f"map<{type_text(key)},{type_text(value)}>"
        case StructType(names, types):
            fields = (f"`{name}`:{type_text(t)}" for name, t in zip(names, types, strict=True))
            return f"struct<{','.join(fields)}>"
    return str(dtype)
