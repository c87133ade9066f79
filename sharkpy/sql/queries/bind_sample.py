"""TABLESAMPLE: the first rows, a share of the rows, or a bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from sharkpy.base import settings
from sharkpy.base.errors import BindError
from sharkpy.base.parse_limits import whole_number
from sharkpy.catalog.model import Table
from sharkpy.plan.expr import Call, Expr, Literal
from sharkpy.plan.logical import Filter, Limit, LogicalPlan, Project, RowSample, Scan, Union
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.bind_function import call_scalar
from sharkpy.sql.object_names import function_name
from sharkpy.sql.queries.ordering import MOST_ROWS
from sharkpy.sql.scope import relation_scope
from sharkpy.udf import registry
from sharkpy.values.types import BOOLEAN, INT

_MAX_INT = (1 << 31) - 1


def sampled(context: Context, plan: LogicalPlan, node: exp.Expr, table: Table | None) -> LogicalPlan:
    """Apply the TABLESAMPLE of a FROM item to its plan. `table` is the item's table, if it is one."""
    sample = node.args.get("sample")
    if sample is None:
        return plan
    if (rows := sample.args.get("rows")) is not None:
        return Limit(plan, min(int(rows), MOST_ROWS))
    if sample.args.get("bucket_denominator") is not None:
        return _bucket(context, plan, sample, table)
    return _share(context, plan, _row_sample(context, sample), sample)


def _row_sample(context: Context, sample: exp.Expr) -> RowSample:
    seed = sample.args.get("seed")
    seed = context.conf.value(settings.SAMPLE_SEED) if seed is None else int(seed)
    if (size := sample.args.get("size")) is not None:
        return RowSample(1.0, seed, int(size))
    percent = Decimal(sample.args["percent"])
    if percent > 100:
        raise context.error(f"a sample has 0 to 100 percent, not {percent}", sample, sqlstate="2202H")
    return RowSample(float(percent / 100), seed)


def _share(context: Context, plan: LogicalPlan, sample: RowSample, node: exp.Expr) -> LogicalPlan:
    """Sample the tables that `plan` reads. This is correct for plans that keep or drop each row independently."""
    match plan:
        case Scan(sample=None):
            return replace(plan, sample=sample)
        case Project() | Filter() | Union():
            return plan.map_children(lambda child: _share(context, child, sample, node))
    raise context.unsupported("TABLESAMPLE of a part of a query that joins, groups, orders or samples", node)


def _bucket(context: Context, plan: LogicalPlan, sample: exp.Expr, table: Table | None) -> LogicalPlan:
    """Bind BUCKET x OUT OF y ON …: the rows in the x-th of y buckets, by Hive's hash of buckets."""
    number, count = int(sample.args["bucket_numerator"]), int(sample.args["bucket_denominator"])
    if not 1 <= number <= count:
        raise context.error(f"BUCKET {number} OUT OF {count}: there is no such bucket", sample, sqlstate="2202H")
    keys = sample.args.get("expressions")
    if keys and len(keys) == 1 and (seed := _random_seed(context, keys[0])) is not None:
        return _share(context, plan, RowSample(1 / count, seed + number), sample)
    scope = relation_scope(None if table is None else table.name, None, plan.output, None)
    binder = expr_binder.ExprBinder(context, scope, expr_binder.WHERE)
    columns = [binder.bind(key) for key in keys] if keys else _bucket_columns(context, plan, sample, table)
    bucket_hash = call_scalar(binder, _hash_function(table), columns, sample)
    positive = Call("bit_and", (bucket_hash, Literal(_MAX_INT, INT)), INT)
    bucket = Call("mod", (positive, Literal(count, INT)), INT)
    return Filter(plan, Call("eq", (bucket, Literal(number - 1, INT)), BOOLEAN))


def _random_seed(context: Context, node: exp.Expr) -> int | None:
    """Seed of `rand()` or `rand(seed)`; None for other expressions."""
    if not isinstance(node, exp.Anonymous) or registry.canonical(function_name(node)) != "rand":
        return None
    match node.expressions:
        case []:
            return context.conf.value(settings.SAMPLE_SEED)
        case [exp.Literal() as seed]:
            return whole_number(seed.this)
    return None


def _bucket_columns(context: Context, plan: LogicalPlan, sample: exp.Expr, table: Table | None) -> Sequence[Expr]:
    if table is None or table.buckets is None:
        hint = "add ON and the columns to take the buckets by, or ON rand()"
        raise context.error("TABLESAMPLE (BUCKET …) without ON needs a bucketed table", sample, BindError, hint)
    by_name = {column.name: column for column in plan.output}
    return [by_name[name] for name in table.buckets.columns]


def _hash_function(table: Table | None) -> str:
    """Hash function of a table's buckets: Murmur3 for bucketing version 2 of Hive, else Java's hash codes."""
    if table is not None and dict(table.properties).get("bucketing_version") == "2":
        return "murmur_hash" if registry.scalar("murmur_hash") else "hash"
    return "hash"
