"""Built-in functions of GENERATE: one row each, from the name to the Python function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import sharkpy.ml
from sharkpy.base.errors import InternalError
from sharkpy.ml.generate.generated import Generated
from sharkpy.ml.generate.model_function import PREDICT, PROBABILITY, has_method
from sharkpy.ml.generate.predict_column import with_predictions
from sharkpy.udf.user.python_code import place_of
from sharkpy.udf.user.relation import TABLE, Kind, PythonRelation
from sharkpy.values.types import STRING, ArrayType

if TYPE_CHECKING:
    from sharkpy.ml.rdd.table_rdd import TableRDD

MODEL = "model"
"""Parameter with the name of the table that holds the fitted model."""
_KINDS: dict[str, Kind] = {"data": TABLE, "label": STRING, "features": ArrayType(STRING), "na": STRING, MODEL: STRING}
_OPTIONS = {"features": None, "na": "error", MODEL: None}
_Parameter = inspect.Parameter


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Class of `sharkpy.ml` that fits a model, as a function: it returns the table's columns and the model's
    predictions.

    Its parameters are the table, the label if the class needs one, the `leading` parameters of the class, and by name
    `features`, `na`, `model` and all other parameters of the class.
    """

    class_name: str
    leading: tuple[str, ...] = ()

    def __call__(self, name: str) -> PythonRelation:
        kind = getattr(sharkpy.ml, self.class_name)
        signature = inspect.Signature(self._parameters(kind))

        def call(*args: Any, **kwargs: Any) -> Generated:
            return _fitted(kind, **signature.bind(*args, **kwargs).arguments)

        kinds = {one: _KINDS[one] for one in signature.parameters if one in _KINDS}
        return PythonRelation(name, call, signature, kinds, None, place_of(kind), _doc(kind), is_built_in=True)

    def _parameters(self, kind: Any) -> list[inspect.Parameter]:
        own = {one.name: one for one in inspect.signature(kind).parameters.values()}
        first = [_Parameter("data", _Parameter.POSITIONAL_OR_KEYWORD)]
        if kind.requires_label:
            first.append(_Parameter("label", _Parameter.POSITIONAL_OR_KEYWORD))
        first += [own.pop(one).replace(kind=_Parameter.POSITIONAL_OR_KEYWORD) for one in self.leading]
        options = [_Parameter(one, _Parameter.KEYWORD_ONLY, default=default) for one, default in _OPTIONS.items()]
        return [*first, *options, *(one.replace(kind=_Parameter.KEYWORD_ONLY) for one in own.values())]


def _doc(target: object) -> str:
    return (inspect.getdoc(target) or "").split("\n")[0]


def _fitted(
    kind: Any,
    data: TableRDD,
    label: str | None = None,
    features: list[str] | None = None,
    na: str = "error",
    model: str | None = None,  # noqa: ARG001 - GENERATE keeps the model
    **parameters: Any,
) -> Generated:
    fitted = kind(**parameters).fit(data, label, features=features, na=na)
    columns = {fitted.prediction_column: PREDICT}
    if has_method(fitted, PROBABILITY):
        columns[PROBABILITY] = PROBABILITY
    return Generated(with_predictions(data, fitted, columns), fitted)


def _page_rank(name: str) -> PythonRelation:
    from sharkpy.ml.graph.page_rank import PageRank, page_rank

    not_given = ("session", "parameters")
    given = [one for name, one in inspect.signature(page_rank).parameters.items() if name not in not_given]
    own = inspect.signature(PageRank).parameters.values()
    signature = inspect.Signature([*given, *(one.replace(kind=_Parameter.KEYWORD_ONLY) for one in own)])
    kinds: dict[str, Kind] = dict.fromkeys(("edges", "vertices", "personalization"), TABLE)
    kinds |= dict.fromkeys(("source", "target", "weight"), STRING)
    place, doc = place_of(page_rank), _doc(page_rank)
    return PythonRelation(name, page_rank, signature, kinds, None, place, doc, is_built_in=True)


BUILT_IN: dict[str, Callable[[str], PythonRelation]] = {
    "kmeans": Algorithm("KMeans", ("n_clusters",)),
    "linearregression": Algorithm("LinearRegression"),
    "logisticregression": Algorithm("LogisticRegression"),
    "pagerank": _page_rank,
}
"""Makers of the functions by name; `udf/relation_functions.py` has a row with its usage for each."""


@cache
def built_in(name: str) -> PythonRelation:
    """Return the built-in function of that name, which the registry has checked."""
    if name not in BUILT_IN:
        raise InternalError(f'nothing is behind the function "{name}"')
    return BUILT_IN[name](name)


def of_rows(name: str) -> PythonRelation:
    """Return a table function of rows; its argument is the query that calls it."""
    signature = inspect.Signature([_Parameter("data", _Parameter.POSITIONAL_OR_KEYWORD)])
    kinds: dict[str, Kind] = {"data": TABLE}
    return PythonRelation(name, lambda data: data, signature, kinds, None, place_of(of_rows), is_built_in=True)
