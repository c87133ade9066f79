"""Passes of k-means: kernels over one block for `FeatureBlocks.run`, and the combination of their results.

Centres are float64 of shape (centres, features). The compiled loops are imported only when a pass runs.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.records import dataclass
from sharkpy.ml.features.feature_blocks import FeatureBlock, FeatureBlocks

Array = npt.NDArray[Any]
_SAMPLED_RUN = 1024
Seed = tuple[int, ...]
"""Seed of a fit, followed by a key. Different keys give independent numbers."""


def random_numbers(seed: Seed) -> np.random.Generator:
    """Return random numbers of Philox, a counter-based generator. They depend only on the seed."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed[0], spawn_key=seed[1:])))


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells, the rows by their nearest centre: sums (centres, features), counts (centres,); inertia, the sum of d²."""

    sums: Array
    counts: Array
    inertia: float

    def __add__(self, other: Cells) -> Cells:
        return Cells(self.sums + other.sums, self.counts + other.counts, self.inertia + other.inertia)

    @classmethod
    def of(cls, blocks: FeatureBlocks, centres: Array) -> Cells:
        found: Cells = functools.reduce(operator.add, blocks.run(cells, centres))
        return found


def cells(block: FeatureBlock, centres: Array) -> Cells:
    from sharkpy.ml.models.kernels.nearest_centre import sum_by_centre

    return Cells(*sum_by_centre(block.X, centres))


def sampled_cells(block: FeatureBlock, argument: tuple[Array, float]) -> Cells:
    """Return cells of about a share of the block's rows, in runs spread evenly over it."""
    centres, share = argument
    step = max(_SAMPLED_RUN, int(_SAMPLED_RUN / share))
    parts = (block.X[start : start + _SAMPLED_RUN] for start in range(0, block.num_rows, step))
    return functools.reduce(
        operator.add, (cells(FeatureBlock(block.number, X), centres) for X in parts), _none(centres)
    )


def _none(centres: Array) -> Cells:
    return Cells(np.zeros(centres.shape), np.zeros(len(centres), np.int64), 0.0)


def nearest(block: FeatureBlock, centres: Array) -> tuple[Array, Array]:
    """(labels int32, d² in the block's type) of the rows."""
    from sharkpy.ml.models.kernels.nearest_centre import nearest_centres

    return nearest_centres(block.X, centres)


def compile_loops(dtype: np.dtype[Any]) -> None:
    """Compile for rows of this type and save the code on disk, before many processes would compile at once."""
    block = FeatureBlock(0, np.zeros((1, 1), dtype))
    cells(block, np.zeros((1, 1)))
    nearest(block, np.zeros((1, 1)))


def labels(block: FeatureBlock, centres: Array) -> Array:
    return nearest(block, centres)[0]


def random_rows(block: FeatureBlock, seed: Seed, number: int) -> Array:
    """Draw `number` rows of the block, each among all of them; none if the block is empty."""
    return _rows(block, _random(seed, block).integers(0, max(1, block.num_rows), number if block.num_rows else 0))


def rows_at(block: FeatureBlock, positions: Mapping[int, Array]) -> Array:
    """Rows by their positions in blocks of those numbers."""
    return _rows(block, positions.get(block.number, np.zeros(0, np.int64)))


@dataclass(frozen=True, slots=True)
class DistantRows:
    """Rows (rows, features) with their nearest centre and d². Rows with lesser `keys` are preferred."""

    rows: Array
    labels: Array
    distances: Array
    keys: Array

    @classmethod
    def joined(cls, parts: Sequence[DistantRows]) -> DistantRows:
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.distances for part in parts]),
            np.concatenate([part.keys for part in parts]),
        )

    def take(self, chosen: Array) -> DistantRows:
        return DistantRows(self.rows[chosen], self.labels[chosen], self.distances[chosen], self.keys[chosen])

    def least(self, number: int) -> DistantRows:
        """Return the rows with the least keys, in their order; of equal keys the first."""
        return self.take(_places_of_least(self.keys, number))


def farthest_rows(block: FeatureBlock, argument: tuple[Array, int]) -> DistantRows:
    """Return the given number of rows that are farthest from their centres; keys are -d²."""
    centres, number = argument
    found, distances = nearest(block, centres)
    chosen = _places_of_least(-distances, number)
    squares = distances[chosen].astype(np.float64)
    return DistantRows(_rows(block, chosen), found[chosen], squares, -squares)


@dataclass(frozen=True, slots=True)
class Draw:
    """Draw of rows by their d² from the nearest of `centres`; `number` is the expected or wanted number of rows."""

    centres: Array
    number: float
    seed: Seed


def drawn_by_distance(block: FeatureBlock, draw: Draw) -> tuple[float, DistantRows]:
    """Return the sum of d², and rows that a draw of `number * d² / (sum over all blocks)` may contain, with keys -d² /
    u.

    u is the row's random number: the row is drawn if u < number * d² / sum. A block with any row that differs from the
    centres returns at least one.
    """
    found, distances = nearest(block, draw.centres)
    cost = float(distances.sum(dtype=np.float64))
    uniform = _random(draw.seed, block).random(block.num_rows)
    chosen = np.flatnonzero(uniform * (cost / draw.number) < distances)
    if cost > 0 and not len(chosen):
        chosen = np.array([(distances / uniform).argmax()])
    squares = distances[chosen].astype(np.float64)
    with np.errstate(divide="ignore"):
        keys = -squares / uniform[chosen]
    return cost, DistantRows(_rows(block, chosen), found[chosen], squares, keys)


def is_drawn(keys: Array, number: float, cost: float) -> Array:
    """True for drawn rows, by the keys of `drawn_by_distance`; `cost` is the sum of d² over all blocks."""
    drawn: Array = -keys * number > cost
    return drawn


def chosen_by_distance(block: FeatureBlock, draw: Draw) -> DistantRows:
    """Return at most `number` rows, drawn one after the other by d²: the rows with the least keys e / d² with
    exponentially distributed e (Efraimidis and Spirakis, 2006).
    """
    found, distances = nearest(block, draw.centres)
    away = np.flatnonzero(distances > 0)
    squares = distances[away].astype(np.float64)
    keys = _random(draw.seed, block).exponential(size=block.num_rows)[away] / squares
    chosen = _places_of_least(keys, int(draw.number))
    places = away[chosen]
    return DistantRows(_rows(block, places), found[places], squares[chosen], keys[chosen])


def costs_with(block: FeatureBlock, argument: tuple[Array, Array]) -> Array:
    """Return the sum of d² from the nearest of some centres and one more, for each of several candidates."""
    centres, others = argument
    squares = nearest(block, centres)[1]
    return np.array([np.minimum(squares, nearest(block, one[np.newaxis])[1]).sum(dtype=np.float64) for one in others])


def _random(seed: Seed, block: FeatureBlock) -> np.random.Generator:
    """Return random numbers of a block. They depend on its number, never on the process that reads it."""
    return random_numbers((*seed, block.number))


def _rows(block: FeatureBlock, places: Array) -> Array:
    return np.ascontiguousarray(block.X[places], np.float64)


def _places_of_least(keys: Array, number: int) -> Array:
    """Return the positions of the least keys, in the order of keys and positions."""
    if number < len(keys):
        limit = np.partition(keys, number - 1)[number - 1] if number else -np.inf
        places = np.flatnonzero(keys <= limit)
    else:
        places = np.arange(len(keys))
    ordered: Array = places[np.argsort(keys[places], kind="stable")][:number]
    return ordered
