"""The predicates that pruning understands. Values are Python values of the logical type that they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
NEGATED: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Mapped:
    """A monotone function of a column, in place of the column; see the table in `sharkpy.columnar.monotone`.

    `argument` is the target type of "cast", the length of "substr" (from 1), the unit of "date_trunc".
    A function that the table does not have makes the predicate unknown.
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
    """column IN (values); a None among them makes a miss NULL."""

    column: str | Mapped
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class LikePrefix:
    """Exactly `column LIKE 'prefix%'`, the prefix taken literally."""

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
    """A predicate of which nothing is known."""


Predicate = Compare | InSet | LikePrefix | IsNull | IsNotNull | And | Or | Not | Unknown
