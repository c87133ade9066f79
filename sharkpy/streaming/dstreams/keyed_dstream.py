"""Rows of a DStream by key, and by windows of time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from sharkpy.base.errors import BindError
from sharkpy.base.records import dataclass
from sharkpy.streaming.dstreams import program_query
from sharkpy.streaming.dstreams.dstream import DStream, quoted, text_literal
from sharkpy.streaming.dstreams.program_query import named
from sharkpy.udf.user.declare import Declared, Options
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.udf.user.declare import Duration, TypeLike

TimeoutBy = Literal["watermark", "clock"]
Item = str | tuple[object, str]
"""An aggregate in SQL, or a class or result of `sharkpy.aggregate` with its arguments."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Rows of a DStream by windows, in addition to their keys.

    Results have a column `window` or `session_window`: a struct of start and end.
    """

    keyed: KeyedDStream
    clause: str

    def count(self) -> DStream:
        """Count the rows of each window, in the column `count`."""
        return self.aggregate(count="count(*)")

    def aggregate(self, **items: Item) -> DStream:
        """Aggregate the rows of each window; see `KeyedDStream.aggregate`."""
        return self.keyed.grouped(items, self.clause)

    def reduce(self, f: Callable[[Any, Any], Any], column: str, name: str | None = None) -> DStream:
        """Combine the values of a column with f, in any order; see `KeyedDStream.reduce_by_key`."""
        return self.keyed.reduced(f, column, name, self.clause)


@dataclass(frozen=True, slots=True)
class KeyedDStream:
    """Rows of a DStream by the values of its columns `keys`; see `DStream.key_by`."""

    stream: DStream
    keys: tuple[str, ...]

    def count(self) -> DStream:
        """Count the rows of each key, in the column `count`."""
        return self.aggregate(count="count(*)")

    def aggregate(self, **items: Item) -> DStream:
        """Aggregate the rows of each key, by the names of the columns of the result.

        Example: `aggregate(n="count(*)", best=(Best, "score"))`.
        """
        return self.grouped(items)

    def reduce_by_key(self, f: Callable[[Any, Any], Any], column: str, name: str | None = None) -> DStream:
        """Combine the values of a column with f, which must be associative and commutative. NULLs are left out.

        The result has the column's name, or `name`.
        """
        return self.reduced(f, column, name)

    def window(self, size: str, slide: str | None = None, *, on: str | None = None) -> Windows:
        """Group the rows by windows of time too; see `DStream.window`."""
        return self._windows(f"{size} EVERY {slide}" if slide else size, on)

    def sessions(self, gap: str, *, on: str | None = None) -> Windows:
        """Group the rows by sessions too; see `DStream.sessions`."""
        return self._windows(f"SESSION {gap}", on)

    def count_by_window(self, size: str, slide: str | None = None, *, on: str | None = None) -> DStream:
        return self.window(size, slide, on=on).count()

    def reduce_by_window(
        self, f: Callable[[Any, Any], Any], column: str, size: str, slide: str | None = None, *, on: str | None = None
    ) -> DStream:
        """Combine the values of a column in each window with f. Windows are built from panes, so f needs no inverse."""
        return self.window(size, slide, on=on).reduce(f, column)

    def update_state_by_key(
        self,
        update: Callable[[Any, Any], Any],
        *,
        returns: TypeLike,
        initial: object = None,
        finish: Callable[[Any], Any] | None = None,
        columns: Sequence[str] | None = None,
        state: TypeLike | None = None,
        timeout: Duration | None = None,
        timeout_by: TimeoutBy = "watermark",
        name: str = "state",
    ) -> DStream:
        """Compute a state for each key: `update(state, row)` returns the next one.

        The first state is a copy of `initial`. Rows have `columns`, by default all but the keys, and come in the order
        of these columns. If time matters, the first of them should be a time. The result has the keys and the column
        `name`: the state, of the type `returns`, or `finish(state)`. With `finish` a state is any Python value, or a
        value of the type `state`.

        The division of rows into epochs does not change the result, as long as rows of later epochs are later. The same
        `update` over a table, or in `collect`, has the same result.

        `timeout`, such as "30 min", bounds the state. The first of `columns` is then the time with the stream's
        WATERMARK. A row that comes `timeout` after the previous one starts a new state. A key is forgotten when the
        watermark is `timeout` past its last row. With `timeout_by="clock"` the time of a row is the time of the epoch
        that reads it, and a key is forgotten `timeout` later. Then the result depends on the division of rows into
        epochs.
        """
        wanted = [field.name for field in self.stream.schema if field.name not in self.keys]
        given = wanted if columns is None else [self.stream.column(one).name for one in columns]
        schema = Schema(tuple(self.stream.column(one) for one in given))
        if timeout_by not in get_args(TimeoutBy):
            raise BindError(f"timeout_by is one of {', '.join(get_args(TimeoutBy))}, and not {timeout_by!r}")
        is_by_clock = timeout is not None and timeout_by == "clock"
        options = Options(None, returns, "row", "call", state=state, timeout=timeout)
        function = program_query.state_update(update, schema, initial, finish, options, is_by_clock=is_by_clock)
        args = [*(["current_timestamp()"] if is_by_clock else []), *map(quoted, given)]
        return self._called(function, args, name)

    def map_groups_with_state(
        self,
        f: Callable[[Any, Any], tuple[Any, Any]],
        *,
        returns: TypeLike,
        initial: object = None,
        columns: Sequence[str] | None = None,
        timeout: Duration | None = None,
        timeout_by: TimeoutBy = "watermark",
        name: str = "value",
    ) -> DStream:
        """Compute a state for each key, and show a value for it: `f(state, row)` returns the next state and the value.

        The value has the type `returns`. Everything else is as in `update_state_by_key`.
        """
        update = functools.wraps(f)(lambda both, row: f(both[0], row))
        return self.update_state_by_key(
            update,
            returns=returns,
            initial=(initial, None),
            finish=_shown,
            columns=columns,
            timeout=timeout,
            timeout_by=timeout_by,
            name=name,
        )

    def join(self, other: KeyedDStream, how: str = "inner") -> DStream:
        """Join with another DStream by the keys, which both must have."""
        self._check_keys(other)
        return self.stream.join(other.stream, self.keys, how)

    def cogroup(self, other: KeyedDStream) -> DStream:
        """Collect the rows of both DStreams for each key, in the columns `left` and `right`: arrays of structs."""
        self._check_keys(other)
        terms = " AND ".join(f"l.{key} <=> r.{key}" for key in map(quoted, self.keys))
        keys = [f"coalesce(l.{key}, r.{key}) AS {key}" for key in map(quoted, self.keys)]
        functions = {**self.stream.functions, **other.stream.functions}
        sides = [f"({one._collected(side)}) {side[0]}" for one, side in ((self, "left"), (other, "right"))]
        items = ", ".join([*keys, "l.`left`", "r.`right`"])
        return self.stream.made(f"SELECT {items} FROM {sides[0]} FULL JOIN {sides[1]} ON {terms}", functions)

    def grouped(self, items: dict[str, Item], clause: str = "") -> DStream:
        """Aggregate the rows of each key, by the names of the result's columns.

        `clause`: the windows, if there are any.
        """
        if not items:
            raise BindError('aggregate takes items by name: aggregate(n="count(*)")')
        functions, texts = dict(self.stream.functions), list[str]()
        for name, item in items.items():
            text = item
            if not isinstance(item, str):
                aggregate, args = item
                called, own = named(_declared(aggregate))
                functions |= own
                text = f"{called}({args})"
            texts.append(f"{text} AS {quoted(name)}")
        return self.stream.made(self._select(texts, clause), functions)

    def reduced(self, f: Callable[[Any, Any], Any], column: str, name: str | None, clause: str = "") -> DStream:
        found = self.stream.column(column)
        function = program_query.reduction(f, found.dtype)
        return self._called(function, [quoted(found.name)], name or found.name, clause)

    def _called(self, function: Declared, args: Sequence[str], name: str, clause: str = "") -> DStream:
        called, own = named(function)
        text = f"{called}({', '.join(args)}) AS {quoted(name)}"
        return self.stream.made(self._select([text], clause), {**self.stream.functions, **own})

    def _select(self, items: Sequence[str], clause: str = "") -> str:
        keys = list(map(quoted, self.keys))
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        windowing = f" WINDOWING {clause}" if clause else ""
        return f"SELECT {', '.join([*keys, *items])} FROM {self.stream.relation} t{group}{windowing}"

    def _collected(self, name: str) -> str:
        fields = [field.name for field in self.stream.schema if field.name not in self.keys]
        values = ", ".join(f"{text_literal(field)}, {quoted(field)}" for field in fields)
        return self._select([f"collect_list(named_struct({values})) AS {quoted(name)}"])

    def _windows(self, clause: str, on: str | None) -> Windows:
        return Windows(self, f"{clause} ON {quoted(self.stream.column(on).name)}" if on else clause)

    def _check_keys(self, other: KeyedDStream) -> None:
        if self.keys != other.keys:
            message = f"streams by {', '.join(self.keys)} and by {', '.join(other.keys)} have other keys"
            raise BindError(message, hint='select("a AS b") gives columns other names')


def _shown(both: tuple[Any, Any]) -> Any:
    return both[1]


def _declared(aggregate: object) -> Declared:
    if isinstance(aggregate, Declared):
        return aggregate
    if not callable(aggregate):
        raise BindError(f"{aggregate!r} is not an aggregate", hint="a class of init, update, merge and finish")
    return Declared("aggregate", aggregate, Options())
