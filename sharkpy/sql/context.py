"""Context of binding a statement: the catalog, settings and time, and errors at their place in the text."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from sharkpy.base.errors import BindError, SharkError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import TIME_ZONE, Conf
from sharkpy.base.time_zone import time_zone, zone_name
from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.catalog.function_catalog import CatalogFunction, ModelFunction
from sharkpy.catalog.model import Database, Table
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.catalog.table_history import Change, VersionPoint
from sharkpy.plan.arrow_data import GivenRows
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan
from sharkpy.plan.subqueries import QueryTable
from sharkpy.sql.grammar.syntax_errors import place
from sharkpy.values.types import DataType

if TYPE_CHECKING:
    from sharkpy.sql.scope import Scope


MOST_EXPRESSIONS = 500_000
MOST_TABLES = 5_000
# Labels of columns have ids in plans, and none in messages.
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
    """The part of the catalog that the binder reads. Names are in lower case."""

    def table(self, database: str, name: str) -> Table:
        """Look up a table. Raise TableNotFoundError, with a hint, if it is missing."""

    def find_table(self, database: str, name: str) -> Table | None: ...

    def find_entry(self, database: str, name: str) -> Table | None:
        """Find a table, or None.

        Unlike `find_table`, this also finds a lake table that its format does not know any more.
        """

    def at(self, table: Table, point: VersionPoint) -> Table:
        """Return a table at an earlier version. Raise BindError 22023 if it is not available."""

    def changes(self, table: Table, first: int, last: int) -> list[Change]:
        """Return the commits of a table, the newest first. Raise UnsupportedError for a table without a history."""

    def lake_facts(self, table: Table, what: str) -> SystemTable:
        """Return a metadata table of a lake table, such as its snapshots."""

    def source_of(self, stream: Table) -> Table | None:
        """Return the table whose rows a stream reads.

        None if the stream has another source, or if the table was dropped.
        """

    def system_table(self, database: str, name: str) -> SystemTable | None:
        """Return a table of the engine's own database; None for other databases.

        Raise TableNotFoundError, with a hint, if the table is missing.
        """

    def given_rows(self, name: str, *, is_registered: bool) -> GivenRows | None:
        """Return rows of the calling program: registered under a name, or in a variable; None if there are none.

        Raise ParameterError or DataError if the data is not a table.
        """

    def file_table(self, word: str, place: str, given: FileOptions = NO_OPTIONS) -> Table | None:
        """Return the table of the files at a path or pattern, in the format that `word` names, or None.

        If `word` is empty, the names of the files tell the format. The result is the same object until the files
        change. It is None if neither tells a format.
        """

    def database(self, name: str) -> Database:
        """Look up a database. Raise DatabaseNotFoundError if it is missing."""

    def table_names(self, database: str) -> Iterable[str]: ...

    def find_function(self, database: str, name: str) -> CatalogFunction | None:
        """Return the user's function `name` or `database.name`; None for a built-in or unknown one."""

    def function_place(self, database: str, name: str) -> str | None:
        """Return the database of a permanent function, "" for a temporary one, or None for other names."""

    def model_function(self, table: Table, method: str) -> ModelFunction:
        """Return `predict` or `predict_proba` of the model in `table`.

        Raise BindError if the table is not a model, or the model has no such method.
        """

    def resource_paths(self, kind: str) -> tuple[str, ...]:
        """Return the paths of the session's ADD FILE, ADD JAR or ADD ARCHIVE."""

    def named_schema_text(self, location: str) -> str:
        """Return the text of the schema at a remote location in the statement. Raise NotAllowedError as
        `check_path`.
        """

    def check_path(self, path: str) -> None:
        """Raise NotAllowedError if the session's statements may not use a path."""


@dataclass(slots=True)
class BoundCte:
    """State of a CTE with several uses, after one use was bound.

    It has the table that all uses read, or else a plan for one use.
    """

    is_known: bool = False
    table: QueryTable | None = None
    plan: LogicalPlan | None = None


@dataclass(frozen=True, slots=True)
class Cte:
    """A WITH query: its tree, its column names if given, and the context in which it was written. See `bind_cte`."""

    name: str
    query: exp.Expr
    column_names: tuple[str, ...]
    context: Context
    num_uses: int = 1
    bound: BoundCte = field(default_factory=BoundCte, compare=False, repr=False)


