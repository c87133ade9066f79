"""First centres of k-means: k-means‖, k-means++ or random rows, by passes over blocks and then in this process.

Data with fewer distinct rows than centres repeats the last ones.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass
from sharkpy.ml.features.feature_blocks import FeatureBlock, FeatureBlocks
from sharkpy.ml.models import kmeans_passes as passes
from sharkpy.ml.models.kernels.column_moments import ColumnMoments, column_moments
from sharkpy.ml.models.kmeans_passes import Array, DistantRows, Draw, Seed

_SAMPLED_ROWS = 500_000
_SAMPLED_CELL = 5000
"""Rows that estimate the weights of candidates: the minimum in all, and the average number per cell."""
_TRIES = 5
_STEPS = 20
"""Number of times that the candidates of k-means‖ are clustered, and limit on the steps of each."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Results of a first pass: moments of the columns, and of each block its rows and some drawn at random."""

    moments: ColumnMoments
    block_rows: tuple[int, ...]
    drawn: tuple[Array, ...]

    @classmethod
    def of(cls, blocks: FeatureBlocks, seed: int, num_runs: int) -> Survey:
        found = blocks.run(_survey, ((seed,), num_runs))
        moments = functools.reduce(operator.add, (moments for _, moments, _ in found))
        return cls(moments, tuple(rows for rows, _, _ in found), tuple(drawn for _, _, drawn in found))

    @property
    def num_rows(self) -> int:
        return sum(self.block_rows)

    def random_row(self, run: int, random: np.random.Generator) -> Array:
        """Random row of shape (1, features), each as likely as another."""
        shares = np.array(self.block_rows) / self.num_rows
        row: Array = self.drawn[random.choice(len(shares), p=shares)][run : run + 1]
        return row


def _survey(block: FeatureBlock, argument: tuple[Seed, int]) -> tuple[int, ColumnMoments, Array]:
    seed, num_rows = argument
    return block.num_rows, column_moments(block), passes.random_rows(block, seed, num_rows)


@dataclass(frozen=True, slots=True)
class Start:
    """Input of a way to choose first centres; `run` counts the runs of one fit, which have different random numbers."""

    blocks: FeatureBlocks
    survey: Survey
    num_clusters: int
    seed: int
    run: int
    oversampling: float
    rounds: int

    def random(self) -> np.random.Generator:
        """Return random numbers of this process. Their keys have two numbers; keys of blocks have one (survey) or
        three.
        """
        return passes.random_numbers((self.seed, self.run, 0))

    def pass_seed(self, number: int) -> Seed:
        return self.seed, self.run, number


def parallel_start(start: Start) -> Array:
    """k-means‖ (Bahmani, Moseley, Vattani, Kumar and Vassilvitskii, VLDB 2012): in each of a few rounds rows are drawn
    with probability l d² / (sum of d²), l being the oversampling; then k-means++ of these, weighted by their cells.

    It takes one pass per round and one for the weights. A cell is represented by its mean. Weights of many rows are
    estimated from a sample: they only set how much a candidate counts relative to other candidates.
    """
    random = start.random()
    candidates = start.survey.random_row(start.run, random)
    most_rounds = start.rounds + start.num_clusters
    for number in range(most_rounds):
        if number >= start.rounds and len(candidates) >= start.num_clusters:
            break
        draw = Draw(candidates, start.oversampling, start.pass_seed(number))
        found = start.blocks.run(passes.drawn_by_distance, draw)
        cost = sum(cost for cost, _ in found)
        if not cost > 0:
            break
        rows = DistantRows.joined([rows for _, rows in found])
        drawn = passes.is_drawn(rows.keys, start.oversampling, cost)
        drawn[rows.keys.argmin()] = True
        candidates = _distinct(np.concatenate([candidates, rows.rows[drawn]]))
    if len(candidates) <= start.num_clusters:
        return _filled(candidates, start.num_clusters)
    share = max(_SAMPLED_ROWS, _SAMPLED_CELL * len(candidates)) / start.survey.num_rows
    found_cells = functools.reduce(operator.add, start.blocks.run(passes.sampled_cells, (candidates, min(share, 1.0))))
    is_met = found_cells.counts > 0
    weights = np.maximum(found_cells.counts, 1).astype(np.float64)
    points = np.where(is_met[:, np.newaxis], found_cells.sums / weights[:, np.newaxis], candidates)
    return cluster_points(points, weights, start.num_clusters, random)


