"""Variances, covariances, regressions, by counts, means and sums of products of distances, which merge (Chan, Golub,
LeVeque 1979).
"""

from __future__ import annotations

from dataclasses import replace

from sharkpy.udf.function import AggregateFunction
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import returns, takes, with_timestamps
from sharkpy.values.types import BIGINT, DOUBLE

_MOMENTS = "struct_pack(n := {0}, m := {1}, s := {2})"
_CHAN = (
    "lambda a, b: struct_pack(n := a.n + b.n, m := a.m + (b.m - a.m) * b.n / (a.n + b.n),"
    " s := a.s + b.s + (b.m - a.m) * (b.m - a.m) * a.n * b.n / (a.n + b.n))"
)


def _merged(pack: str, step: str, field: str) -> str:
    return f"list_reduce(list({pack}) FILTER (WHERE {{0}} > 0), {step}).{field}"


def _variance(
    name: str, complete: str, finish: str, *, doc: str, answer: str, aliases: tuple[str, ...] = ()
) -> AggregateFunction:
    """An aggregate of count, mean and sum of squared distances (Chan, Golub, LeVeque 1979)."""
    return Page(f"{name}(x)", doc, f"{name}(x) -> {answer}").aggregate(
        with_timestamps(takes(DOUBLE)),
        DOUBLE,
        complete,
        partials=(
            "CAST(count({distinct}{0}){over} AS DOUBLE)",
            "avg({distinct}{0}){over}",
            "var_pop({distinct}{0}){over} * count({distinct}{0}){over}",
        ),
        partial_types=lambda _types: (DOUBLE, DOUBLE, DOUBLE),
        merges=("sum({0})", _merged(_MOMENTS, _CHAN, "m"), _merged(_MOMENTS, _CHAN, "s")),
        finish=finish,
        aliases=aliases,
    )


_PAIRS = "struct_pack(n := {0}, x := {1}, y := {2}, c := {3}, p := {4}, q := {5})"
_CHAN_PAIRS = (
    "lambda a, b: struct_pack(n := a.n + b.n, x := a.x + (b.x - a.x) * b.n / (a.n + b.n),"
    " y := a.y + (b.y - a.y) * b.n / (a.n + b.n),"
    " c := a.c + b.c + (b.x - a.x) * (b.y - a.y) * a.n * b.n / (a.n + b.n),"
    " p := a.p + b.p + (b.x - a.x) * (b.x - a.x) * a.n * b.n / (a.n + b.n),"
    " q := a.q + b.q + (b.y - a.y) * (b.y - a.y) * a.n * b.n / (a.n + b.n))"
)


def _covariance(name: str, complete: str, finish: str, *, doc: str, answer: str) -> AggregateFunction:
    rows = "regr_count({distinct}{1}, {0}){over}"
    return Page(f"{name}(y, x)", doc, f"{name}(x, y) -> {answer}").aggregate(
        with_timestamps(takes(DOUBLE, DOUBLE)),
        DOUBLE,
        complete,
        partials=(
            f"CAST({rows} AS DOUBLE)",
            "regr_avgx({distinct}{1}, {0}){over}",
            "regr_avgy({distinct}{1}, {0}){over}",
            f"covar_pop({{distinct}}{{0}}, {{1}}){{over}} * {rows}",
            "regr_sxx({distinct}{1}, {0}){over}",
            "regr_syy({distinct}{1}, {0}){over}",
        ),
        partial_types=lambda _types: (DOUBLE,) * 6,
        merges=("sum({0})", *(_merged(_PAIRS, _CHAN_PAIRS, part) for part in "xycpq")),
        finish=finish,
    )


def _regression(name: str, finish: str, *, doc: str, answer: str) -> AggregateFunction:
    """A regression of the first on the second argument: {0} rows, {1} and {2} means, {3} … {5} sums of products."""
    row = _covariance(name, f"{name}({{distinct}}{{0}}, {{1}}){{over}}", finish, doc=doc, answer=answer)
    return replace(row, result=returns(BIGINT)) if name == "regr_count" else row


_ROOT_POP = "sqrt({2} / nullif({0}, 0))"
_ROOT_SAMPLE = "CASE WHEN {0} > 1 THEN sqrt({2} / ({0} - 1)) END"

