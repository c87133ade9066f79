"""Expressions of the random queries: one row each, in HiveQL and in the equivalents of DuckDB and Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["int", "bigint", "double", "decimal", "wide", "string", "date", "timestamp", "boolean"]


@dataclass(frozen=True)
class Sql:
    """Text of an expression in each dialect; without `spark` Spark SQL writes it as Hive."""

    hive: str
    duck: str
    spark: str | None = None

    @property
    def on_spark(self) -> str:
        return self.hive if self.spark is None else self.spark

    @staticmethod
    def same(text: str) -> Sql:
        return Sql(text, text)


@dataclass(frozen=True)
class Row:
    """Row of an expression: a form with places {0}, {1}, … for arguments of the given kinds. A dialect without one
    writes Hive's.
    """

    result: Kind
    arguments: tuple[Kind, ...]
    hive: str
    duck: str = ""
    spark: str = ""

    def fill(self, args: list[Sql], over: Sql | None = None) -> Sql:
        over = over or Sql.same("")
        return Sql(
            _filled(self.hive, [a.hive for a in args], over.hive),
            _filled(self.duck or self.hive, [a.duck for a in args], over.duck),
            _filled(self.spark or self.hive, [a.on_spark for a in args], over.on_spark),
        )


def _filled(form: str, args: list[str], over: str) -> str:
    """Form with its arguments; an OVER clause is put at {over}, or at the end."""
    return (form if "{over}" in form or not over else form + " {over}").format(*args, over=over)


DUCK_MACROS = (
    "w32(x) AS CAST((x::HUGEINT % 4294967296 + 6442450944) % 4294967296 - 2147483648 AS INTEGER)",
    "w64(x) AS CAST((x::HUGEINT % 18446744073709551616 + 27670116110564327424) % 18446744073709551616"
    " - 9223372036854775808 AS BIGINT)",
    "j64(x, low, high) AS CASE WHEN isnan(x) THEN 0::BIGINT WHEN x <= low THEN low::BIGINT WHEN x >= high"
    " THEN high::BIGINT ELSE trunc(x)::BIGINT END",
    "locate_from(part, s) AS CAST(CASE WHEN part IS NULL THEN NULL"
    " WHEN s = '' THEN 0 WHEN instr(substr(s, 2), part) = 0 THEN 0"
    " ELSE instr(substr(s, 2), part) + 1 END AS INTEGER)",
)
"""Macros of DuckDB: Java's wrapping integers, its casts of floating point numbers; locate(part, s, 2)."""


def _per_kind(template: Row, kinds: tuple[Kind, ...]) -> list[Row]:
    """Rows for each kind: arguments "boolean" stay, "string" stands for the kind."""
    rows = []
    for kind in kinds:
        arguments = tuple(kind if argument == "string" else argument for argument in template.arguments)
        rows.append(
            Row(kind if template.result == "string" else template.result, arguments, template.hive, template.duck)
        )
    return rows


KINDS: tuple[Kind, ...] = ("int", "bigint", "double", "decimal", "wide", "string", "date", "timestamp", "boolean")
ORDERED = KINDS[:-1]

