"""PageRank against the linear equations that it solves, and as called by GENERATE."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.errors import ColumnNotFoundError, DataError, NotFittedError, ParameterError, UnsupportedError
from sharkpy.ml import PageRank
from sharkpy.ml.graph.page_rank import page_rank
from sharkpy.ml.graph.pregel import Graph
from sharkpy.ml.models.estimator import ConvergenceWarning
from tests.ml.graph_programs import Edges, columns, dense_ranks, random_edges

WEIGHTED = random_edges(80, 300)
EQUAL = [(source, target, 1.0) for source, target, _ in WEIGHTED]
ALL = np.arange(80)
edge_lists = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.0, 0.25, 1.0, 3.0])), min_size=1, max_size=30
)


@settings(max_examples=40, deadline=None)
@given(edges=edge_lists, partitions=st.integers(1, 4), damping=st.sampled_from([0.0, 0.5, 0.85, 0.99]))
def test_any_graph_with_weights(edges: Edges, partitions: int, damping: float) -> None:
    model = PageRank(damping, partitions=partitions, max_iter=5000).fit(columns(edges), vertices=np.arange(10))
    np.testing.assert_allclose(model.ranks_, dense_ranks(10, edges, damping=damping), rtol=0, atol=1e-9)
    assert model.ranks_.sum() == pytest.approx(1, abs=1e-12)
    assert model.error_ <= 1e-9


@pytest.mark.parametrize("partitions", [1, 7])
def test_without_weights(partitions: int) -> None:
    source, target, _ = columns(EQUAL)
    model = PageRank(partitions=partitions)
    assert model.fit((source, target), vertices=ALL) is model
    assert model.vertices_.tolist() == ALL.tolist()
    np.testing.assert_allclose(model.ranks_, dense_ranks(80, EQUAL), rtol=0, atol=1e-9)
    assert (model.n_vertices_, model.n_edges_) == (80, 300)
    assert 10 < model.n_iter_ < 140
    np.testing.assert_array_equal(model.transform([5, 3, 5]), model.ranks_[[5, 3, 5]])


@pytest.mark.parametrize("form", ["dict", "columns", "frame"])
def test_personalized(form: str) -> None:
    share = np.zeros(80)
    share[[3, 60]] = [1, 2]
    given = {
        "dict": dict(enumerate(share.tolist())),
        "columns": (ALL, share),
        "frame": pd.DataFrame({"vertex": ALL, "weight": share}),
    }[form]
    model = PageRank(partitions=3).fit(columns(WEIGHTED), personalization=given)
    np.testing.assert_allclose(model.ranks_, dense_ranks(80, WEIGHTED, share), rtol=0, atol=1e-9)


def test_vertices_that_are_not_listed_weigh_nothing() -> None:
    share = (ALL == 4).astype(float)
    model = PageRank().fit((ALL, (ALL + 1) % 80), personalization={4: 0.1})
    np.testing.assert_allclose(
        model.ranks_, dense_ranks(80, [(v, (v + 1) % 80, 1.0) for v in range(80)], share), atol=1e-9
    )


def test_the_default_iterations_suffice_for_the_slowest_graph() -> None:
    """On two cycles the walker's memory fades only by the damping."""
    edges = [(0, 1, 1.0), (1, 0, 1.0), (2, 3, 1.0), (3, 2, 1.0), (4, 0, 1.0)]
    source, target, _ = columns(edges)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PageRank().fit((source, target), personalization={4: 1.0})
    np.testing.assert_allclose(model.ranks_, dense_ranks(5, edges, np.eye(5)[4]), atol=1e-9)


def test_too_few_iterations_warn_and_say_how_far_off() -> None:
    source, target, _ = columns(EQUAL)
    with pytest.warns(ConvergenceWarning, match="the ranks may be off by"):
        model = PageRank(max_iter=5).fit((source, target), vertices=ALL)
    assert model.n_iter_ == 5
    distance = np.abs(model.ranks_ - dense_ranks(80, EQUAL)).sum()
    assert 1e-9 < distance <= model.error_


def test_a_graph_is_dealt_once_for_several_models() -> None:
    graph = Graph.of(ALL, columns(WEIGHTED), partitions=2)
    for damping in (0.5, 0.85):
        found = PageRank(damping).fit(graph).ranks_
        np.testing.assert_allclose(found, dense_ranks(80, WEIGHTED, damping=damping), atol=1e-9)