_SLOPE = "({3} / nullif({5}, 0))"

_ROWS = "count({distinct}{0}){over}"


def _shape(name: str, lowering: str, *, doc: str, answer: str) -> AggregateFunction:
    """An aggregate of the third and fourth moments, without mergeable states."""
    return Page(f"{name}(x)", doc, f"{name}(x) -> {answer}").aggregate(with_timestamps(takes(DOUBLE)), DOUBLE, lowering)


MOMENT_AGGREGATES = (
    _shape(
        "kurtosis",
        "CASE WHEN stddev_pop({distinct}{0}){over} > 0 THEN kurtosis_pop({distinct}{0}){over} END",
        doc="excess kurtosis of a population",
        answer="-2.0",
    ),
    # DuckDB computes the skewness of a sample, and none for two rows.
    _shape(
        "skewness",
        "CASE WHEN stddev_pop({distinct}{0}){over} > 0 THEN coalesce("
        f"skewness({{distinct}}{{0}}){{over}} * ({_ROWS} - 2) / sqrt({_ROWS} * ({_ROWS} - 1)), 0) END",
        doc="skewness of a population",
        answer="0.0",
    ),
    _variance(
        "var_pop",
        "var_pop({distinct}{0}){over}",
        "({2} / nullif({0}, 0))",
        doc="variance of a population",
        answer="1.0",
        aliases=("var", "variance"),
    ),
    _variance(
        "var_samp",
        "var_samp({distinct}{0}){over}",
        "CASE WHEN {0} > 1 THEN {2} / ({0} - 1) END",
        doc="variance of a sample",
        answer="2.0",
    ),
    _variance(
        "stddev_pop",
        "stddev_pop({distinct}{0}){over}",
        _ROOT_POP,
        doc="standard deviation of a population",
        answer="1.0",
        aliases=("std", "stddev"),
    ),
    _variance(
        "stddev_samp",
        "stddev_samp({distinct}{0}){over}",
        _ROOT_SAMPLE,
        doc="standard deviation of a sample",
        answer="1.4142135623730951",
    ),
    _covariance(
        "covar_pop",
        "covar_pop({distinct}{0}, {1}){over}",
        "({3} / nullif({0}, 0))",
        doc="covariance of a population",
        answer="1.0",
    ),
    _covariance(
        "covar_samp",
        "covar_samp({distinct}{0}, {1}){over}",
        "CASE WHEN {0} > 1 THEN {3} / ({0} - 1) END",
        doc="covariance of a sample",
        answer="2.0",
    ),
    _covariance(
        "corr",
        "CASE WHEN regr_sxx({distinct}{1}, {0}){over} > 0 AND regr_syy({distinct}{1}, {0}){over} > 0"
        " THEN corr({distinct}{0}, {1}){over} END",
        "({3} / nullif(sqrt({4} * {5}), 0))",
        doc="Pearson's correlation; NULL if one side has only one value",
        answer="1.0",
    ),
    _regression(
        "regr_count",
        "CAST(coalesce({0}, 0) AS BIGINT)",
        doc="number of rows in which neither argument is NULL",
        answer="2",
    ),
    _regression(
        "regr_avgx", "{2}", doc="mean of the second argument, over rows in which neither is NULL", answer="3.0"
    ),
    _regression("regr_avgy", "{1}", doc="mean of the first argument, over rows in which neither is NULL", answer="2.0"),
    _regression("regr_sxx", "{5}", doc="sum of squared distances of the second argument from its mean", answer="2.0"),
    _regression("regr_syy", "{4}", doc="sum of squared distances of the first argument from its mean", answer="2.0"),
    _regression(
        "regr_sxy", "{3}", doc="sum of the products of both arguments' distances from their means", answer="2.0"
    ),
    _regression("regr_slope", _SLOPE, doc="slope of the line that fits best", answer="1.0"),
    _regression(
        "regr_intercept", f"({{1}} - {_SLOPE} * {{2}})", doc="the intercept of the line that fits best", answer="-1.0"
    ),
    _regression(
        "regr_r2",
        "CASE WHEN {5} = 0 THEN NULL WHEN {4} = 0 THEN 1 ELSE {3} * {3} / ({4} * {5}) END",
        doc="share of the variance that the line that fits best explains",
        answer="1.0",
    ),
)