def plus_plus_start(start: Start) -> Array:
    """k-means++ (Arthur and Vassilvitskii, 2007): each next centre is a row drawn by d², the best of a few draws.

    Two passes a centre: k-means‖ is for many rows or many clusters.
    """
    num_draws = _num_draws(start.num_clusters)
    centres = start.survey.random_row(start.run, start.random())
    while len(centres) < start.num_clusters:
        draw = Draw(centres, num_draws, start.pass_seed(len(centres)))
        rows = DistantRows.joined(start.blocks.run(passes.chosen_by_distance, draw)).least(num_draws).rows
        if not len(rows):
            break
        costs = functools.reduce(operator.add, start.blocks.run(passes.costs_with, (centres, rows)))
        centres = np.concatenate([centres, rows[costs.argmin()][np.newaxis]])
    return _filled(centres, start.num_clusters)


def random_start(start: Start) -> Array:
    """Distinct rows drawn at random; their values may be equal."""
    places = np.sort(start.random().choice(start.survey.num_rows, start.num_clusters, replace=False))
    ends = np.cumsum(start.survey.block_rows)
    owners = np.searchsorted(ends, places, side="right")
    starts = ends - start.survey.block_rows
    wanted = {int(block): places[owners == block] - starts[block] for block in np.unique(owners)}
    return np.concatenate(start.blocks.run(passes.rows_at, wanted))


STARTS: dict[str, Callable[[Start], Array]] = {
    "k-means||": parallel_start,
    "k-means++": plus_plus_start,
    "random": random_start,
}


def cluster_points(points: Array, weights: Array, num_clusters: int, random: np.random.Generator) -> Array:
    """Centres of a few weighted points: the best of several times k-means++ and Lloyd's steps."""
    best, least = points[:num_clusters], np.inf
    for _ in range(_TRIES):
        check_cancelled()
        centres, cost = _few_steps(points, weights, _weighted_start(points, weights, num_clusters, random))
        if cost < least:
            best, least = centres, cost
    return best


def _weighted_start(points: Array, weights: Array, num_clusters: int, random: np.random.Generator) -> Array:
    num_draws = _num_draws(num_clusters)
    centres = [points[random.choice(len(points), p=weights / weights.sum())]]
    squares = _squares(points, centres[0])
    while len(centres) < num_clusters:
        shares = np.cumsum(weights * squares)
        drawn = np.searchsorted(shares, random.random(num_draws) * shares[-1], side="right").clip(max=len(points) - 1)
        remaining = [np.minimum(squares, _squares(points, points[one])) for one in drawn]
        best = int(np.argmin([weights @ one for one in remaining]))
        centres.append(points[drawn[best]])
        squares = remaining[best]
    return np.stack(centres)


def _few_steps(points: Array, weights: Array, centres: Array) -> tuple[Array, float]:
    from sharkpy.ml.models.kernels.nearest_centre import nearest_centres

    points, before = np.asfortranarray(points), np.inf
    for _ in range(_STEPS):
        labels, squares = nearest_centres(points, centres)
        cost = float(weights @ squares)
        if not cost < before:
            break
        before = cost
        mass = np.bincount(labels, weights, len(centres))
        sums = np.stack([np.bincount(labels, weights * column, len(centres)) for column in points.T], axis=1)
        centres = np.where(mass[:, np.newaxis] > 0, sums / np.maximum(mass, 1)[:, np.newaxis], centres)
    return centres, before


def _num_draws(num_clusters: int) -> int:
    """Number of draws for a centre, as in scikit-learn."""
    return 2 + int(np.log(num_clusters))


def _squares(points: Array, centre: Array) -> npt.NDArray[Any]:
    squares: npt.NDArray[Any] = np.square(points - centre).sum(axis=1)
    return squares


def _distinct(rows: Array) -> Array:
    """Distinct rows, in the order of their first occurrence."""
    places = np.unique(rows, axis=0, return_index=True)[1]
    return rows[np.sort(places)]


def _filled(centres: Array, number: int) -> Array:
    return np.concatenate([centres, np.repeat(centres[-1:], number - len(centres), axis=0)])