SCALARS: tuple[Row, ...] = (
    *(Row("int", ("int", "int"), f"({{0}} {op} {{1}})", f"w32({{0}}::HUGEINT {op} {{1}})") for op in "+-*"),
    *(Row("bigint", ("bigint", "bigint"), f"({{0}} {op} {{1}})", f"w64({{0}}::HUGEINT {op} {{1}})") for op in "+-"),
    Row("int", ("int", "int"), "({0} % {1})", "CAST({0}::HUGEINT % nullif({1}, 0) AS INTEGER)"),
    Row("bigint", ("int", "int"), "({0} div {1})", "CAST({0}::HUGEINT // nullif({1}, 0) AS BIGINT)"),
    Row("int", ("int",), "(-{0})", "w32(-({0}::HUGEINT))"),
    Row("int", ("int",), "abs({0})", "w32(abs({0}::HUGEINT))"),
    Row("double", ("int", "int"), "({0} / {1})", "({0}::DOUBLE / nullif({1}, 0)::DOUBLE)"),
    Row("double", ("double", "double"), "({0} + {1})"),
    Row("double", ("double", "int"), "({0} * {1})"),
    Row("double", ("double",), "(-{0})"),
    Row("decimal", ("decimal", "decimal"), "CAST({0} + {1} AS DECIMAL(10,2))", "TRY_CAST({0} + {1} AS DECIMAL(10,2))"),
    Row("decimal", ("decimal", "decimal"), "CAST({0} - {1} AS DECIMAL(10,2))", "TRY_CAST({0} - {1} AS DECIMAL(10,2))"),
    Row(
        "decimal",
        ("decimal", "decimal"),
        "CAST({0} * {1} AS DECIMAL(10,2))",
        "TRY_CAST({0}::DECIMAL(19,2) * {1}::DECIMAL(19,2) AS DECIMAL(10,2))",
    ),
    Row("decimal", ("int",), "CAST({0} AS DECIMAL(10,2))", "TRY_CAST({0} AS DECIMAL(10,2))"),
    Row("int", ("decimal",), "CAST({0} AS INT)", "CAST(trunc({0}) AS INTEGER)"),
    Row("bigint", ("int",), "CAST({0} AS BIGINT)"),
    Row("int", ("bigint",), "CAST({0} AS INT)", "w32({0})"),
    Row("double", ("int",), "CAST({0} AS DOUBLE)"),
    Row("double", ("decimal",), "CAST({0} AS DOUBLE)"),
    Row("string", ("int",), "CAST({0} AS STRING)", "CAST({0} AS VARCHAR)"),
    Row("string", ("decimal",), "CAST({0} AS STRING)", "CAST({0} AS VARCHAR)"),
    Row("string", ("date",), "CAST({0} AS STRING)", "CAST({0} AS VARCHAR)"),
    Row("date", ("timestamp",), "to_date({0})", "CAST({0} AS DATE)"),
    Row("timestamp", ("date",), "CAST({0} AS TIMESTAMP)"),
    Row("int", ("boolean",), "CAST({0} AS INT)", "CAST({0} AS INTEGER)"),
    Row("string", ("string", "string"), "concat({0}, {1})", "({0} || {1})"),
    Row("string", ("string",), "upper({0})"),
    Row("string", ("string",), "lower({0})"),
    Row("string", ("string",), "reverse({0})"),
    Row("string", ("string",), "trim({0})"),
    Row("string", ("string",), "substr({0}, 2)"),
    Row("string", ("string",), "substr({0}, 1, 3)"),
    Row("string", ("string",), "replace({0}, 'a', 'ab')"),
    Row("string", ("string",), "lpad({0}, 5, '*')"),
    Row("int", ("string",), "length({0})", "CAST(length({0}) AS INTEGER)"),
    Row("int", ("string", "string"), "instr({0}, {1})", "CAST(instr({0}, {1}) AS INTEGER)"),
    Row("int", ("date",), "year({0})", "CAST(year({0}) AS INTEGER)"),
    Row("int", ("date",), "month({0})", "CAST(month({0}) AS INTEGER)"),
    Row("int", ("timestamp",), "hour({0})", "CAST(hour({0}) AS INTEGER)"),
    Row("int", ("timestamp",), "second({0})", "CAST(second({0}) AS INTEGER)"),
    Row("int", ("date", "date"), "datediff({0}, {1})", "CAST({0} - {1} AS INTEGER)"),
    Row("date", ("date",), "date_add({0}, 30)", "CAST({0} + 30 AS DATE)"),
    Row("date", ("date",), "last_day({0})"),
    Row("wide", ("wide", "wide"), "({0} + {1})", "CAST({0} + {1} AS DECIMAL(38,2))"),
    Row("wide", ("wide", "decimal"), "({0} - {1})", "CAST({0} - {1} AS DECIMAL(38,2))"),
    Row("wide", ("wide",), "(-{0})"),
    Row("wide", ("decimal",), "CAST({0} AS DECIMAL(38,2))"),
    Row("decimal", ("wide",), "CAST({0} AS DECIMAL(10,2))", "TRY_CAST({0} AS DECIMAL(10,2))"),
    Row("string", ("wide",), "CAST({0} AS STRING)", "CAST({0} AS VARCHAR)"),
    Row("int", ("int", "int"), "array({0}, {1})[1]", "{1}"),
    Row("int", ("int",), "array({0})[3]", "CASE WHEN false THEN {0} END"),
    Row("string", ("string", "string"), "map('a', {0}, 'b', {1})['b']", "{1}"),
    Row("string", ("string",), "map('a', {0})['z']", "CASE WHEN false THEN {0} END"),
    Row("int", ("int", "string"), "named_struct('x', {0}, 'y', {1}).x", "{0}"),
    Row("date", ("date",), "named_struct('x', array({0})).x[0]", "{0}"),
    Row("int", ("string", "string"), "size(array({0}, {1}))", "2"),
    Row("double", ("string",), "CAST({0} AS DOUBLE)", "TRY_CAST({0} AS DOUBLE)"),
    Row("int", ("double",), "CAST({0} AS INT)", "CAST(j64({0}, -2147483648, 2147483647) AS INTEGER)"),
    Row("bigint", ("double",), "CAST({0} AS BIGINT)", "j64({0}, -9223372036854775808, 9223372036854775807)"),
    Row("bigint", ("decimal",), "CAST({0} AS BIGINT)", "CAST(trunc({0}) AS BIGINT)"),
    Row("double", ("bigint",), "CAST({0} AS DOUBLE)"),
    Row("boolean", ("int",), "CAST({0} AS BOOLEAN)"),
    Row("string", ("bigint",), "CAST({0} AS STRING)", "CAST({0} AS VARCHAR)"),
    Row("string", ("timestamp",), "CAST({0} AS STRING)", "CAST({0} AS VARCHAR)"),
    Row("string", ("boolean",), "CAST({0} AS STRING)", "upper(CAST({0} AS VARCHAR))", "upper(CAST({0} AS STRING))"),
    *(
        Row("int", ("int", "int"), f"({{0}} {op} {{1}})", duck)
        for op, duck in (("&", "({0} & {1})"), ("|", "({0} | {1})"), ("^", "xor({0}, {1})"))
    ),
    Row("int", ("int",), "shiftleft({0}, 3)", "w32({0}::HUGEINT * 8)"),
    Row("int", ("int",), "shiftright({0}, 2)", "({0} >> 2)"),
    Row("int", ("int",), "pmod({0}, 7)", "CAST(({0}::HUGEINT % 7 + 7) % 7 AS INTEGER)"),
    Row("double", ("double",), "sqrt(abs({0}))", "sqrt(abs({0}))"),
    Row("double", ("double",), "pow({0}, 2)"),
    Row("decimal", ("decimal",), "CAST(round({0}, 1) AS DECIMAL(10,2))", "TRY_CAST(round({0}, 1) AS DECIMAL(10,2))"),
    Row("bigint", ("decimal",), "CAST(floor({0}) AS BIGINT)", "CAST(floor({0}) AS BIGINT)"),
    Row("bigint", ("decimal",), "CAST(ceil({0}) AS BIGINT)", "CAST(ceil({0}) AS BIGINT)"),
    Row("string", ("string",), "rpad({0}, 4, '-')"),
    Row("string", ("string",), "ltrim({0})"),
    Row("string", ("string",), "rtrim({0})"),
    Row("string", ("string",), "repeat({0}, 2)"),
    Row("string", ("string",), "substr(concat('ab', {0}), -2)", "substr('ab' || {0}, -2)"),
    Row("string", ("string",), "substr({0}, 0, 2)", "substr({0}, 1, 2)"),
    Row("string", ("string", "string"), "concat_ws('-', {0}, {1})"),
    Row("string", ("string",), "translate({0}, 'ab1', 'xy')"),
    Row("string", ("string",), "regexp_replace({0}, '[ab]', '#')", "regexp_replace({0}, '[ab]', '#', 'g')"),
    Row("string", ("string",), "split({0}, '_')[0]", "str_split({0}, '_')[1]"),
    Row("string", ("string",), "split({0}, '_')[1]", "str_split({0}, '_')[2]"),
    Row("string", ("string",), "substring_index({0}, '_', 1)", "str_split({0}, '_')[1]"),
    Row("string", ("string",), "md5({0})"),
    Row("int", ("string", "string"), "locate({0}, {1}, 2)", "locate_from({0}, {1})"),
    Row("int", ("date",), "dayofmonth({0})", "CAST(day({0}) AS INTEGER)"),
    Row("int", ("date",), "quarter({0})", "CAST(quarter({0}) AS INTEGER)"),
    Row("int", ("date",), "weekofyear({0})", "CAST(week({0}) AS INTEGER)"),
    Row("int", ("date",), "dayofweek({0})", "CAST(dayofweek({0}) + 1 AS INTEGER)"),
    Row("int", ("timestamp",), "minute({0})", "CAST(minute({0}) AS INTEGER)"),
    Row(
        "bigint",
        ("timestamp",),
        "unix_timestamp({0})",
        "CAST(floor(epoch_us({0}) / 1e6) AS BIGINT)",
        "CAST(floor(unix_micros({0}) / 1e6) AS BIGINT)",
    ),
    Row("date", ("date",), "date_sub({0}, 45)", "CAST({0} - 45 AS DATE)"),
    Row("date", ("date",), "trunc({0}, 'MM')", "CAST(date_trunc('month', {0}) AS DATE)"),
    Row("date", ("date",), "trunc({0}, 'YEAR')", "CAST(date_trunc('year', {0}) AS DATE)"),
    *(
        Row(
            "date",
            ("date",),
            f"({{0}} {sign} INTERVAL '{n}' {unit})",
            f"CAST({{0}} {sign} INTERVAL {n} {unit} AS DATE)",
        )
        for sign, n, unit in (("-", 1, "MONTH"), ("+", 1, "MONTH"), ("-", 7, "DAY"), ("+", 2, "DAY"))
    ),
    *(
        Row("timestamp", ("timestamp",), f"({{0}} {sign} INTERVAL '{n}' {unit})", f"({{0}} {sign} INTERVAL {n} {unit})")
        for sign, n, unit in (("+", 1, "MONTH"), ("-", 1, "YEAR"), ("+", 36, "HOUR"), ("-", 90, "SECOND"))
    ),
    Row("string", ("timestamp",), "date_format({0}, 'yyyy-MM-dd HH')", "strftime({0}, '%Y-%m-%d %H')"),
    Row("int", ("int", "int"), "size(array_distinct(array({0}, {1}, {0})))", "IF({0} IS NOT DISTINCT FROM {1}, 1, 2)"),
    Row(
        "int",
        ("int", "int", "int"),
        "sort_array(array({0}, {1}, {2}))[1]",
        "list_sort([{0}, {1}, {2}], 'ASC', 'NULLS FIRST')[2]",
    ),
    Row("string", ("string", "int"), "map({1}, {0}, -77, 'z')[-77]", "'z'"),
    Row("int", ("int", "int"), "aggregate(array({0}, {1}), 0, (s, x) -> s + x)", "w32({0}::HUGEINT + {1}::HUGEINT)"),
    Row(
        "int",
        ("int", "int"),
        "size(filter(array({0}, {1}), x -> x > 1))",
        "len(list_filter([{0}, {1}], lambda x: x > 1))",
    ),
    *_per_kind(
        Row("string", ("string", "string", "string"), "CASE {0} WHEN {1} THEN {2} WHEN {2} THEN {1} END"), ORDERED
    ),
    *_per_kind(Row("string", ("boolean", "string", "string"), "CASE WHEN {0} THEN {1} ELSE {2} END"), KINDS),
    *_per_kind(
        Row("string", ("string", "boolean", "string"), "if({1}, {0}, {2})", "CASE WHEN {1} THEN {0} ELSE {2} END"),
        KINDS,
    ),
    *_per_kind(Row("string", ("string", "string"), "coalesce({0}, {1})"), KINDS),
    *_per_kind(Row("string", ("string", "string"), "nullif({0}, {1})"), ORDERED),
)

