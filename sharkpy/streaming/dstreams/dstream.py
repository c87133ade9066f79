"""DStream: a query over streams that a Python program builds, operator by operator."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import BindError, ColumnNotFoundError, UnsupportedError, did_you_mean
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.catalog.names import qualified
from sharkpy.execution.commands.storage import stored_schema
from sharkpy.execution.queries.plan_query import bind_text
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.ml.rdd.rows import Row, rows_of, text_of
from sharkpy.plan.commands import CreateContinuousSink, CreateContinuousTable
from sharkpy.plan.expr import Call, Literal, conjunction
from sharkpy.plan.logical import Filter, LogicalPlan
from sharkpy.sql.expressions.coercion import key_value
from sharkpy.sql.incremental.watermarks import has_watermark
from sharkpy.streaming.dstreams import program_query
from sharkpy.streaming.dstreams.program_query import ProgramQuery, drop_stored_functions, named
from sharkpy.udf.user.declare import Declared
from sharkpy.values.types import BOOLEAN, DataType, Field, Schema, StructType

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.model import Table
    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.plan.expr import PythonValue
    from sharkpy.streaming.dstreams.handles import ContinuousTable
    from sharkpy.streaming.dstreams.keyed_dstream import Item, KeyedDStream, Windows
    from sharkpy.streaming.scheduler import StreamSession
    from sharkpy.streaming.sinks.program_sink import BatchFunction
    from sharkpy.udf.user.declare import Returns

Moment = str | datetime.datetime
_JOINS = {
    "inner": "INNER",
    "cross": "CROSS",
    **dict.fromkeys(("left", "leftouter"), "LEFT"),
    **dict.fromkeys(("right", "rightouter"), "RIGHT"),
    **dict.fromkeys(("full", "fullouter", "outer"), "FULL"),
    **dict.fromkeys(("semi", "leftsemi"), "LEFT SEMI"),
    **dict.fromkeys(("anti", "leftanti"), "LEFT ANTI"),
}
"""Joins by Spark's names for them, without underscores."""


