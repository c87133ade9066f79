"""Context of binding a statement: the catalog, settings and time, and errors at their place in the text."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from sharkpy.base.errors import BindError, SharkError, UnsupportedError
from sharkpy.base.settings import TIME_ZONE, Conf
from sharkpy.base.time_zone import time_zone, zone_name
from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.catalog.function_catalog import CatalogFunction, ModelFunction
from sharkpy.catalog.lake_tables import LakePoint
from sharkpy.catalog.model import Database, Table
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.given_rows import GivenRows
from sharkpy.plan.logical import LogicalPlan
from sharkpy.plan.query_table import QueryTable
from sharkpy.sql.grammar.syntax_error import place
from sharkpy.values.types import DataType

if TYPE_CHECKING:
    from sharkpy.sql.scope import Scope


MOST_EXPRESSIONS = 500_000
MOST_TABLES = 5_000
# Labels of columns in messages lose the id that plans print.
_COLUMN_ID = re.compile(r"(?<=\w)#\d+")
_CONSTRUCTS = {
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "on": "DISTINCT ON",
    "kind": "SELECT AS STRUCT",
    "order": "ORDER BY here",
    "limit": "LIMIT here",
    "limit_options": "LIMIT with PERCENT or TIES",
    "except_": "* EXCEPT",
    "replace": "* REPLACE",
    "rename": "* RENAME",
    "exclude": "EXCLUDE in a window frame",
}


class CatalogReader(Protocol):
    """The part of the catalog that binding reads. Names are lower case."""

    def table(self, database: str, name: str) -> Table:
        """Look up a table; TableNotFoundError, with a hint, if it is missing."""

    def find_table(self, database: str, name: str) -> Table | None: ...

    def find_entry(self, database: str, name: str) -> Table | None:
        """As `find_table`, but a lake table is found too where its format does not know it any more."""

    def lake_at(self, table: Table, point: LakePoint) -> Table:
        """A lake table at an earlier snapshot; BindError 22023 where there is none."""

    def lake_facts(self, table: Table, what: str) -> SystemTable:
        """Table about a lake table, such as that of its snapshots."""

    def source_of(self, stream: Table) -> Table | None:
        """Table of whose rows a stream is; None for a stream of others, or where the table was dropped."""

    def system_table(self, database: str, name: str) -> SystemTable | None:
        """A table of the engine's own database of that name; None if there is none. TableNotFoundError, with a hint."""

    def given_rows(self, name: str, *, is_registered: bool) -> GivenRows | None:
        """Rows of the program that calls: registered under a name, or those of a variable. ParameterError and DataError
        for data that is no table.
        """

    def file_table(self, word: str, place: str, given: FileOptions = NO_OPTIONS) -> Table | None:
        """Table of the files at a path, or of a pattern, in the format that `word` names, or, where it is empty, the
        names of the files; the same one until they change. None where neither names one.
        """

    def database(self, name: str) -> Database:
        """Look up a database; DatabaseNotFoundError if it is missing."""

    def table_names(self, database: str) -> Iterable[str]: ...

    def find_function(self, database: str, name: str) -> CatalogFunction | None:
        """Find the user's function that `name` or `database.name` means; None for a built-in or unknown one."""

    def function_place(self, database: str, name: str) -> str | None:
        """Database of the permanent function that a name means; empty for a temporary one, None for others."""

    def model_function(self, table: Table, method: str) -> ModelFunction:
        """`predict` or `predict_proba` of the model that `table` holds; BindError if it holds no model, or none with
        that method.
        """

    def resource_paths(self, kind: str) -> tuple[str, ...]:
        """Paths of the session's ADD FILE, ADD JAR and ADD ARCHIVE."""

    def named_schema_text(self, location: str) -> str:
        """Text of the schema at a remote location that the statement names; NotAllowedError as for `check_path`."""

    def check_path(self, path: str) -> None:
        """NotAllowedError for a path that the session's statements may not name."""


@dataclass(slots=True)
class BoundCte:
    """State of a CTE with several uses, once one use was bound: the table that all uses read, else a plan
    for one use.
    """

    is_known: bool = False
    table: QueryTable | None = None
    plan: LogicalPlan | None = None


@dataclass(frozen=True, slots=True)
class Cte:
    """A WITH query: its tree, its column names if given, and the context it was written in; see `bind_cte`."""

    name: str
    query: exp.Expr
    column_names: tuple[str, ...]
    context: Context
    num_uses: int = 1
    bound: BoundCte = field(default_factory=BoundCte, compare=False, repr=False)


class StatementClock:
    """Clock that stands still from the first time it is read. A plan made with a clock that was read is for one run."""

    def __init__(self) -> None:
        self._now: datetime.datetime | None = None

    @property
    def was_read(self) -> bool:
        return self._now is not None

    def read(self) -> datetime.datetime:
        if self._now is None:
            self._now = self._read_clock()
        return self._now

    @staticmethod
    def _read_clock() -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)