PREDICATES: tuple[Row, ...] = (
    *(
        row
        for op in ("=", "<>", "<", "<=", ">", ">=")
        for row in _per_kind(Row("boolean", ("string", "string"), f"({{0}} {op} {{1}})"), ORDERED)
    ),
    *_per_kind(Row("boolean", ("string", "string"), "({0} <=> {1})", "({0} IS NOT DISTINCT FROM {1})"), KINDS),
    *_per_kind(Row("boolean", ("string",), "({0} IS NULL)"), KINDS),
    *_per_kind(Row("boolean", ("string",), "({0} IS NOT NULL)"), KINDS),
    *_per_kind(Row("boolean", ("string", "string", "string"), "({0} IN ({1}, {2}))"), ORDERED),
    *_per_kind(Row("boolean", ("string", "string", "string"), "({0} NOT IN ({1}, {2}))"), ORDERED),
    *_per_kind(
        Row("boolean", ("string", "string", "string"), "({0} BETWEEN {1} AND {2})", "({0} >= {1} AND {0} <= {2})"),
        ORDERED,
    ),
    Row("boolean", ("int", "bigint"), "({0} = {1})"),
    Row("boolean", ("wide", "decimal"), "({0} < {1})"),
    Row("boolean", ("int", "wide"), "({0} = {1})"),
    Row(
        "boolean",
        ("int", "string", "int", "string"),
        "(named_struct('x', {0}, 'y', {1}) = named_struct('x', {2}, 'y', {3}))",
        "({{'x': {0}, 'y': {1}}} = {{'x': {2}, 'y': {3}}})",
    ),
    Row(
        "boolean",
        ("int", "int", "int"),
        "array_contains(array({0}, {1}), coalesce({2}, 0))",
        "coalesce(list_contains([{0}, {1}], coalesce({2}, 0)), false)",
    ),
    Row("boolean", ("int", "double"), "({0} < {1})", "({0}::DOUBLE < {1})"),
    Row("boolean", ("int", "decimal"), "({0} <= {1})", "({0}::DECIMAL(20,2) <= {1}::DECIMAL(20,2))"),
    Row(
        "boolean",
        ("string", "int"),
        "({0} = {1})",
        "(TRY_CAST({0} AS DOUBLE) = {1}::DOUBLE)",
        "(CAST({0} AS DOUBLE) = {1})",
    ),
    Row("boolean", ("date", "timestamp"), "({0} < {1})", "({0}::TIMESTAMP < {1})"),
    Row("boolean", ("string",), "({0} LIKE 'a%')"),
    Row("boolean", ("string",), "({0} LIKE '%_b%')"),
    Row("boolean", ("string",), "({0} NOT LIKE '%')"),
    Row("boolean", ("boolean", "boolean"), "({0} AND {1})"),
    Row("boolean", ("boolean", "boolean"), "({0} OR {1})"),
    Row("boolean", ("boolean",), "(NOT {0})"),
)

