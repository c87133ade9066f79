"""GENERATE: calls of functions of whole tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sharkpy.plan.commands.command import Command
from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import LogicalPlan


@dataclass(frozen=True, slots=True)
class GenerateArgument:
    """An argument. `value` is a query, or an expression without columns. `text` is its source. `name` None: by
    position.
    """

    name: str | None
    value: LogicalPlan | Expr
    text: str


@dataclass(frozen=True, slots=True)
class GenerateTable(Command):
    """GENERATE: call a function of whole tables. Its result becomes the table `name`, or rows if that is None.

    `function` is the name of a built-in function or the key of a user function.
    """

    verb: ClassVar[str] = "Generate"
    function: str
    arguments: tuple[GenerateArgument, ...]
    database: str | None = None
    name: str | None = None

    @property
    def yields_rows(self) -> bool:
        return self.name is None

    @property
    def queries(self) -> tuple[LogicalPlan, ...]:
        return tuple(one.value for one in self.arguments if isinstance(one.value, LogicalPlan))
