"""Query over streams that calls functions of the program."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sharkpy.base.errors import BindError
from sharkpy.execution.commands.user_functions import store_function
from sharkpy.execution.queries.plan_query import substituted
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind
from sharkpy.udf.user.declare import Declared
from sharkpy.udf.user.function import intern
from sharkpy.udf.user.make import user_function

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.plan.commands import Statement

_numbers = itertools.count(1)
_NAMES = re.compile(r"\bsharkpy_program_[0-9]+\b")
"""Names of functions of the program. No name is used twice."""
_SEPARATOR = "__function_"
"""Separator between the name of a table and the number of a function of its query."""


@dataclass(frozen=True, slots=True)
class ProgramQuery:
    """Text of a query, and the functions of the program that it calls by names known only to the program."""

    text: str
    functions: Mapping[str, Declared] = field(default_factory=dict)
    table: str = ""
    """Name of the table or stream that the query reads as a whole; empty for other queries."""

    @classmethod
    def of_table(cls, table: Table) -> Self:
        name = f"`{table.database}`.`{table.name}`"
        return cls(f"SELECT * FROM {name}", table=name)

    @property
    def relation(self) -> str:
        """The query as an item of FROM, without its alias."""
        return self.table or f"({self.text})"

    def bound(self, session: EngineSession) -> LogicalPlan:
        """Bind the query. Raise BindError 42601 if its text is another statement."""
        plan = self.bound_in("", session)
        if not isinstance(plan, LogicalPlan):
            raise BindError(f"{self.text} is no query", sqlstate="42601")
        return plan

    def bound_in(self, begin: str, session: EngineSession) -> Statement:
        """Bind the statement that consists of `begin` and the query."""
        catalog = session.catalog.for_session()
        for name, function in self.functions.items():
            catalog.functions.add_temporary(name, intern(user_function(name, function)))
        return bind(substituted(session, begin + self.text), catalog, session.conf, session.current_database)

    def kept(self, database: str, table: str, session: EngineSession) -> str:
        """Return the text of the query for a table that outlives the program, after making its functions permanent.

        Their names begin with the table's name, and are the same in each run of the program.
        """
        kept = dict[str, str]()
        for number, name in enumerate(dict.fromkeys(_NAMES.findall(self.text)), 1):
            permanent = f"{table}{_SEPARATOR}{number}"
            function = intern(user_function(permanent, self.functions[name]))
            store_function(f"{database}.{permanent}", function, session, replace=True)
            kept[name] = f"`{database}`.`{permanent}`"
        return _NAMES.sub(lambda found: kept[found[0]], self.text)


def drop_kept(database: str, table: str, catalog: Catalog) -> None:
    """Drop the functions that `ProgramQuery.kept` has made for a table."""
    for entry in catalog.functions.entries(database):
        if entry.name.startswith(f"{table}{_SEPARATOR}"):
            catalog.functions.drop(database, entry.name)


def named(function: Declared) -> tuple[str, dict[str, Declared]]:
    """Name a function for the texts of this program. Return the name, and the function by its name."""
    name = f"sharkpy_program_{next(_numbers)}"
    return name, {name: function}