AGGREGATES: tuple[Row, ...] = (
    Row("bigint", (), "count(*)"),
    *_per_kind(Row("bigint", ("string",), "count({0})"), KINDS),
    *_per_kind(Row("bigint", ("string",), "count(DISTINCT {0})"), KINDS),
    *_per_kind(Row("string", ("string",), "min({0})"), ORDERED),
    *_per_kind(Row("string", ("string",), "max({0})"), ORDERED),
    Row("boolean", ("boolean",), "max({0})"),
    Row("bigint", ("int",), "sum({0})", "w64(sum({0}))"),
    Row("bigint", ("int",), "sum(DISTINCT {0})", "w64(sum(DISTINCT {0}))"),
    Row("bigint", ("bigint",), "sum({0})", "w64(sum({0}))"),
    Row("double", ("int",), "avg({0})"),
    Row("double", ("double",), "sum({0})"),
    Row("double", ("decimal",), "CAST(sum({0}) AS DOUBLE)"),
    Row("double", ("decimal",), "CAST(avg({0}) AS DOUBLE)", "avg({0})"),
    Row("double", ("decimal",), "CAST(sum(DISTINCT {0}) AS DOUBLE)"),
    Row("double", ("int",), "percentile({0}, 0.5)", "quantile_cont({0}::DOUBLE, 0.5)"),
    Row("double", ("int",), "percentile({0}, array(0.25, 0.9))[1]", "quantile_cont({0}::DOUBLE, 0.9)"),
    Row(
        "double",
        ("int",),
        "percentile_disc(0.3) WITHIN GROUP (ORDER BY {0})",
        "CAST(quantile_disc({0}, 0.3) AS DOUBLE)",
    ),
    Row("double", ("decimal",), "stddev_pop({0})", "stddev_pop({0}::DOUBLE)"),
    Row("double", ("decimal",), "var_samp({0})", "var_samp({0}::DOUBLE)"),
    Row("bigint", ("int", "decimal"), "regr_count({0}, {1})", "CAST(regr_count({0}, {1}) AS BIGINT)"),
    Row("double", ("int", "decimal"), "regr_avgx({0}, {1})"),
    Row("wide", ("wide",), "sum({0})"),
    Row("double", ("wide",), "CAST(avg({0}) AS DOUBLE)", "avg({0})"),
    Row(
        "string",
        ("string",),
        "concat_ws(',', sort_array(collect_list({0})))",
        "coalesce(array_to_string(list_sort(list({0}) FILTER (WHERE {0} IS NOT NULL)), ','), '')",
    ),
    Row(
        "string",
        ("string",),
        "concat_ws(',', sort_array(collect_set({0})))",
        "coalesce(array_to_string(list_sort(list(DISTINCT {0}) FILTER (WHERE {0} IS NOT NULL)), ','), '')",
    ),
    Row(
        "bigint",
        ("int", "string"),
        "count(DISTINCT {0}, {1})",
        "count(DISTINCT CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN ({0}, {1}) END)",
    ),
    Row(
        "bigint",
        ("boolean",),
        "sum(CASE WHEN {0} THEN 1 ELSE 0 END)",
        "CAST(sum(CASE WHEN {0} THEN 1 ELSE 0 END) AS BIGINT)",
    ),
)