class StatementClock:
    """Clock that stops when it is first read. A plan that was made with a clock that was read is for one run."""

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
    """Limit of a statement's expressions, including copies made by names and macros.

    Each name or macro may double the number of expressions.
    """

    def __init__(self, most: int = MOST_EXPRESSIONS) -> None:
        self.most = most
        self.num_expressions = 0
        self.num_tables = 0

    def take(self, number: int = 1) -> bool:
        """Count `number` more expressions. Return False if there are too many."""
        self.num_expressions += number
        return self.num_expressions <= self.most

    def take_table(self) -> bool:
        """Count a table, view or CTE. Views and CTEs count in addition to the tables that they read.

        Return False if there are too many.
        """
        self.num_tables += 1
        return self.num_tables <= MOST_TABLES

    def take_copy(self, expr: Expr) -> bool:
        """Count a copy of `expr`. Return False if there are too many expressions."""
        left = self.most - self.num_expressions
        return self.take(sum(1 for _ in itertools.islice(expr.walk(), left + 1)))


@dataclass(frozen=True, slots=True)
class TextReplacements:
    """Replacements for parts of a query's text before it is stored, by first and last offset in `text`.

    Replaced are each `*`, and each name that would mean something else in `database` or in another folder.
    """

    text: str
    database: str
    permanent: str = ""
    """The permanent view or function whose query this is, which may not use temporary objects; else empty."""
    texts: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """Context in which a query is bound. `ids` counts column ids for the whole statement."""

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
    kept: TextReplacements | None = None
    """Replacements that keep the meaning of a stored query's text; None if the query is not stored."""

    @property
    def is_stored_text(self) -> bool:
        """True while the text of the stored query itself is bound, and not the text of a view or macro in it."""
        return self.kept is not None and self.kept.text is self.text

    @property
    def now(self) -> datetime.datetime:
        """Time of the whole statement, in the session's time zone: the value of CURRENT_TIMESTAMP in every task."""
        return self.clock.read().astimezone(time_zone(zone_name(self.conf.value(TIME_ZONE))))

    @property
    def times_read(self) -> tuple[datetime.datetime, datetime.datetime] | None:
        """Time of the statement as returned by CURRENT_TIMESTAMP, and in UTC; None if the clock was not read."""
        return (self.now.replace(tzinfo=None), self.utc_now) if self.clock.was_read else None

    @property
    def utc_now(self) -> datetime.datetime:
        """Time of the whole statement in UTC."""
        return self.clock.read().replace(tzinfo=None)

    def column(self, name: str, dtype: DataType) -> ColumnRef:
        """Create a column of this statement."""
        return ColumnRef(next(self.ids), name, dtype)

    def error(
        self,
        message: str,
        node: exp.Expr | None,
        kind: type[SharkError] = BindError,
        hint: str | None = None,
        sqlstate: str | None = None,
    ) -> SharkError:
        """Create an error at the place of `node`."""
        offset = _nearest_offset(node) if node is not None else None
        line, column = place(self.text, offset) if offset is not None else (None, None)
        return kind(_COLUMN_ID.sub("", message), hint=hint, sqlstate=sqlstate, line=line, column=column)

    def too_large(self, node: exp.Expr | None) -> SharkError:
        message = f"the statement has more than {self.budget.most:,} expressions, counting repeated names"
        return self.error(message, node, hint="write it as several statements", sqlstate="54000")

    def too_many_tables(self, node: exp.Expr | None) -> SharkError:
        message = f"the statement reads more than {MOST_TABLES:,} tables, counting views and CTEs"
        return self.error(message, node, hint="write the rows of one part to a table first", sqlstate="54000")

    def unsupported(self, construct: str, node: exp.Expr | None) -> SharkError:
        return self.error(f"{construct} is not supported", node, UnsupportedError)

    def only(self, node: exp.Expr, *allowed: str) -> None:
        """Raise UnsupportedError if `node` has a part that is not `allowed`."""
        for key, value in node.args.items():
            if value and key not in allowed:
                name = _CONSTRUCTS.get(key) or f"{key.strip('_').replace('_', ' ').upper()} in {node.key.upper()}"
                raise self.unsupported(name, value if isinstance(value, exp.Expr) else node)


def _nearest_offset(node: exp.Expr) -> int | None:
    """Offset of `node`, or of the smallest enclosing node with an offset; 0 if there is none."""
    around: exp.Expr | None = node
    while around is not None:
        if (offset := node_offset(around)) is not None:
            return offset
        around = around.parent
    return 0


def node_offset(node: exp.Expr) -> int | None:
    """Offset in the text of the first token in `node` with a known place; None if there is none."""
    offsets = [item._meta["start"] for item in node.walk() if item._meta and "start" in item._meta]
    return min(offsets, default=None)


def node_end(node: exp.Expr) -> int | None:
    """Offset in the text of the last character in `node` with a known place; None if there is none."""
    offsets = [item._meta["end"] for item in node.walk() if item._meta and "end" in item._meta]
    return max(offsets, default=None)
