"""Predicates that pruning understands. Values are Python values of the logical type of the other side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
NEGATED: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A monotone function of a column in place of a column; see the table in `sharkpy.columnar.monotone`.

    `argument` is the target type of "cast", the length of "substr" (from 1), the unit of "date_trunc". With a function
    that is not in the table, the predicate is unknown.
    """

    function_name: str
    column: str
    argument: object = None


@dataclass(frozen=True, slots=True)
class Compare:
    column: str | Mapped
    op: Operator
    value: object


@dataclass(frozen=True, slots=True)
class InSet:
    """column IN (values). With None among the values, a miss is NULL."""

    column: str | Mapped
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class LikePrefix:
    """Exactly `column LIKE 'prefix%'`, with a literal prefix."""

    column: str | Mapped
    prefix: str


@dataclass(frozen=True, slots=True)
class IsNull:
    column: str | Mapped


@dataclass(frozen=True, slots=True)
class IsNotNull:
    column: str | Mapped


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    operand: Predicate


@dataclass(frozen=True, slots=True)
class Unknown:
    """A predicate that pruning does not understand."""


Predicate = Compare | InSet | LikePrefix | IsNull | IsNotNull | And | Or | Not | Unknown