WINDOWS: tuple[Row, ...] = (
    Row("int", (), "row_number()", "CAST(row_number() {over} AS INTEGER)"),
    Row("int", (), "rank()", "CAST(rank() {over} AS INTEGER)"),
    Row("int", (), "dense_rank()", "CAST(dense_rank() {over} AS INTEGER)"),
    Row("int", (), "ntile(3)", "CAST(ntile(3) {over} AS INTEGER)"),
    Row("double", (), "cume_dist()"),
    Row("bigint", (), "count(*)"),
    Row("bigint", ("int",), "sum({0})", "w64(sum({0}) {over})"),
    Row("double", ("int",), "avg({0})"),
    *_per_kind(Row("string", ("string",), "lag({0})"), KINDS),
    *_per_kind(Row("string", ("string",), "lead({0}, 2)"), KINDS),
    *_per_kind(Row("string", ("string",), "max({0})"), ORDERED),
    *_per_kind(Row("string", ("string",), "first_value({0})"), ORDERED),
    *_per_kind(Row("bigint", ("string",), "count({0})"), KINDS),
    *_per_kind(Row("string", ("string", "string"), "lag({0}, 1, {1})"), KINDS),
    *_per_kind(Row("string", ("string",), "lag({0}) IGNORE NULLS", "lag({0} IGNORE NULLS) {over}"), KINDS),
    *_per_kind(Row("string", ("string",), "first_value({0}, true)", "first_value({0} IGNORE NULLS) {over}"), KINDS),
    Row("double", (), "percent_rank()"),
    Row("wide", ("wide",), "sum({0})"),
)
"""Window functions; `duck` has {over} in the place of the OVER clause, else the clause comes at the end."""

