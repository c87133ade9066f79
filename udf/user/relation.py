"""Python functions of whole tables. GENERATE calls them once, in the session's process, with a TableRDD for a table."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from sharkpy.base.cached_property import cached_property
from sharkpy.base.records import dataclass
from sharkpy.udf.function import RelationFunction
from sharkpy.udf.user.function import FunctionUse, Routine, make_key
from sharkpy.values.types import DataType, StructType

TABLE = "table"
"""The type of a parameter that takes a table or query, as in `@sharkpy.table_function("table", "int")`."""
Kind = DataType | str | None
"""Kind of a parameter: TABLE, values of a type, or anything."""
_STARS: Mapping[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class PythonRelation:
    """A function of whole tables. `kinds` are by parameter; `columns` of the result, if declared. It is never shipped,
    so it may refer to anything.
    """

    name: str
    target: Callable[..., object]
    signature: inspect.Signature
    kinds: Mapping[str, Kind]
    columns: StructType | None
    place: tuple[str, int]
    """File and line."""
    doc: str = ""
    is_built_in: bool = False
    number: int = field(default_factory=lambda: next(_numbers))

    @cached_property
    def key(self) -> str:
        return make_key(self.name, "relation", self.number)

    @cached_property
    def row(self) -> RelationFunction:
        return RelationFunction(self.key, usage=self.usage, doc=self.doc)

    @property
    def usage(self) -> str:
        """The name with its parameters: `f(points table, k bigint = 3, **others)`."""
        return f"{self.name}({', '.join(map(self._parameter, self.signature.parameters.values()))})"

    def _parameter(self, parameter: inspect.Parameter) -> str:
        stars = _STARS.get(parameter.kind, "")
        kind = self.kinds.get(parameter.name)
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        return f"{stars}{parameter.name}{f' {kind}' if kind else ''}{default}"

    def routines(self, use: FunctionUse) -> Sequence[Routine]:  # noqa: ARG002
        """Return no routines: queries do not call it."""
        return ()

    def facts(self) -> Sequence[str]:
        returns = f" returns {self.columns}" if self.columns is not None else ""
        return (
            f"Signature: {self.usage}{returns}",
            "Python function of whole tables, called by GENERATE",
            f"Defined in {self.place[0]}, line {self.place[1]}",
        )