@pytest.mark.variants(2)
def test_of_tables(context: sharkpy.SharkContext) -> None:
    source, target, weight = columns(WEIGHTED)
    names = np.array([f"airport {one:02}" for one in range(80)])
    table = pa.table({"carrier": ["x"] * 300, "origin": names[source], "dest": names[target], "flights": weight})
    context.save_as_table(table, "routes", mode="overwrite")
    expected = dense_ranks(80, WEIGHTED)
    model = PageRank(partitions=3).fit(
        "routes", source="origin", target="dest", weight="FLIGHTS", vertices=names, session=context
    )
    np.testing.assert_allclose(model.ranks_, expected, rtol=0, atol=1e-9)
    assert model.vertices_.tolist() == names.tolist()
    with pytest.raises(UnsupportedError, match="transform of a TableRDD"):
        model.transform(context.sql2rdd("SELECT origin FROM routes"))
    model.save_as_table("ranks", mode="overwrite")
    assert context.sql("SELECT count(*), round(sum(rank), 9) FROM ranks").fetchall() == [(80, 1.0)]
    best = context.sql("SELECT vertex FROM ranks ORDER BY rank DESC LIMIT 1").fetchall()
    assert best == [(names[expected.argmax()],)]
    plain = page_rank(context.sql2rdd("SELECT origin, dest, flights FROM routes"), tol=1e-11)
    assert plain.schema.names == ("vertex", "rank")
    found = {row.vertex: row.rank for row in plain.collect()}
    seen = sorted(set(source.tolist()) | set(target.tolist()))
    number = {vertex: place for place, vertex in enumerate(seen)}
    equal = [(number[one], number[other], 1.0) for one, other, _ in WEIGHTED]
    np.testing.assert_allclose([found[names[one]] for one in seen], dense_ranks(len(seen), equal), atol=1e-9)


@pytest.mark.variants(2)
def test_by_generate(context: sharkpy.SharkContext) -> None:
    """GENERATE calls `page_rank`; `vertices` and `personalization` are queries there."""
    source, target, weight = columns(WEIGHTED)
    context.save_as_table(pa.table({"s": source, "t": target, "w": weight}), "links", mode="overwrite")
    context.sql("DROP TABLE IF EXISTS generated")
    everyone = "(SELECT explode(sequence(0, 79)) AS v)"
    context.sql(f"GENERATE PageRank(links, 's', 't', 'w', vertices => {everyone}, tol => 1e-10) AS TABLE generated")
    rows = context.sql("SELECT vertex, rank FROM generated ORDER BY vertex").fetchall()
    assert [vertex for vertex, _ in rows] == ALL.tolist()
    np.testing.assert_allclose([rank for _, rank in rows], dense_ranks(80, WEIGHTED), rtol=0, atol=1e-9)
    share = "(SELECT v, IF(v = 7, 1.0, 0.0) AS w FROM (SELECT explode(sequence(0, 79)) AS v) q)"
    rows = context.sql(f"GENERATE PageRank(links, weight => 'w', personalization => {share})").fetchall()
    personal = dense_ranks(80, WEIGHTED, (ALL == 7).astype(float))
    np.testing.assert_allclose([rank for _, rank in sorted(rows)], personal, rtol=0, atol=1e-9)


@pytest.mark.spark
def test_tasks_give_the_same_bits_as_this_process(tasks: sharkpy.SharkContext) -> None:
    edges = columns(random_edges(2000, 9000))
    models = [PageRank(partitions=4).fit(edges, session=session) for session in (None, tasks)]
    np.testing.assert_array_equal(models[0].ranks_, models[1].ranks_)
    assert models[0].n_iter_ == models[1].n_iter_


def test_bad_input() -> None:
    source, target, weight = columns(WEIGHTED)
    edges = (source, target)
    with pytest.raises(DataError, match="there are no vertices"):
        PageRank().fit([])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(DataError, match=f"a weight of edges is {bad}"):
            PageRank().fit((*edges, np.where(weight == weight[7], bad, weight)))
        with pytest.raises(DataError, match=f"a weight of vertices is {bad}"):
            PageRank().fit(edges, personalization={0: bad, 1: 1.0})
    with pytest.raises(DataError, match="the weights of all vertices are 0"):
        PageRank().fit(edges, personalization={0: 0.0})
    with pytest.raises(DataError, match="vertices and personalization"):
        PageRank().fit(edges, vertices=ALL, personalization={0: 1.0})
    with pytest.raises(DataError, match="a Graph has its vertices"):
        PageRank().fit(Graph.of(None, edges), vertices=ALL)
    with pytest.raises(ColumnNotFoundError, match='no column "dst"; there are a, b'):
        PageRank().fit(pa.table({"a": source, "b": target}), target="dst")
    with pytest.raises(DataError, match="the graph has no vertex 99"):
        PageRank().fit(edges).transform([0, 99])
    with pytest.raises(NotFittedError):
        PageRank().ranks_  # noqa: B018 - it raises
    with pytest.raises(UnsupportedError):
        PageRank().fit(edges).to_json()


@pytest.mark.parametrize(
    "parameters", [{"damping": 1}, {"damping": -0.1}, {"tol": 0}, {"max_iter": 0}, {"partitions": 0}]
)
def test_bad_parameters(parameters: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        PageRank(**parameters).fit([(1, 2)])  # type: ignore[arg-type]


def test_parameters_are_as_scikit_learn_has_them() -> None:
    model = PageRank(0.9, max_iter=7)
    assert model.get_params() == {
        "damping": 0.9,
        "tol": 1e-9,
        "max_iter": 7,
        "partitions": None,
        "checkpoint_every": 10,
    }
    assert repr(model.clone().set_params(tol=0.1)) == "PageRank(damping=0.9, tol=0.1, max_iter=7)"