class ExpressionBudget:
    """Count of a statement's expressions, with those that names and macros repeat: each of these may double them."""

    def __init__(self, most: int = MOST_EXPRESSIONS) -> None:
        self.most = most
        self.num_expressions = 0
        self.num_tables = 0

    def take(self, number: int = 1) -> bool:
        """Count `number` more; False if they are too many."""
        self.num_expressions += number
        return self.num_expressions <= self.most

    def take_table(self) -> bool:
        """Count a table, or a view or CTE with those that it reads; False if they are too many."""
        self.num_tables += 1
        return self.num_tables <= MOST_TABLES

    def take_copy(self, expr: Expr) -> bool:
        """Count a copy of `expr`; False if it is too large."""
        left = self.most - self.num_expressions
        return self.take(sum(1 for _ in itertools.islice(expr.walk(), left + 1)))


@dataclass(frozen=True, slots=True)
class KeptTexts:
    """Texts by their first and last offset in `text`, in whose place others stand where the query is kept: each `*` and
    each name that would mean something else in `database`, or in another folder.
    """

    text: str
    database: str
    permanent: str = ""
    """The permanent view or function that keeps the query, which no temporary object may be part of; else empty."""
    texts: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """Context in which a query is bound. Column ids come from `ids`, one counter for the whole statement."""

    catalog: CatalogReader
    conf: Conf
    database: str
    text: str
    ids: Iterator[int]
    bind_query: Callable[[exp.Expr, Context, Scope | None], LogicalPlan]
    expand_star: Callable[[Context, Scope, exp.Expr], list[Expr] | None]
    ctes: Mapping[str, Cte] = dataclasses.field(default_factory=dict)
    views: tuple[str, ...] = ()
    clock: StatementClock = dataclasses.field(default_factory=StatementClock)
    budget: ExpressionBudget = dataclasses.field(default_factory=ExpressionBudget)
    kept: KeptTexts | None = None
    """What the text of a query that is kept needs to mean the same later; None: the query is not kept."""

    @property
    def is_kept_text(self) -> bool:
        """True if what is being bound is the text of the query that is kept, and not that of a view or macro in it."""
        return self.kept is not None and self.kept.text is self.text

    @property
    def now(self) -> datetime.datetime:
        """Time of the whole statement, in the session's zone: CURRENT_TIMESTAMP has this value in every task."""
        return self.clock.read().astimezone(time_zone(zone_name(self.conf.value(TIME_ZONE))))

    @property
    def times_read(self) -> tuple[datetime.datetime, datetime.datetime] | None:
        """The time of the statement as CURRENT_TIMESTAMP has it, and in UTC; None where nothing has read the clock."""
        return (self.now.replace(tzinfo=None), self.utc_now) if self.clock.was_read else None

    @property
    def utc_now(self) -> datetime.datetime:
        """Time of the whole statement in UTC."""
        return self.clock.read().replace(tzinfo=None)

    def column(self, name: str, dtype: DataType) -> ColumnRef:
        """New column of this statement."""
        return ColumnRef(next(self.ids), name, dtype)

    def error(
        self,
        message: str,
        node: exp.Expr | None,
        kind: type[SharkError] = BindError,
        hint: str | None = None,
        sqlstate: str | None = None,
    ) -> SharkError:
        """Error at the place of `node`."""
        offset = _nearest_offset(node) if node is not None else None
        line, column = place(self.text, offset) if offset is not None else (None, None)
        return kind(_COLUMN_ID.sub("", message), hint=hint, sqlstate=sqlstate, line=line, column=column)

    def too_large(self, node: exp.Expr | None) -> SharkError:
        message = f"the statement has more than {self.budget.most:,} expressions, counting those that names repeat"
        return self.error(message, node, hint="write it as several statements", sqlstate="54000")

    def too_many_tables(self, node: exp.Expr | None) -> SharkError:
        message = f"the statement reads more than {MOST_TABLES:,} tables, counting those that views and CTEs repeat"
        return self.error(message, node, hint="write the rows of a part into a table", sqlstate="54000")

    def unsupported(self, construct: str, node: exp.Expr | None) -> SharkError:
        return self.error(f"{construct} is not supported", node, UnsupportedError)

    def only(self, node: exp.Expr, *allowed: str) -> None:
        """UnsupportedError if `node` has a part that the binder does not know."""
        for key, value in node.args.items():
            if value and key not in allowed:
                name = _CONSTRUCTS.get(key) or f"{key.strip('_').replace('_', ' ').upper()} in {node.key.upper()}"
                raise self.unsupported(name, value if isinstance(value, exp.Expr) else node)


def _nearest_offset(node: exp.Expr) -> int | None:
    """Offset of `node`, or of the smallest node around it that has one; that of the statement if none has."""
    around: exp.Expr | None = node
    while around is not None:
        if (offset := node_offset(around)) is not None:
            return offset
        around = around.parent
    return 0


def node_offset(node: exp.Expr) -> int | None:
    """Offset in the text of the first token of `node` whose place is known."""
    offsets = [item._meta["start"] for item in node.walk() if item._meta and "start" in item._meta]
    return min(offsets, default=None)


def node_end(node: exp.Expr) -> int | None:
    """Offset in the text of the last character of `node` whose place is known."""
    offsets = [item._meta["end"] for item in node.walk() if item._meta and "end" in item._meta]
    return max(offsets, default=None)