FRAMED: tuple[Row, ...] = (
    Row("bigint", (), "count(*)"),
    Row("bigint", ("int",), "sum({0})", "w64(sum({0}) {over})"),
    Row("bigint", ("int",), "count(DISTINCT {0})"),
    Row("wide", ("wide",), "sum({0})"),
    *_per_kind(Row("string", ("string",), "min({0})"), ORDERED),
    *_per_kind(Row("string", ("string",), "max({0})"), ORDERED),
)
"""Window functions with the same result for all orders of equal rows, over any frame. `duck` as above."""

_ROW_BOUNDS = ("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")
ROW_FRAMES = tuple(
    f"{unit} BETWEEN {start} AND {end}"
    for unit in ("ROWS", "GROUPS")
    for at, start in enumerate(_ROW_BOUNDS[:-1])
    for end in _ROW_BOUNDS[max(at, 1) :]
)
RANGE_FRAMES: dict[Kind, tuple[Sql, ...]] = {
    "bigint": (Sql.same("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),),
    "decimal": (
        Sql.same("RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW"),
        Sql.same("RANGE BETWEEN CURRENT ROW AND 3 FOLLOWING"),
    ),
    "double": (
        Sql.same("RANGE BETWEEN 1 PRECEDING AND 0.5 FOLLOWING"),
        Sql.same("RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"),
    ),
    "timestamp": (
        Sql(
            "RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND INTERVAL '1' DAY FOLLOWING",
            "RANGE BETWEEN INTERVAL 1 SECOND PRECEDING AND INTERVAL 1 DAY FOLLOWING",
        ),
        Sql(
            "RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND CURRENT ROW",
            "RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW",
        ),
    ),
}
"""Frames by the kind of the only key of their order."""

LITERALS: dict[Kind, tuple[Sql, ...]] = {
    "int": (*tuple(map(Sql.same, ("0", "1", "(-1)", "7", "42"))), Sql("CAST(NULL AS INT)", "NULL::INTEGER")),
    "bigint": (Sql("3000000000L", "3000000000"), Sql("0L", "0::BIGINT")),
    "double": (Sql("1.5D", "1.5e0"), Sql("0.0D", "0e0"), Sql("CAST('NaN' AS DOUBLE)", "'NaN'::DOUBLE")),
    "decimal": (Sql("CAST(1.10 AS DECIMAL(10,2))", "1.10::DECIMAL(10,2)"), Sql("2.50", "2.50::DECIMAL(10,2)")),
    "wide": (
        Sql("CAST(0.01 AS DECIMAL(38,2))", "0.01::DECIMAL(38,2)"),
        Sql(
            "CAST('-1000000000000000000000000000000' AS DECIMAL(38,2))",
            "'-1000000000000000000000000000000'::DECIMAL(38,2)",
        ),
    ),
    "string": (*tuple(map(Sql.same, ("'a'", "''", "'é'", "'10'"))), Sql("CAST(NULL AS STRING)", "NULL::VARCHAR")),
    "date": (Sql.same("DATE '1970-01-01'"), Sql.same("DATE '2024-02-29'")),
    "timestamp": (Sql.same("TIMESTAMP '2024-02-29 12:30:15'"),),
    "boolean": (Sql.same("true"), Sql.same("false"), Sql("CAST(NULL AS BOOLEAN)", "NULL::BOOLEAN")),
}
