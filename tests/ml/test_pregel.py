"""Pregel: programs against plain Python, for any partitions, in this process and as tasks; bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.errors import (
    ColumnNotFoundError,
    DataError,
    ExecutionError,
    ParameterError,
    SharkError,
    TypeMismatchError,
)
from sharkpy.ml.graph.pregel import Graph, Messages, Outcome, VertexBlock, pregel
from tests.ml.graph_programs import (
    SMALL,
    Edges,
    add_received,
    columns,
    components,
    dijkstra,
    distances_from,
    least_label,
    make_roads,
    random_edges,
    rank,
    shortest_paths,
)


def spread(edges: Edges) -> Edges:
    """Spread the ids over all of 64 bits: the k-th vertex by ascending id is vertex k."""
    return [(vertex_id(source), vertex_id(target), value) for source, target, value in edges]


def vertex_id(vertex: int) -> int:
    return (vertex - 30) * ((1 << 62) // 31)


edge_lists = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12), st.sampled_from([0.0, 0.5, 1.0, 2.5])), max_size=40
)


@settings(max_examples=40, deadline=None)
@given(edges=edge_lists, partitions=st.integers(1, 5))
def test_components_of_any_graph(edges: Edges, partitions: int) -> None:
    source, target, _ = columns(edges)
    result = pregel(np.arange(13), (source, target), 0, least_label, "min", partitions=partitions, undirected=True)
    assert result.ids.tolist() == list(range(13))
    assert result.values.tolist() == components(13, edges)
    assert result.has_halted


@settings(max_examples=40, deadline=None)
@given(edges=edge_lists, partitions=st.integers(1, 5))
def test_shortest_paths_of_any_graph(edges: Edges, partitions: int) -> None:
    result = pregel(np.arange(13), columns(edges), distances_from(0), shortest_paths, "min", partitions=partitions)
    assert result.values.tolist() == dijkstra(13, edges, 0)


@pytest.mark.parametrize("combine", ["max", np.maximum, lambda left, right: np.where(left < right, right, left)])
def test_the_greatest_by_name_ufunc_or_function(combine: object) -> None:
    def greatest(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        """Pass on the greatest value. Values are positive, so the message of a vertex without messages does not
        matter.
        """
        values = np.maximum(vertices.values, messages.values)
        return Outcome(values, values, where=values > vertices.values if superstep else None)

    source, target, _ = columns(SMALL)
    result = pregel(None, (source, target), lambda block: block.ids + 1, greatest, combine, partitions=3)  # type: ignore[arg-type]
    expected = {int(vertex): int(vertex) + 1 for vertex in result.ids}
    for _ in expected:
        for one, other, _ in SMALL:
            expected[other] = max(expected[other], expected[one])
    assert dict(zip(result.ids.tolist(), result.values.tolist(), strict=True)) == expected


@pytest.mark.variants(3)
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "float32", "float64", "bool"])
@pytest.mark.parametrize("combine", ["sum", "min", "max", np.add])
def test_messages_of_any_type(dtype: str, combine: str) -> None:
    """A star: three vertices send to a fourth one."""
    sent = np.array([0, 1, 1, 0], dtype)

    def send_once(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        if superstep == 0:
            return Outcome(send=sent[vertices.ids])
        return Outcome(np.where(messages.received, messages.values, -1))

    result = pregel(None, (np.array([0, 1, 2]), np.array([3, 3, 3])), 0.0, send_once, combine, partitions=2)
    found = {"sum": 2, "min": 0, "max": 1}.get(combine, 2) if isinstance(combine, str) else 2
    if dtype == "bool" and combine is np.add:
        found = 1
    assert result.values.tolist() == [0, 0, 0, found]


def test_sums_of_integers_are_wide() -> None:
    """300 vertices send 100 as a byte."""

    def send_once(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        if superstep == 0:
            return Outcome(send=np.full(len(vertices), 100, np.int8))
        return Outcome(messages.values)

    result = pregel(None, (np.arange(1, 301), np.zeros(300, int)), 0, send_once, partitions=3)
    assert result.values[0] == 30_000


def test_nan_is_least_and_greatest() -> None:
    def send_once(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        if superstep == 0:
            return Outcome(send=np.where(vertices.ids == 1, np.nan, vertices.ids))
        return Outcome(np.where(messages.received, messages.values, 0))

    for combine in ("min", "max", "sum"):
        for partitions in (1, 4):
            edges = (np.array([0, 1, 2]), np.array([3, 3, 3]))
            result = pregel(None, edges, 0.0, send_once, combine, partitions=partitions)
            assert np.isnan(result.values[3])


@pytest.mark.parametrize("share", [1.0, 0.6, 0.05])
def test_few_or_many_senders_send_the_same(share: float) -> None:
    """The edges that carry messages are found in three ways, which depend on how many there are."""
    edges = random_edges(400, 3000)
    chosen = np.random.default_rng(1).random(400) < share

    def send_some(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        if superstep == 0:
            return Outcome(send=vertices.ids + 1, where=chosen[vertices.ids], along=np.multiply)
        assert (messages.values[~messages.received] == 0).all()
        return Outcome(messages.values)

    result = pregel(np.arange(400), columns(edges), -1.0, send_some, partitions=2)
    expected = np.full(400, -1.0)
    for source, target, value in edges:
        if chosen[source]:
            expected[target] = max(expected[target], 0) + (source + 1) * value
    np.testing.assert_allclose(result.values, expected)


def test_a_loop_and_an_edge_there_twice_carry_a_message_each() -> None:
    result = pregel(None, (np.array([7, 7, 7]), np.array([7, 8, 8])), 1, add_received, partitions=2)
    assert dict(zip(result.ids.tolist(), result.values.tolist(), strict=True)) == {7: 2, 8: 3}


def test_in_an_undirected_graph_a_loop_has_one_direction() -> None:
    result = pregel(None, (np.array([7, 7]), np.array([7, 8])), 1, add_received, undirected=True)
    assert dict(zip(result.ids.tolist(), result.values.tolist(), strict=True)) == {7: 3, 8: 2}


def test_vertices_that_only_edges_name_are_added() -> None:
    listed = (np.array([5, 9]), np.array([10.0, 20.0]))
    result = pregel(listed, (np.array([1]), np.array([5])), 1.5, add_received)
    assert dict(zip(result.ids.tolist(), result.values.tolist(), strict=True)) == {1: 1.5, 5: 11.5, 9: 20.0}


def test_records_are_values_of_vertices() -> None:
    def count(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        values = vertices.values.copy()
        values["steps"] += 1
        values["heard"] += messages.values
        return Outcome(values, np.ones(len(vertices)) if superstep < 2 else None)

    initial = np.zeros(1, [("steps", "i4"), ("heard", "f8")])[0]
    result = pregel(None, (np.array([1, 2]), np.array([2, 1])), initial, count)
    assert result.to_arrow().to_pylist() == [
        {"vertex": 1, "steps": 3, "heard": 2.0},
        {"vertex": 2, "steps": 3, "heard": 2.0},
    ]
    records = np.array([(4, 1.0)], initial.dtype)
    listed = pregel((np.array([2]), records), (np.array([1, 2]), np.array([2, 1])), initial, count)
    assert listed.values.tolist() == [(3, 2.0), (7, 3.0)]


def test_an_empty_graph() -> None:
    for edges in (
        [],
        (np.empty(0, int), np.empty(0, int)),
        pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}),
    ):
        result = pregel(None, edges, 0.0, rank, partitions=3)
        assert (len(result.ids), result.values.tolist(), result.num_supersteps) == (0, [], 1)
    assert pregel([3, 1], [], 2.5, add_received).to_arrow().to_pylist() == [
        {"vertex": 1, "value": 2.5},
        {"vertex": 3, "value": 2.5},
    ]


@pytest.mark.parametrize("form", ["array", "arrow", "pandas", "polars", "list"])
def test_edges_of_any_kind(form: str) -> None:
    source, target, _ = columns(SMALL)
    table = pa.table({"a": source, "b": target})
    edges = {
        "array": np.stack([source, target], axis=1),
        "arrow": table,
        "pandas": pd.DataFrame({"a": source, "b": target}),
        "polars": pl.DataFrame({"a": source, "b": target}),
        "list": list(zip(source.tolist(), target.tolist(), strict=True)),
    }[form]
    result = pregel(np.arange(60), edges, 0, least_label, "min", undirected=True)
    assert result.values.tolist() == components(60, SMALL)


@pytest.mark.parametrize("partitions", [1, 4])
def test_ids_of_any_integers_and_strings(partitions: int) -> None:
    expected = dijkstra(60, SMALL, 3)
    source, target, value = columns(spread(SMALL))
    vertices = np.array([vertex_id(vertex) for vertex in range(60)])
    result = pregel(
        vertices, (source, target, value), distances_from(vertex_id(3)), shortest_paths, "min", partitions=partitions
    )
    assert result.values.tolist() == expected
    assert result.ids.tolist() == vertices.tolist()
    names = [f"v{vertex:02}é" for vertex in range(60)]
    source, target, value = columns(SMALL)
    edges = pa.table({"s": [names[one] for one in source], "t": [names[one] for one in target], "value": value})
    result = pregel(names, edges, distances_from(names[3]), shortest_paths, "min", partitions=partitions)  # type: ignore[arg-type]
    assert (result.ids.tolist(), result.values.tolist()) == (names, expected)


def test_the_order_of_edges_and_pieces_does_not_matter() -> None:
    edges = [(source, target, value * 10 ** (source % 7)) for source, target, value in random_edges(30, 400)]
    order = np.random.default_rng(2).permutation(len(edges))
    results = [
        pregel(
            None, tuple(column[which] for column in columns(edges)), 1.0, weighted_sums, max_supersteps=4, partitions=3
        )
        for which in (slice(None), order)
    ]
    assert results[0].values.tolist() == results[1].values.tolist()


def weighted_sums(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
    del superstep
    values = 0.3 * vertices.values + messages.values
    return Outcome(values, values, along=np.multiply, halt=False)


# Supersteps and their end


def test_aggregates_are_of_active_vertices_and_seen_in_the_next_superstep() -> None:
    """Vertices 1 to 5 halt one after the other; each one's value is the sum that it saw last."""

    def program(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        del messages
        ids = vertices.ids.astype(float)
        seen = np.full(len(vertices), vertices.aggregates.get("sum", -1.0))
        return Outcome(seen, halt=vertices.ids <= superstep + 1, aggregate={"sum": ids, "least": ids, "most": ids})

    for partitions in (1, 3):
        kinds = {"least": "min", "most": "max"}
        result = pregel(np.arange(1, 6), [], 0.0, program, aggregators=kinds, partitions=partitions)
        assert [found["sum"] for found in result.history] == [15, 14, 12, 9, 5]
        assert [found["least"] for found in result.history] == [1, 2, 3, 4, 5]
        assert [found["most"] for found in result.history] == [5] * 5
        assert result.values.tolist() == [-1, 15, 14, 12, 9]
        assert result.has_halted


def test_partitions_at_rest_have_no_task() -> None:
    """A path: from the second superstep on one vertex computes, and its message is delivered once."""
    computed: list[int] = []

    def count(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        computed.append(superstep)
        return Outcome(vertices.values + messages.received, np.ones(len(vertices)), vertices.ids == superstep)

    result = pregel(None, (np.arange(9), np.arange(1, 10)), 0, count, partitions=5, max_supersteps=30)
    assert result.values.tolist() == [0] + [1] * 9
    assert (result.num_supersteps, result.has_halted) == (10, True)
    assert computed == [0] * 5 + list(range(1, 10))


def test_until_and_max_supersteps_end_the_program() -> None:
    edges = columns(SMALL)[:2]
    result = pregel(None, edges, 0.0, rank, max_supersteps=3)
    assert (result.num_supersteps, result.has_halted) == (3, False)
    until = pregel(None, edges, 0.0, rank, aggregators={"largest": "max"}, until=lambda found: found["largest"] > 0.03)
    assert until.aggregates["largest"] == until.values.max() > 0.03


def test_a_halted_vertex_keeps_its_value_and_sends_nothing() -> None:
    """Vertex 1 halts at once; the program still computes an outcome for it, as for an active one."""

    def program(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        del messages
        return Outcome(
            vertices.values + 1,
            vertices.values,
            halt=(vertices.ids == 1) | (superstep == 3),
            aggregate={"n": vertices.values >= 0},
        )

    result = pregel(None, (np.array([1]), np.array([2])), 0, program, partitions=1, max_supersteps=9)
    assert result.values.tolist() == [1, 4]
    assert [int(found["n"]) for found in result.history] == [2, 1, 1, 1]


# What does not fit


def fails(error: type[SharkError], text: str, **given: object) -> SharkError:
    arguments = {"vertices": None, "edges": columns(SMALL)[:2], "initial": 0.0, "compute": rank} | given
    with pytest.raises(error) as raised:
        pregel(**arguments)  # type: ignore[arg-type]
    assert text in str(raised.value)
    return raised.value


def test_bad_edges_and_vertices() -> None:
    ids = np.arange(3)
    fails(DataError, "1 of 3 targets of edges are NULL", edges=pa.table({"a": [1, 2, 3], "b": [1, None, 2]}))
    fails(
        DataError, "1 of 3 sources of edges are NULL", edges=pd.DataFrame({"a": ["x", None, "y"], "b": ["x", "y", "z"]})
    )
    fails(DataError, "1 of 2 ids of vertices are NULL", vertices=pa.array([1, None]))
    fails(DataError, "1 of 3 values of edges are NULL", edges=pa.table({"a": ids, "b": ids, "c": [1.0, None, 2.0]}))
    fails(TypeMismatchError, "sources of edges are of type double", edges=(ids + 0.5, ids))
    fails(TypeMismatchError, "values of edges are not numeric", edges=(ids, ids, np.array(["a", "b", "c"])))
    fails(DataError, "different lengths: 2, 3", edges=(ids, ids[:2]))
    fails(DataError, "edges have 4 columns", edges=(ids, ids, ids, ids))
    fails(DataError, "edges have 1 columns", edges=ids)
    fails(DataError, "int64 and large_string", edges=(ids, ["a", "b", "c"]))
    fails(DataError, "some vertex ids are integers and others strings", vertices=["a"])
    fails(DataError, "vertex 2 is 2 times", vertices=(np.array([2, 1, 2]), np.zeros(3)))
    fails(DataError, "do not fit 64-bit integers", edges=(np.array([1 << 63], np.uint64), ids[:1]))


def test_bad_parameters() -> None:
    fails(ParameterError, "combine must be", combine="mean")
    fails(ParameterError, 'aggregator "x" must be one of', aggregators={"x": "mean"})
    fails(ParameterError, '"max_supersteps"', max_supersteps=0)
    fails(ParameterError, '"checkpoint_every"', checkpoint_every=0)
    fails(ParameterError, '"partitions"', partitions=0)
    fails(ParameterError, "a Graph has its vertices", edges=Graph.of(None, [(1, 2)]), vertices=[1])
    fails(TypeMismatchError, "initial is neither", initial="a")


def test_what_programs_say_is_checked(context: sharkpy.SharkContext) -> None:
    def short(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        del messages, superstep
        return Outcome(send=vertices.values[1:])

    failed = fails(
        ExecutionError, "failed in superstep 1 of partition 0: ZeroDivisionError", compute=divides, session=context
    )
    assert 'the function "divides"' in str(failed)
    assert "return 1 // (superstep - 1)" in str(failed)
    fails(DataError, '"short" returned "send" of shape', compute=short, session=context)
    fails(DataError, "returned tuple, not Outcome", compute=lambda *_: (1, 2), session=context)
    fails(DataError, "returned values of float64; vertices have int64", initial=0, session=context)
    fails(DataError, "the edges have no values", compute=shortest_paths, initial=0.0, session=context)
    fails(DataError, "made values of", initial=lambda _: np.zeros(1), session=context)


def divides(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
    del messages
    return Outcome(send=vertices.values + quotient(superstep), halt=False)


def quotient(superstep: int) -> int:
    return 1 // (superstep - 1)


@pytest.mark.spark
def test_a_table_with_other_columns(tasks: sharkpy.SharkContext) -> None:
    make_roads(tasks)
    four = tasks.sql2rdd("SELECT s, t, length, s AS more FROM roads")
    fails(DataError, "edges have 4 columns", edges=four)
    with pytest.raises(ColumnNotFoundError, match='edges have no column "lenght"'):
        Graph.of(None, four, columns=("s", "t", "lenght"))
    assert Graph.of(None, four, columns=("s", "t", "length"), partitions=2).num_edges == len(SMALL)
    nulls = tasks.sql2rdd("SELECT s, IF(s = 3, NULL, t) AS t FROM roads")
    fails(DataError, "targets of edges are NULL", edges=nulls)
