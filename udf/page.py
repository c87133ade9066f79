"""Rows of the registry in short: the page of the manual first, then the types and the SQL.

Page("abs(x)", "absolute value", "abs(-3) -> 3").scalar(numeric, same_as(0), _absolute)
Page("bin(n)", "binary digits, …", "bin(13) -> 1101").scalar((BIGINT,), STRING, "bin({0})")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base.records import dataclass
from sharkpy.udf.function import (
    AggregateFunction,
    Answer,
    ListsRule,
    LiteralResultRule,
    Lowering,
    NullPolicy,
    ResultRule,
    ScalarFunction,
    TableFunction,
    TypeRule,
    WindowFunction,
)
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.values.types import DataType

_ARROW = " -> "


@dataclass(frozen=True, slots=True)
class Page:
    """Page of the manual, from which a method makes the row of its kind of function.

    1. `usage` begins with the name and a parenthesis. The usage of an operator does not, so its page has a `name`.
    2. `example` is a call, the last arrow and its answer. An answer that varies or is an error is given as `answer`.
    3. The methods take the fields of the row. For arguments they also take a tuple of types, for a result its type.
    """

    usage: str
    doc: str
    example: str
    name: str = ""
    answer: Answer | None = None

    @property
    def function_name(self) -> str:
        return self.name or self.usage.partition("(")[0]

    @property
    def example_call(self) -> str:
        return self.example if self.answer is not None else self.example.rpartition(_ARROW)[0]

    @property
    def example_answer(self) -> Answer:
        return self.answer if self.answer is not None else self.example.rpartition(_ARROW)[2]

    def scalar(
        self,
        arguments: TypeRule | tuple[DataType, ...],
        result: ResultRule | DataType,
        lowering: Lowering,
        nulls: NullPolicy = NullPolicy.PROPAGATE,
        *,
        is_deterministic: bool = True,
        unchecked: Lowering | None = None,
        literal_result: LiteralResultRule | None = None,
        aliases: tuple[str, ...] = (),
        is_listed: bool = True,
    ) -> ScalarFunction:
        return ScalarFunction(
            self.function_name,
            _type_rule(arguments),
            _result_rule(result),
            lowering,
            nulls,
            is_deterministic,
            unchecked,
            literal_result,
            usage=self.usage,
            doc=self.doc,
            example=self.example_call,
            answer=self.example_answer,
            aliases=aliases,
            is_listed=is_listed,
        )

    def aggregate(
        self,
        arguments: TypeRule | tuple[DataType, ...],
        result: ResultRule | DataType,
        complete: Lowering,
        partials: tuple[Lowering, ...] = (),
        partial_types: Callable[[Types], Types] | None = None,
        merges: tuple[Lowering, ...] = (),
        finish: Lowering = "{0}",
        *,
        ignores_distinct: bool = False,
        variant: Callable[[Types], AggregateFunction | None] | None = None,
        constants: tuple[tuple[int, Callable[[object], str | None]], ...] = (),
        literal_result: LiteralResultRule | None = None,
        aliases: tuple[str, ...] = (),
        is_listed: bool = True,
    ) -> AggregateFunction:
        return AggregateFunction(
            self.function_name,
            _type_rule(arguments),
            _result_rule(result),
            complete,
            partials,
            partial_types,
            merges,
            finish,
            ignores_distinct,
            variant,
            constants,
            literal_result,
            usage=self.usage,
            doc=self.doc,
            example=self.example_call,
            answer=self.example_answer,
            aliases=aliases,
            is_listed=is_listed,
        )

    def window(
        self,
        arguments: TypeRule | tuple[DataType, ...],
        result: ResultRule | DataType,
        lowering: Lowering,
        *,
        takes_frame: bool = False,
    ) -> WindowFunction:
        return WindowFunction(
            self.function_name,
            _type_rule(arguments),
            _result_rule(result),
            lowering,
            takes_frame,
            usage=self.usage,
            doc=self.doc,
            example=self.example_call,
            answer=self.example_answer,
        )

    def table(
        self,
        arguments: TypeRule | tuple[DataType, ...],
        columns: Callable[[Types], Sequence[tuple[str, DataType]]],
        lists: ListsRule | None,
        *,
        literal_columns: Callable[[Types, Sequence[object]], Sequence[tuple[str, DataType]]] | None = None,
        is_listed: bool = True,
    ) -> TableFunction:
        return TableFunction(
            self.function_name,
            _type_rule(arguments),
            columns,
            lists,
            literal_columns,
            usage=self.usage,
            doc=self.doc,
            example=self.example_call,
            answer=self.example_answer,
            is_listed=is_listed,
        )


def _type_rule(arguments: TypeRule | tuple[DataType, ...]) -> TypeRule:
    return takes(*arguments) if isinstance(arguments, tuple) else arguments


def _result_rule(result: ResultRule | DataType) -> ResultRule:
    return returns(result) if isinstance(result, DataType) else result
