"""Figures of the operators of a stage's query, from DuckDB's profile, in a form that can be summed over tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sharkpy.physical.stage_program import FileColumns, StageInput

SCAN = "scan"
_FILE_SCAN = "READ_PARQUET"
STEP = "step"
"""Kind of Python code between two queries, whose figures do not come from DuckDB."""
KINDS: dict[str, str] = {
    "TABLE_SCAN": SCAN,
    "ARROW_SCAN": SCAN,
    "FILTER": "filter",
    "PROJECTION": "project",
    "HASH_GROUP_BY": "aggregate",
    "PERFECT_HASH_GROUP_BY": "aggregate",
    "PARTITIONED_AGGREGATE": "aggregate",
    "SIMPLE_AGGREGATE": "aggregate",
    "UNGROUPED_AGGREGATE": "aggregate",
    "HASH_JOIN": "join",
    "NESTED_LOOP_JOIN": "join",
    "BLOCKWISE_NL_JOIN": "join",
    "PIECEWISE_MERGE_JOIN": "join",
    "IE_JOIN": "join",
    "ASOF_JOIN": "join",
    "CROSS_PRODUCT": "join",
    "LEFT_DELIM_JOIN": "join",
    "RIGHT_DELIM_JOIN": "join",
    "WINDOW": "window",
    "STREAMING_WINDOW": "window",
    "ORDER_BY": "sort",
    "TOP_N": "top_n",
    "LIMIT": "limit",
    "STREAMING_LIMIT": "limit",
    "UNION": "union",
    "UNNEST": "unnest",
}
"""Kind of each DuckDB operator; any other has its own name in lower case."""


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """Figures of one operator over the inputs `relations`.

    `seconds` is the time of all threads, `size_bytes` the size of its output. `ordinal` counts operators of the same
    kind over the same relations, from the top.
    """

    kind: str
    relations: frozenset[str]
    ordinal: int
    rows: int
    size_bytes: int
    seconds: float


def read_figures(text: str, inputs: Iterable[StageInput]) -> list[OperatorFigures]:
    """Return the operators of a JSON profile, parents first, with the inputs that their scans read."""
    inputs = tuple(inputs)
    relations_of = _Relations(inputs)
    alone = frozenset(spec.relation for spec in inputs) if len(inputs) == 1 else frozenset()
    found: list[tuple[str, frozenset[str], Mapping[str, Any]]] = []
    profile = json.loads(text) if text else {}
    for root in profile.get("operator") or profile.get("children") or ():
        _visit(root, relations_of, alone, found)
    counts: dict[tuple[str, frozenset[str]], int] = {}
    figures = []
    for kind, relations, node in found:
        key = (kind, relations)
        ordinal = 0 if kind == SCAN else counts.get(key, 0)
        counts[key] = ordinal + 1
        rows, size = int(node.get("intermediate_rows", 0)), int(node.get("intermediate_size_bytes", 0))
        figures.append(OperatorFigures(kind, relations, ordinal, rows, size, float(node.get("timing", 0.0))))
    return figures


def sum_figures(tasks: Iterable[Iterable[OperatorFigures]]) -> tuple[OperatorFigures, ...]:
    """Sum the figures of equal operators, in the order of their first occurrence."""
    sums: dict[tuple[str, frozenset[str], int], OperatorFigures] = {}
    for task in tasks:
        for one in task:
            key = (one.kind, one.relations, one.ordinal)
            if (so_far := sums.get(key)) is not None:
                one = OperatorFigures(
                    *key,
                    so_far.rows + one.rows,
                    so_far.size_bytes + one.size_bytes,
                    so_far.seconds + one.seconds,
                )
            sums[key] = one
    return tuple(sums.values())


class _Relations:
    """Inputs of a query; finds each scan's input by its column names.

    DuckDB reports Arrow columns with the query's names and file columns with the files' names, which inputs may share.
    Inputs that no scan has taken yet come first.
    """

    def __init__(self, inputs: Sequence[StageInput]) -> None:
        self._aliases = {alias: spec.relation for spec in inputs for alias in _aliases(spec)}
        self._files = {spec.relation: frozenset(spec.names) for spec in inputs if isinstance(spec, FileColumns)}
        self._taken: set[str] = set()

    def of_scan(self, node: Mapping[str, Any]) -> frozenset[str]:
        projections = (node.get("extra_info") or {}).get("Projections", ())
        names = frozenset([projections] if isinstance(projections, str) else projections)
        if _function(node) != _FILE_SCAN:
            return frozenset(self._aliases[name] for name in names if name in self._aliases)
        places = [relation for relation, stored in self._files.items() if names <= stored]
        places.sort(key=lambda relation: (relation in self._taken, len(self._files[relation])))
        self._taken.update(places[:1])
        return frozenset(places[:1])


def _aliases(spec: StageInput) -> Iterable[str]:
    return getattr(spec, "aliases", None) or spec.schema.names


def _visit(
    node: Mapping[str, Any],
    inputs: _Relations,
    alone: frozenset[str],
    found: list[tuple[str, frozenset[str], Mapping[str, Any]]],
) -> frozenset[str]:
    """Add `node` and its descendants to `found`, parents first. Return the relations that it reads."""
    name = str(node.get("type", ""))
    place = len(found)
    below = [_visit(child, inputs, alone, found) for child in node.get("children") or ()]
    relations = frozenset().union(*below)
    if _reads_input(node):
        # A scan that names no column reads the only input.
        relations = inputs.of_scan(node) or alone
    if name not in ("", "RESULT_COLLECTOR", "EXPLAIN_ANALYZE"):
        found.insert(place, (KINDS.get(name, name.lower()), relations, node))
    return relations


def _reads_input(node: Mapping[str, Any]) -> bool:
    """True if an operator scans Arrow data or files, not constants."""
    function = _function(node)
    return KINDS.get(str(node.get("type"))) == SCAN and ("ARROW" in function or function == _FILE_SCAN)


def _function(node: Mapping[str, Any]) -> str:
    return str((node.get("extra_info") or {}).get("Function", node.get("type")))
