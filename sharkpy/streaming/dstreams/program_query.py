"""A query over streams with functions of the program in it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sharkpy.base.errors import BindError
from sharkpy.execution.commands.user_functions import keep_function
from sharkpy.execution.queries.bind_text import substituted
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind
from sharkpy.udf.user.declare import Declared
from sharkpy.udf.user.function import intern
from sharkpy.udf.user.make import user_function

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.plan.commands import Statement

_numbers = itertools.count(1)
_NAMES = re.compile(r"\bsharkpy_program_[0-9]+\b")
"""Names of functions of the program; each is given once."""
_SEPARATOR = "__function_"
"""Between the name of a table and the number of a function of its query."""


@dataclass(frozen=True, slots=True)
class ProgramQuery:
    """Text of a query, and the functions of the program that it calls by names which nobody else knows."""

    text: str
    functions: Mapping[str, Declared] = field(default_factory=dict)
    table: str = ""
    """Name of the table, or stream, that it reads as a whole."""

    @classmethod
    def of_table(cls, table: Table) -> Self:
        name = f"`{table.database}`.`{table.name}`"
        return cls(f"SELECT * FROM {name}", table=name)

    @property
    def relation(self) -> str:
        """The query as it stands in FROM, before its alias."""
        return self.table or f"({self.text})"

    def bound(self, session: EngineSession) -> LogicalPlan:
        """The query with its names and types resolved."""
        plan = self.bound_in("", session)
        if not isinstance(plan, LogicalPlan):
            raise BindError(f"{self.text} is no query", sqlstate="42601")
        return plan

    def bound_in(self, begin: str, session: EngineSession) -> Statement:
        """The statement that begins so and ends with the query."""
        catalog = session.catalog.for_session()
        for name, function in self.functions.items():
            catalog.functions.add_temporary(name, intern(user_function(name, function)))
        return bind(substituted(session, begin + self.text), catalog, session.conf, session.current_database)

    def kept(self, database: str, table: str, session: EngineSession) -> str:
        """Text of the query for a table that outlives the program: its functions are permanent from now on, under names
        that begin with the table's, and the same in each run of the program.
        """
        kept = dict[str, str]()
        for number, name in enumerate(dict.fromkeys(_NAMES.findall(self.text)), 1):
            permanent = f"{table}{_SEPARATOR}{number}"
            function = intern(user_function(permanent, self.functions[name]))
            keep_function(f"{database}.{permanent}", function, session, replace=True)
            kept[name] = f"`{database}`.`{permanent}`"
        return _NAMES.sub(lambda found: kept[found[0]], self.text)


def drop_kept(database: str, table: str, catalog: Catalog) -> None:
    """Drop the functions that `ProgramQuery.kept` has made for a table."""
    for entry in catalog.functions.entries(database):
        if entry.name.startswith(f"{table}{_SEPARATOR}"):
            catalog.functions.drop(database, entry.name)


def named(function: Declared) -> tuple[str, dict[str, Declared]]:
    """A name for a function in the texts of this program, and what the name means."""
    name = f"sharkpy_program_{next(_numbers)}"
    return name, {name: function}
