"""PageRank (Page, Brin, Motwani, Winograd: The PageRank citation ranking, 1999) as a Pregel program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sharkpy.base.errors import DataError, NotFittedError, UnsupportedError
from sharkpy.ml.graph.graph import Graph
from sharkpy.ml.graph.page_rank_program import RandomWalk
from sharkpy.ml.graph.pregel import PregelResult, pregel
from sharkpy.ml.graph.vertex_ids import as_ids, find
from sharkpy.ml.models.estimator import (
    Estimator,
    Rule,
    integer_at_least,
    number_above,
    number_at_least,
    warn_not_converged,
)
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.ml.tables.save_table import save_as_table

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession

Array = npt.NDArray[Any]


class PageRank(Estimator):
    """PageRank of vertices: the share of time that a random walk spends at each. With probability `damping` the walk
    follows an edge from its vertex, else it jumps to any vertex of the graph.

    1. Ranks sum up to 1. From a vertex without outgoing edges the walk always jumps.
    2. `tol` bounds the distance to the exact ranks: the sum of absolute differences over all vertices. Each iteration
       shrinks it by `damping` at least, so 200 iterations at 0.85 reach any tolerance that doubles allow.
    3. With weights of edges, which are not negative, the walk takes an edge in proportion to its weight. A repeated
       edge counts as often as it occurs.
    4. With `personalization`, weights of vertices, the walk jumps to these in proportion. networkx has the same
       conventions.

    After `fit`: `vertices_` (ids, ascending) and `ranks_` in their order, `n_iter_`, `error_` (a bound of the
    distance), `n_vertices_`, `n_edges_`, `result_` (a PregelResult).
    """

    parameter_rules = {
        "damping": Rule("a number from 0 to below 1", lambda value: number_at_least(0).holds(value) and value < 1),  # type: ignore[operator]
        "tol": number_above(0),
        "max_iter": integer_at_least(1),
        "partitions": integer_at_least(1).or_none(),
        "checkpoint_every": integer_at_least(1),
    }
    result_: PregelResult
    n_iter_: int
    error_: float

    def __init__(
        self,
        damping: float = 0.85,
        tol: float = 1e-9,
        max_iter: int = 200,
        partitions: int | None = None,
        checkpoint_every: int = 10,
    ) -> None:
        """Parameters of the walk; `partitions`, `checkpoint_every`: see `pregel`."""
        self.damping = damping
        self.tol = tol
        self.max_iter = max_iter
        self.partitions = partitions
        self.checkpoint_every = checkpoint_every

    def fit(
        self,
        edges: object,
        y: None = None,
        *,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        vertices: object = None,
        personalization: object = None,
        session: EngineSession | None = None,
    ) -> Self:
        """Rank the vertices of `edges`, or of a `Graph`, see `pregel`.

        `source`, `target`, `weight`: columns of a table (default: the first two, without weights). The third column of
        a tuple of arrays, and the values of a Graph's edges, are weights. `vertices`: more vertices, which may have no
        edges. `personalization`: a dict from vertex to weight, or a table or tuple of vertices and weights; unlisted
        vertices have weight 0.

        Raise DataError if a weight is negative, NaN or infinite, if all are 0, or if there are no vertices.
        """
        del y
        self._check_parameters()
        graph = self._graph(edges, (source, target, weight), vertices, personalization, session)
        if not graph.num_vertices:
            raise DataError("there are no vertices to rank")
        walk = RandomWalk(self.damping, is_personal=personalization is not None)
        bound = self.damping / (1 - self.damping)
        result = pregel(
            None,
            graph,
            walk.start,
            walk,
            max_supersteps=self.max_iter + 2,
            checkpoint_every=self.checkpoint_every,
            until=lambda found: "change" in found and found["change"] * bound <= self.tol,
        )
        self.result_ = result
        self.n_iter_ = result.num_supersteps - 2
        self.error_ = float(result.aggregates["change"] * bound)
        self.n_vertices_, self.n_edges_ = graph.num_vertices, graph.num_edges
        if self.error_ > self.tol:
            warn_not_converged(self, f"the ranks may be off by {self.error_:.1e} in all", "raise max_iter")
        return self

    def _graph(
        self,
        edges: object,
        columns: tuple[str | None, str | None, str | None],
        vertices: object,
        personalization: object,
        session: EngineSession | None,
    ) -> Graph:
        if isinstance(edges, Graph):
            if vertices is not None or personalization is not None:
                raise DataError("a Graph has its vertices", hint="pass the data that it was made of")
            return edges
        if isinstance(personalization, Mapping):
            personalization = (list(personalization), list(personalization.values()))
        if personalization is not None and vertices is not None:
            raise DataError("vertices and personalization are given", hint="list all vertices in personalization")
        source, target, weight = columns
        is_named = any(columns) or not isinstance(edges, (tuple, list, np.ndarray))
        chosen: list[str | int] = [source or 0, target or 1, *([weight] if weight else ())]
        return Graph.of(
            vertices if personalization is None else personalization,
            edges,
            partitions=self.partitions,
            session=session,
            columns=chosen if is_named else None,
        )

    # Results

    @property
    def is_fitted(self) -> bool:
        return "result_" in vars(self)

    @property
    def vertices_(self) -> Array:
        return self._fitted().ids

    @property
    def ranks_(self) -> Array:
        return np.ascontiguousarray(self._fitted().values["rank"])

    def transform(self, vertices: object) -> Array:
        """Return the ranks of an array of vertices. Raise DataError that names a vertex missing from the graph."""
        if isinstance(vertices, TableRDD):
            raise UnsupportedError("transform of a TableRDD", hint="save_as_table, and join the ranks in SQL")
        ids = as_ids(vertices, "vertices")
        places = find(ids, as_ids(self.vertices_, "vertices"))
        if (places < 0).any():
            raise DataError(f"the graph has no vertex {ids[int(np.argmax(places < 0))].as_py()!r}")
        return self.ranks_[places]

    def to_arrow(self) -> pa.Table:
        """Return the ranks as a table of `vertex` and `rank`, by vertex."""
        return self._fitted().to_arrow().select(["vertex", "rank"])

    def to_table_rdd(self, session: EngineSession | None = None) -> TableRDD:
        """Return the ranks as a TableRDD of `vertex` and `rank`, in the order of partitions."""
        return self._fitted().to_table_rdd(session=session, columns=("rank",))

    def save_as_table(self, name: str, session: EngineSession | None = None, **how: Any) -> int:
        """Create a table of `vertex` and `rank`, see `SharkContext.save_as_table`. Return the number of vertices."""
        table = self.to_table_rdd(session)
        return save_as_table(table.session, table, name, **how)

    def to_json(self) -> str:
        raise UnsupportedError("a PageRank as a model file", hint="its ranks are a table: save_as_table")

    def _fitted(self) -> PregelResult:
        if not self.is_fitted:
            raise NotFittedError("this PageRank is not fitted yet", hint="call fit first")
        return self.result_


def page_rank(
    edges: object,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    *,
    vertices: object = None,
    personalization: object = None,
    session: EngineSession | None = None,
    **parameters: Any,
) -> TableRDD:
    """TableRDD of `vertex` and `rank` of all vertices. `parameters` go to PageRank, all other arguments to `fit`."""
    model = PageRank(**parameters).fit(
        edges,
        source=source,
        target=target,
        weight=weight,
        vertices=vertices,
        personalization=personalization,
        session=session,
    )
    return model.to_table_rdd(session)
