"""PageRank as a vertex program (Malewicz et al., Pregel, 2010, section 5.1), with weights and dangling vertices."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError
from sharkpy.base.records import dataclass
from sharkpy.ml.graph.vertex_program import Messages, Outcome, VertexBlock

Array: TypeAlias = npt.NDArray[Any]
_VALUES = np.dtype([("rank", "<f8"), ("out", "<f8"), ("share", "<f8")])


@dataclass(frozen=True, slots=True)
class RandomWalk:
    """Vertex program of PageRank. Values are records: `rank`, `out` (weight of the edges that begin at the vertex), and
    `share` (given weight of the vertex for jumps).
    """

    damping: float
    is_personal: bool

    def start(self, vertices: VertexBlock) -> Array:
        """Return the initial values. Raise DataError for an invalid weight."""
        weights, sources = vertices.edges.values, vertices.edges.sources
        if weights is not None:
            _check_weights(weights, "edges")
        _check_weights(vertices.values, "vertices")
        values: Array = np.zeros(len(vertices), _VALUES)
        values["share"] = vertices.values if self.is_personal else 1.0
        values["out"] = (
            vertices.degrees if weights is None else np.bincount(sources, weights.astype(float), len(vertices))
        )
        return values

    def __call__(self, vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        """Run a superstep: 0 sums up the shares, 1 starts the walk, each later one is an iteration."""
        values = vertices.values.copy()
        if superstep == 0:
            return Outcome(values, halt=False, aggregate={"shares": values["share"]})
        if superstep == 1:
            if not vertices.aggregates["shares"] > 0:
                raise DataError("the weights of all vertices are 0")
            values["share"] /= vertices.aggregates["shares"]
            values["rank"] = values["share"]
        else:
            lost = self.damping * vertices.aggregates["dangling"] + 1 - self.damping
            values["rank"] = self.damping * messages.values + lost * values["share"]
        is_dangling = values["out"] == 0
        send = np.divide(values["rank"], values["out"], out=np.zeros(len(values)), where=~is_dangling)
        return Outcome(
            values,
            send,
            along=None if vertices.edges.values is None else np.multiply,
            halt=False,
            aggregate={
                "dangling": np.where(is_dangling, values["rank"], 0.0),
                "change": np.abs(values["rank"] - vertices.values["rank"]),
            },
        )


def _check_weights(weights: Array, what: str) -> None:
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise DataError(f"a weight of {what} is {weights[np.argmax(bad)]}; weights are finite and not negative")
