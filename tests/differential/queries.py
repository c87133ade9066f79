"""Generator of typed random queries: each is written in HiveQL, in DuckDB's and in Spark's SQL at once."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.differential.expressions import (
    AGGREGATES,
    FRAMED,
    KINDS,
    LITERALS,
    PREDICATES,
    RANGE_FRAMES,
    ROW_FRAMES,
    SCALARS,
    WINDOWS,
    Kind,
    Row,
    Sql,
)
from tests.differential.tables import TABLES

_JOINS = (
    ("JOIN", "JOIN"),
    ("LEFT JOIN", "LEFT JOIN"),
    ("RIGHT JOIN", "RIGHT JOIN"),
    ("FULL OUTER JOIN", "FULL JOIN"),
    ("LEFT SEMI JOIN", "SEMI JOIN"),
    ("LEFT ANTI JOIN", "ANTI JOIN"),
)


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind


@dataclass(frozen=True)
class Source:
    """Source in FROM, and its visible columns."""

    sql: Sql
    columns: tuple[Column, ...]


def random_query(seed: int, index: int) -> Sql:
    """Query number `index` of a seed."""
    return _Generator(random.Random(f"{seed}/{index}")).query()


class _Generator:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names = 0
        self._with: list[tuple[str, tuple[Column, ...]]] = []
        """Names and columns of the queries of WITH."""

    def query(self) -> Sql:
        head = self._with_clause() if self._chance.random() < 0.15 else Sql.same("")
        sql, columns = self._select(2, ())
        sql = _joined(head, sql)
        if self._chance.random() < 0.25:
            keys = [f"{column.name}{self._chance.choice(('', ' DESC'))}" for column in columns]
            limit = f" LIMIT {self._chance.randint(0, 12)}" if self._chance.random() < 0.7 else ""
            sql = _joined(sql, Sql.same(f" ORDER BY {', '.join(keys)}{limit}"))
        return sql

    def _with_clause(self) -> Sql:
        """WITH clause of one or two queries, the second of which may read the first."""
        parts = []
        for _ in range(self._chance.choice((1, 1, 2))):
            inner, columns = self._select(1, ())
            name = self._name("w")
            parts.append(_joined(Sql.same(f"{name} AS ("), inner, Sql.same(")")))
            self._with.append((name, columns))
        return _joined(Sql.same("WITH "), _list(parts), Sql.same(" "))

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    # Queries

    def _select(
        self, depth: int, outer: tuple[Column, ...], wanted: tuple[Kind, ...] | None = None
    ) -> tuple[Sql, tuple[Column, ...]]:
        if depth > 0 and self._chance.random() < 0.12:
            return self._set_operation(depth, wanted)
        source = self._from(depth)
        roll = self._chance.random()
        if roll < 0.4:
            return self._grouped(source, depth, outer, wanted)
        if roll < 0.55 and wanted is None and not outer:
            return self._windowed(source, depth)
        kinds = wanted or self._kinds()
        items = [self._item(kind, source, depth) for kind in kinds]
        word = "SELECT DISTINCT " if self._chance.random() < 0.2 else "SELECT "
        columns, text = self._items(items, kinds)
        return _joined(Sql.same(word), text, Sql.same(" FROM "), source.sql, self._where(source, depth, outer)), columns

    def _item(self, kind: Kind, source: Source, depth: int) -> Sql:
        """Item of a select list: an expression, or now and then a scalar subquery."""
        if depth < 2 or self._chance.random() > 0.06:
            return self.expression(kind, source.columns, 2)
        outer = source.columns if self._chance.random() < 0.5 else ()
        inner, _ = self._aggregate_only(self._from(0), 0, outer, (kind,))
        return _joined(Sql.same("("), inner, Sql.same(")"))

    def _kinds(self) -> tuple[Kind, ...]:
        return tuple(self._chance.choice(KINDS) for _ in range(self._chance.randint(1, 3)))

    def _items(self, items: list[Sql], kinds: tuple[Kind, ...]) -> tuple[tuple[Column, ...], Sql]:
        columns = tuple(Column(self._name("c"), kind) for kind in kinds)
        named = [_joined(item, Sql.same(f" AS {column.name}")) for item, column in zip(items, columns, strict=True)]
        return columns, _list(named)

    def _set_operation(self, depth: int, wanted: tuple[Kind, ...] | None) -> tuple[Sql, tuple[Column, ...]]:
        kinds = wanted or self._kinds()
        left, columns = self._select(depth - 1, (), kinds)
        right, _ = self._select(depth - 1, (), kinds)
        word = self._chance.choice(("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
        whole = _joined(
            Sql.same("SELECT * FROM (("), left, Sql.same(f") {word} ("), right, Sql.same(f")) {self._name('u')}")
        )
        return whole, columns

    def _where(self, source: Source, depth: int, outer: tuple[Column, ...]) -> Sql:
        terms = []
        if outer:
            terms.append(self._correlation(source, outer))
        if self._chance.random() < 0.6:
            terms.append(self._predicate(source.columns, depth))
        if not terms:
            return Sql.same("")
        return _joined(Sql.same(" WHERE "), *_between(terms, " AND "))

    def _correlation(self, source: Source, outer: tuple[Column, ...]) -> Sql:
        pairs = [(one, other) for one in source.columns for other in outer if one.kind == other.kind]
        if not pairs:
            return Sql.same("true")
        one, other = self._chance.choice(pairs)
        return Sql.same(f"{one.name} = {other.name}")

    def _grouped(
        self, source: Source, depth: int, outer: tuple[Column, ...], wanted: tuple[Kind, ...] | None
    ) -> tuple[Sql, tuple[Column, ...]]:
        if wanted is not None:
            return self._aggregate_only(source, depth, outer, wanted)
        keys = [self._chance.choice(source.columns) for _ in range(self._chance.randint(0, 2))]
        keys = list(dict.fromkeys(keys))
        rows = [self._chance.choice(AGGREGATES) for _ in range(self._chance.randint(1, 3))]
        calls = [self._fill(row, source.columns, 1) for row in rows]
        columns, text = self._items(
            [*(Sql.same(key.name) for key in keys), *calls],
            (*(key.kind for key in keys), *(row.result for row in rows)),
        )
        parts = [Sql.same("SELECT "), text, Sql.same(" FROM "), source.sql, self._where(source, depth, outer)]
        if keys:
            parts.append(self._group_by([key.name for key in keys]))
            if self._chance.random() < 0.3:
                count = self._chance.choice(("count(*) > 1", "count(*) < 3", f"max({keys[0].name}) IS NOT NULL"))
                parts.append(Sql.same(f" HAVING {count}"))
        return _joined(*parts), columns

    def _group_by(self, names: list[str]) -> Sql:
        listed = ", ".join(names)
        match self._chance.randint(0, 9):
            case 2:
                # DuckDB wants each key in some set. Without rows, Spark returns no row for the set of no keys.
                more = self._chance.choice((f"({names[0]})", f"({names[-1]})"))
                text = f"GROUPING SETS ({', '.join(dict.fromkeys((f'({listed})', more)))})"
                return Sql(f" GROUP BY {listed} {text}", f" GROUP BY {text}")
            case 0:
                return Sql(f" GROUP BY {listed} WITH ROLLUP", f" GROUP BY ROLLUP ({listed})")
            case 1:
                return Sql(f" GROUP BY {listed} WITH CUBE", f" GROUP BY CUBE ({listed})")
        return Sql.same(f" GROUP BY {listed}")

    def _aggregate_only(
        self, source: Source, depth: int, outer: tuple[Column, ...], wanted: tuple[Kind, ...]
    ) -> tuple[Sql, tuple[Column, ...]]:
        """Query of one row, for scalar subqueries."""
        items = []
        for kind in wanted:
            rows = [row for row in AGGREGATES if row.result == kind]
            # Hive has no count in a correlated scalar subquery without a group: the answer over no rows differs.
            rows = [row for row in rows if not (outer and row.hive.startswith("count"))]
            items.append(self._fill(self._chance.choice(rows), source.columns, 1) if rows else self._literal(kind))
        columns, text = self._items(items, wanted)
        return _joined(
            Sql.same("SELECT "), text, Sql.same(" FROM "), source.sql, self._where(source, depth, outer)
        ), columns

    def _windowed(self, source: Source, depth: int) -> tuple[Sql, tuple[Column, ...]]:
        everything = ", ".join(
            f"{column.name}{self._chance.choice(('', ' DESC'))}"
            for column in self._chance.sample(source.columns, len(source.columns))
        )
        items, kinds = [], []
        for _ in range(self._chance.randint(1, 2)):
            row = self._chance.choice(WINDOWS)
            frame = Sql.same(f"ORDER BY {everything}")
            if self._chance.random() < 0.4:
                row, frame = self._chance.choice(FRAMED), self._frame(source.columns, everything)
            partition = (
                f"PARTITION BY {self._chance.choice(source.columns).name} " if self._chance.random() < 0.6 else ""
            )
            over = _joined(Sql.same(f"OVER ({partition}"), frame, Sql.same(")"))
            items.append(row.fill([self.expression(kind, source.columns, 0) for kind in row.arguments], over))
            kinds.append(row.result)
        key = self._chance.choice(source.columns)
        columns, text = self._items([Sql.same(key.name), *items], (key.kind, *kinds))
        return _joined(
            Sql.same("SELECT "), text, Sql.same(" FROM "), source.sql, self._where(source, depth, ())
        ), columns

    def _frame(self, columns: tuple[Column, ...], everything: str) -> Sql:
        """Order and frame: RANGE over one key that can have one, else ROWS or GROUPS over all columns."""
        keys = [column for column in columns if column.kind in RANGE_FRAMES]
        if not keys or self._chance.random() < 0.5:
            return Sql.same(f"ORDER BY {everything} {self._chance.choice(ROW_FRAMES)}")
        key = self._chance.choice(keys)
        order = f"ORDER BY {key.name}{self._chance.choice(('', ' DESC'))} "
        return _joined(Sql.same(order), self._chance.choice(RANGE_FRAMES[key.kind]))

    # FROM

    def _from(self, depth: int) -> Source:
        source = self._relation(depth)
        for _ in range(self._chance.choice((0, 0, 1, 1, 2)) if depth > 0 else 0):
            source = self._joined_with(source, self._relation(depth - 1), depth)
        if depth > 0 and self._chance.random() < 0.12:
            source = self._with_lateral_view(source)
        return source

    def _with_lateral_view(self, source: Source) -> Source:
        """Source with LATERAL VIEW [OUTER] explode, or posexplode, of an array that may be NULL."""
        kind = self._chance.choice(KINDS)
        name, column, place = (self._name(prefix) for prefix in "vcp")
        values = _list([self.expression(kind, source.columns, 1) for _ in range(self._chance.randint(1, 3))])
        condition = self._fill(self._chance.choice(PREDICATES), source.columns, 0)
        array = Sql(
            f"if({condition.hive}, array({values.hive}), NULL)",
            f"CASE WHEN {condition.duck} THEN [{values.duck}] END",
            f"if({condition.on_spark}, array({values.on_spark}), NULL)",
        )
        found = Column(f"{name}.{column}", kind)
        if self._chance.random() < 0.5:
            outer, join = self._chance.choice((("", "JOIN"), ("OUTER ", "LEFT JOIN")))
            view = Sql(
                f" LATERAL VIEW {outer}explode({array.hive}) {name} AS {column}",
                f" {join} LATERAL (SELECT unnest({array.duck}) AS {column}) {name} ON true",
                f" LATERAL VIEW {outer}explode({array.on_spark}) {name} AS {column}",
            )
            return Source(_joined(source.sql, view), (*source.columns, found))
        view = Sql(
            f" LATERAL VIEW posexplode({array.hive}) {name} AS {place}, {column}",
            f" JOIN LATERAL (SELECT CAST(generate_subscripts(a, 1) - 1 AS INTEGER) AS {place}, unnest(a) AS {column}"
            f" FROM (SELECT {array.duck} AS a)) {name} ON true",
            f" LATERAL VIEW posexplode({array.on_spark}) {name} AS {place}, {column}",
        )
        return Source(_joined(source.sql, view), (*source.columns, found, Column(f"{name}.{place}", "int")))

    def _relation(self, depth: int) -> Source:
        alias = self._name("r")
        if depth > 0 and self._chance.random() < 0.25:
            inner, columns = self._select(depth - 1, ())
            return Source(
                _joined(Sql.same("("), inner, Sql.same(f") {alias}")),
                tuple(Column(f"{alias}.{column.name}", column.kind) for column in columns),
            )
        if self._with and self._chance.random() < 0.4:
            query, shown = self._chance.choice(self._with)
            columns = tuple(Column(f"{alias}.{column.name}", column.kind) for column in shown)
            return Source(Sql.same(f"{query} {alias}"), columns)
        table = self._chance.choices(TABLES, weights=(5, 5, 4, 1))[0]
        columns = tuple(Column(f"{alias}.{name}", kind) for name, kind in table.columns)
        return Source(Sql.same(f"{table.name} {alias}"), columns)

    def _joined_with(self, left: Source, right: Source, depth: int) -> Source:
        pairs = [(one, other) for one in left.columns for other in right.columns if one.kind == other.kind]
        if not pairs or self._chance.random() < 0.05:
            sql = _joined(left.sql, Sql.same(" CROSS JOIN "), right.sql)
            return Source(sql, left.columns + right.columns)
        hive, duck = self._chance.choice(_JOINS)
        one, other = self._chance.choice(pairs)
        condition = [Sql.same(f"{one.name} = {other.name}")]
        if self._chance.random() < 0.2:
            condition.append(self._predicate(left.columns + right.columns, 0))
        sql = _joined(
            left.sql, Sql(f" {hive} ", f" {duck} "), right.sql, Sql.same(" ON "), *_between(condition, " AND ")
        )
        visible = left.columns if "SEMI" in hive or "ANTI" in hive else left.columns + right.columns
        return Source(sql, visible)

    # Expressions

    def _predicate(self, columns: tuple[Column, ...], depth: int) -> Sql:
        if depth > 0 and self._chance.random() < 0.25:
            return self._subquery_predicate(columns, depth)
        return self._fill(self._chance.choice(PREDICATES), columns, 1)

    def _subquery_predicate(self, columns: tuple[Column, ...], depth: int) -> Sql:
        probe = self._chance.choice(columns)
        match self._chance.randint(0, 3):
            case 0 | 1 as form:
                inner, _ = self._select(depth - 1, columns if form else (), (probe.kind,))
                word = self._chance.choice(("IN", "NOT IN"))
                return _joined(Sql.same(f"{probe.name} {word} ("), inner, Sql.same(")"))
            case 2:
                source = self._from(0)
                inner = _joined(Sql.same("SELECT 1 FROM "), source.sql, self._where(source, 0, columns))
                return _joined(Sql.same(self._chance.choice(("EXISTS (", "NOT EXISTS ("))), inner, Sql.same(")"))
        source = self._from(0)
        outer = columns if self._chance.random() < 0.5 else ()
        inner, _ = self._aggregate_only(source, 0, outer, (probe.kind,))
        operator = self._chance.choice(("=", "<", ">="))
        return _joined(Sql.same(f"{probe.name} {operator} ("), inner, Sql.same(")"))

    def expression(self, kind: Kind, columns: tuple[Column, ...], depth: int) -> Sql:
        fitting = [column for column in columns if column.kind == kind]
        if fitting and (depth == 0 or self._chance.random() < 0.4):
            return Sql.same(self._chance.choice(fitting).name)
        rows = [row for row in (PREDICATES if kind == "boolean" else SCALARS) if row.result == kind]
        if depth == 0 or not rows:
            return self._literal(kind)
        return self._fill(self._chance.choice(rows), columns, depth - 1)

    def _literal(self, kind: Kind) -> Sql:
        return self._chance.choice(LITERALS[kind])

    def _fill(self, row: Row, columns: tuple[Column, ...], depth: int) -> Sql:
        return row.fill([self.expression(kind, columns, depth) for kind in row.arguments])


def _joined(*parts: Sql) -> Sql:
    return Sql(
        "".join(part.hive for part in parts),
        "".join(part.duck for part in parts),
        "".join(part.on_spark for part in parts),
    )


def _between(parts: list[Sql], word: str) -> list[Sql]:
    return [piece for part in parts for piece in (Sql.same(word), part)][1:]


def _list(parts: list[Sql]) -> Sql:
    return _joined(*_between(parts, ", "))