class DStream:
    """Query over streams. Nothing runs before `to_table`, `foreach_batch` or `collect`.

    1. Each operator returns another DStream. Its names and types are checked at once, with the errors of `ctx.sql`.
       Operators that SQL can express are SQL (`select`, `where`, `join`). Other operators call a function of the
       program, which gets typed rows or Arrow batches in the engine's tasks.
    2. `to_table` makes a continuous table that goes on without the program, since its functions are stored by value.
       When the program runs again, it continues with that table, or gives the table its new query and functions.
    3. State is kept as in SQL: see docs/continuous.
    """

    def __init__(self, session: StreamSession, query: ProgramQuery) -> None:
        self._session = session
        self._query = query
        self._plan = query.bound(session)
        self.schema = Schema(tuple(Field(column.name, column.dtype) for column in self._plan.output))
        """Names and Hive types of the columns."""

    def __repr__(self) -> str:
        return f"<DStream {text_of(self.schema)}>"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.schema.names

    def column(self, name: str) -> Field:
        """Return the column of a name. Raise ColumnNotFoundError if there is none."""
        found = next((field for field in self.schema if field.name.lower() == name.lower()), None)
        if found is None:
            raise ColumnNotFoundError(f'no column "{name}"', hint=did_you_mean(name, self.columns))
        return found

    @property
    def session(self) -> StreamSession:
        """Session of the stream."""
        return self._session

    @property
    def text(self) -> str:
        """The query in SQL. It calls functions of the program by names that only the program knows."""
        return self._query.text

    # Row by row

    def select(self, *items: str) -> DStream:
        """Compute SQL expressions for each row: `select("url", "upper(name) AS name")`."""
        return self._of(f"SELECT {', '.join(items)} FROM {self._from()}")

    def where(self, condition: str) -> DStream:
        """Keep the rows for which a condition in SQL is true."""
        return self._of(f"SELECT * FROM {self._from()} WHERE {condition}")

    def filter(self, f: Callable[[Row], bool] | str) -> DStream:
        """Keep the rows for which a function, or a condition in SQL, is true."""
        if isinstance(f, str):
            return self.where(f)
        call, functions = self._call(program_query.predicate(f, self.schema))
        return self._of(f"SELECT * FROM {self._from()} WHERE {call}", functions)

    def map_rows(self, f: Callable[[Row], Any], returns: Returns = None) -> DStream:
        """Replace each row by f(row): a tuple, a dict, or for one column its value.

        `returns` declares the columns: `"word string, n int"`, a dict, or the type of one column. The default is f's
        annotation.
        """
        call, functions = self._call(program_query.each_row(f, self.schema, returns))
        return self._of(f"SELECT {call} FROM {self._from()}", functions)

    def flat_map(self, f: Callable[[Row], Any], returns: Returns = None) -> DStream:
        """Replace each row by all rows that f(row) returns or yields. `returns` is as in `map_rows`."""
        call, functions = self._call(program_query.many_rows(f, self.schema, returns))
        return self._of(f"SELECT {call} FROM {self._from()}", functions)

    def map_batches(self, f: Callable[[pa.RecordBatch], Any], returns: Returns) -> DStream:
        """Replace each Arrow batch of some thousand rows by f(batch).

        The result is a batch, a table, or a dict of arrays, with as many rows. `returns` declares the columns, as in
        `map_rows`.
        """
        made = program_query.each_batch(f, self.schema, returns)
        names = program_query.columns_of(f, returns).names
        call, functions = self._call(made)
        items = ", ".join(f"made.{quoted(name)}" for name in names)
        return self._of(f"SELECT {items} FROM (SELECT {call} AS made FROM {self._from()}) t", functions)

    # Several streams

    def union(self, *others: DStream) -> DStream:
        """Add the rows of other streams with as many columns."""
        every = (self, *others)
        functions = {name: one for stream in every for name, one in stream.functions.items()}
        return self.made(" UNION ALL ".join(f"SELECT * FROM {one._from()}" for one in every), functions)

    def join(
        self,
        other: DStream | str,
        on: str | Sequence[str] | None = None,
        how: str = "inner",
        *,
        condition: str | None = None,
        select: Sequence[str] = ("*",),
    ) -> DStream:
        """Join with another DStream, or with a table by its name. Each epoch reads the current version of the table.

        `on`: columns of both sides, which the result has once. `condition`: a condition in SQL instead, in which this
        side is `l` and the other side `r`. `select`: the columns of the result. `how`: inner, left, right, full, semi,
        anti or cross, or another of Spark's names for these, such as left_outer.
        """
        kind = _JOINS.get(how.lower().replace("_", ""))
        if kind is None:
            raise BindError(
                f'"{how}" is not a join', hint="inner, left, right, full, semi, anti or cross", sqlstate="22023"
            )
        if isinstance(other, str):
            relation, functions = other, dict[str, Declared]()
        elif isinstance(other, DStream):
            relation, functions = other.relation, dict(other.functions)
        else:
            raise BindError(
                f"a DStream cannot be joined with {type(other).__name__}",
                hint='ctx.save_as_table(data, "name") makes a table of it, which join takes by its name',
            )
        names = [on] if isinstance(on, str) else list(on or ())
        if (bool(names) + (condition is not None)) != (kind != "CROSS"):
            raise BindError("join takes `on`, or `condition`", hint='how="cross" takes neither')
        terms = f" USING ({', '.join(map(quoted, names))})" if names else f" ON {condition}" if condition else ""
        joined = f"{self._from('l')} {kind} JOIN {relation} r{terms}"
        return self._of(f"SELECT {', '.join(select)} FROM {joined}", functions)

    def transform(self, f: Callable[[DStream], DStream]) -> DStream:
        """Return f(self)."""
        return f(self)

    # Groups and windows

    def key_by(self, *columns: str) -> KeyedDStream:
        """Key the rows by the values of some columns."""
        from sharkpy.streaming.dstreams.keyed_dstream import KeyedDStream

        if not columns:
            raise BindError("key_by takes a column, or several")
        return KeyedDStream(self, tuple(self.column(name).name for name in columns))

    def window(self, size: str, slide: str | None = None, *, on: str | None = None) -> Windows:
        """Group the rows by windows of time of the length `size` ("60 s"), one each `slide` (default: `size`).

        The time is the column `on`, or by default the column with a WATERMARK.
        """
        return self._whole().window(size, slide, on=on)

    def sessions(self, gap: str, *, on: str | None = None) -> Windows:
        """Group the rows by sessions, which end when no row comes for `gap`."""
        return self._whole().sessions(gap, on=on)

    def count(self) -> DStream:
        """Count the rows, in the column `count`."""
        return self._whole().count()

    def aggregate(self, **items: Item) -> DStream:
        """Aggregate all rows; see `KeyedDStream.aggregate`."""
        return self._whole().aggregate(**items)

    def distinct(self) -> DStream:
        return self._of(f"SELECT DISTINCT * FROM {self._from()}")

    def slice(self, begin: Moment, end: Moment, *, on: str | None = None) -> DStream:
        """Keep the rows whose time is from `begin` to before `end`.

        The time is the column `on`. By default it is the start of a window, or the column with a WATERMARK.
        """
        time = self._time() if on is None else quoted(self.column(on).name)
        return self.where(f"{time} >= {_moment(begin)} AND {time} < {_moment(end)}")

    # Results

    def collect(self) -> list[Row]:
        """Return the rows of the input that is available now. This does not advance the streams."""
        with self._session.as_statement(self.text):
            return list(rows_of(query_rows(self._session, self._plan), self.schema))

    def looked_up(self, key: Mapping[str, PythonValue]) -> list[Row]:
        """Return the current rows with the given values of columns; see `ContinuousTable.lookup`."""
        if not key:
            raise BindError("lookup takes values of columns: lookup(user_id=7)")
        by_name = {column.name: column for column in self._plan.output}
        values = {by_name[field.name]: key_value(field, key[name]) for name in key for field in [self.column(name)]}
        terms = [Call("eq", (column, Literal(value, column.dtype)), BOOLEAN) for column, value in values.items()]
        predicate = conjunction(terms)
        assert predicate is not None  # there is a key
        with self._session.as_statement(f"lookup {self.text}"):
            return list(rows_of(query_rows(self._session, Filter(self._plan, predicate)), self.schema))

    def take(self, count: int) -> list[Row]:
        """Return at most `count` rows of the input that is available now."""
        return self._of(f"SELECT * FROM {self._from()} LIMIT {int(count)}").collect()

    def explain(self) -> str:
        """Return a text about the state of a continuous table of this query, with the plan of an epoch."""
        session, begin = self._session, "EXPLAIN CREATE CONTINUOUS TABLE dstream {}AS "
        with session.as_statement():
            try:
                command = self._query.bound_in(begin.format(""), session)
            except UnsupportedError:
                command = self._query.bound_in(begin.format("WITH UNBOUNDED STATE "), session)
            assert not isinstance(command, LogicalPlan)  # it begins so
            table = session.run_command(command, session.snapshot()).table
        return "" if table is None else "\n".join(map(str, table.column(0).to_pylist()))

    def to_table(
        self,
        name: str,
        *,
        trigger: str | None = None,
        emit: str | None = None,
        unbounded: bool = False,
        cache: bool = False,
        late_rows: str | None = None,
        bad_rows: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> ContinuousTable:
        """Make a continuous table of the rows, which runs from now on.

        If there is a table of that name, it gets this query and these functions from its next epoch on.

        `trigger`: "EVERY 1 SECOND", "ONCE", "AVAILABLE NOW"; `emit`: "APPEND", "UPDATE", "COMPLETE"; `unbounded`: its
        state may grow with the streams; `cache`: in memory; `late_rows` and `bad_rows`: tables for such rows. See the
        clauses of CREATE CONTINUOUS TABLE. These options only apply to a new table.

        Raise BindError 42809 if the name belongs to another kind of table, or to one with other columns or state.
        """
        told = dict(properties or {}) | ({"shark.cache": "MEMORY"} if cache else {})
        pairs = ", ".join(f"{text_literal(key)} = {text_literal(value)}" for key, value in told.items())
        clauses = [
            f"TBLPROPERTIES ({pairs})" if pairs else "",
            f"TRIGGER {trigger}" if trigger else "",
            f"EMIT {emit}" if emit else "",
            "WITH UNBOUNDED STATE" if unbounded else "",
            f"LATE ROWS TO {late_rows}" if late_rows else "",
            f"ON BAD ROW SKIP TO {bad_rows}" if bad_rows else "",
        ]
        return self._kept("TABLE", name, " ".join(filter(None, clauses)))

    start = to_table

    def foreach_batch(
        self,
        function: BatchFunction,
        *,
        name: str,
        as_reader: bool = False,
        emit: str | None = None,
        unbounded: bool = False,
    ) -> ContinuousTable:
        """Pass the rows of each epoch to a function of the program, through the continuous sink `name` TO PROGRAM.

        A missing sink is created. See `ContinuousTable.foreach_batch`. `emit` "UPDATE" passes the rows that an epoch
        has changed, such as totals. By default only rows that will not change any more are passed. `unbounded`: the
        state may grow with the streams.
        """
        return self.sink(name, emit=emit, unbounded=unbounded).foreach_batch(function, as_reader=as_reader)

    def sink(self, name: str, *, emit: str | None = None, unbounded: bool = False) -> ContinuousTable:
        """Return the continuous sink TO PROGRAM of a name, which waits for a function. A missing sink is created."""
        clauses = ["TO PROGRAM", f"EMIT {emit}" if emit else "", "WITH UNBOUNDED STATE" if unbounded else ""]
        given = EmitMode.APPEND.value if emit is None else emit.upper()
        return self._kept("SINK", name, " ".join(filter(None, clauses)), given)

    def train(self, model: Estimator, name: str, **options: Any) -> ContinuousTable:
        """Train a model with the rows while this program runs, each epoch once.

        The training calls `model.partial_fit(rows, **options)`, for example with `y="label"`. After each epoch the
        model is saved as the table `name`, so SQL's `predict` and `ctx.load_model` have the newest one. If the table
        exists, its model is trained further. Return the sink that trains the model, which is named after the table,
        with the suffix `__training`.

        Raise BindError 42809 if the model has no `partial_fit`.
        """
        from sharkpy.streaming.dstreams.training import train

        return train(self, model, name, options)

    def _kept(self, kind: str, name: str, clauses: str, given: str | None = None) -> ContinuousTable:
        """Return the continuous table or sink of a name: a new one, or the existing one with this query.

        Raise BindError 42809 for an existing sink with another EMIT mode than `given`, APPEND or UPDATE.
        """
        from sharkpy.streaming.dstreams.handles import ContinuousTable

        session = self._session
        database, short = qualified(name, session.current_database)
        place = f"{quoted(database)}.{quoted(short)}"
        with session.as_statement(f"{kind} {name} of a DStream"):
            known = session.catalog.find_table(database, short)
            if known is None:
                try:
                    text = self._query.kept(database, short, session)
                    run(f"CREATE CONTINUOUS {kind} {place} {clauses} AS {text}", session)
                except BaseException:
                    # An existing table needs the functions, even if its first epoch has failed.
                    if session.catalog.find_table(database, short) is None:
                        drop_stored_functions(database, short, session.catalog)
                    raise
            else:
                if given is not None:
                    _check_given(known, given)
                with session.catalog.transaction():
                    _alter(known, kind, self._query.kept(database, short, session), session)
            table = ContinuousTable(session, session.catalog.table(database, short))
        if known is not None:
            table.go_on()
        return table

    # Parts of texts

    @property
    def relation(self) -> str:
        """The rows as an item of FROM, without an alias."""
        return self._query.relation

    @property
    def functions(self) -> Mapping[str, Declared]:
        """Functions of the program, by their names in the text."""
        return self._query.functions

    def made(self, text: str, functions: Mapping[str, Declared]) -> DStream:
        """Return the DStream of a query and of the functions that it calls."""
        return DStream(self._session, ProgramQuery(text, functions))

    def _of(self, text: str, functions: Mapping[str, Declared] | None = None) -> DStream:
        return self.made(text, {**self.functions, **(functions or {})})

    def _from(self, alias: str = "t") -> str:
        return f"{self.relation} {alias}"

    def _call(self, function: Declared, columns: Sequence[str] | None = None) -> tuple[str, dict[str, Declared]]:
        """Return the call, in SQL, of a function with some columns (by default all), and the function by its name."""
        name, functions = named(function)
        args = ", ".join(map(quoted, self.columns if columns is None else columns))
        return f"{name}({args})", functions

    def _whole(self) -> KeyedDStream:
        from sharkpy.streaming.dstreams.keyed_dstream import KeyedDStream

        return KeyedDStream(self, ())

    def _time(self) -> str:
        """Return the time of the rows as an expression in SQL."""
        for field in self.schema:
            if isinstance(field.dtype, StructType) and field.name in ("window", "session_window"):
                return f"{quoted(field.name)}.start"
        for column in self._plan.output:
            if has_watermark(column, self._plan):
                return quoted(column.name)
        raise BindError("the rows have no window, and no time with a WATERMARK", hint="slice(begin, end, on=column)")


def quoted(name: str) -> str:
    """Quote a name as an identifier."""
    return f"`{name.replace('`', '``')}`"


def text_literal(text: str) -> str:
    """Quote a text as a string literal of SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _moment(moment: Moment) -> str:
    return f"CAST({text_literal(str(moment))} AS TIMESTAMP)"


def run(text: str, session: StreamSession) -> None:
    """Run a command within a statement of the session."""
    command = bind_text(session, text)
    assert not isinstance(command, LogicalPlan)  # the text is a command
    session.run_command(command, session.snapshot())


def _check_given(sink: Table, given: str) -> None:
    if sink.gives and sink.emit is not None and sink.emit.value != given:
        message = f"{sink.qualified_name} has EMIT {sink.emit.value}, and not EMIT {given}"
        raise BindError(message, hint="drop it, and make it again", sqlstate="42809")


def _alter(known: Table, kind: str, text: str, session: StreamSession) -> None:
    """Give a continuous table or sink the query `text`, if it has another one.

    Raise BindError 42809 if the columns of its rows or of its state differ.
    """
    if not known.continuous:
        raise BindError(f"{known.qualified_name} is not a continuous table", sqlstate="42809")
    place = f"{quoted(known.database)}.{quoted(known.name)}"
    known_state = session.catalog.state_table(known) if known.has_state else None
    is_unbounded = known_state is not None and not known.expires and known.emit is not EmitMode.RECOMPUTE
    emit = "" if known.emit is None else f"EMIT {known.emit.value} "
    target = "TO PROGRAM " if kind == "SINK" else ""
    clauses = f"{target}{emit}{'WITH UNBOUNDED STATE ' if is_unbounded else ''}"
    command = bind_text(session, f"CREATE CONTINUOUS {kind} IF NOT EXISTS {place} {clauses}AS {text}")
    assert isinstance(command, (CreateContinuousTable, CreateContinuousSink))  # the text is one
    columns = command.columns if isinstance(command, CreateContinuousSink) else command.table.schema
    state = command.state
    are_same = _types(columns) == _types(known.schema) and (state is None) == (known_state is None)
    if state is not None and known_state is not None:
        are_same = are_same and _types(state.schema) == _types(known_state.schema)
    if not are_same:
        message = f"{known.qualified_name} has other columns, or another state, than the DStream"
        raise BindError(message, hint="drop it, and make it again", sqlstate="42809")
    if _text_of(known, session) != command.text:
        run(f"ALTER {known.streaming_kind.upper()} {place} AS {text}", session)


def _types(schema: Schema) -> dict[str, DataType]:
    return {field.name: field.dtype for field in stored_schema(schema)}


def _text_of(table: Table, session: StreamSession) -> str:
    """Return the query of a continuous table, as it was written."""
    query = session.catalog.streams.find(table.continuous)
    return "" if query is None else query.text
