"""Forced choices under which every file must give the same answers, and a covering of all pairs of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sharkpy.optimizer.batches import RULES

CACHED = "cached"
"""Pseudo-setting: the harness caches each table when it was made."""

ENCODINGS = (
    *("", "plain", "narrow", "bit_packed", "delta", "dictionary"),
    *("run_length", "constant", "boolean", "scaled", "block"),
)
CHOICES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("shark.test.encoding", ENCODINGS),
    ("shark.block.rows", ("1000000", "1", "2", "7")),
    ("shark.test.join", ("", "broadcast", "shuffle")),
    ("shark.placement.driver", ("true", "false")),
    ("shark.pruning", ("true", "false")),
    ("shark.task.single.max.bytes", ("4m", "0")),
    ("shark.sort.single.max.rows", ("100000", "0")),
    ("shark.kernels", ("always", "never")),
    (CACHED, ("true", "false")),
)


@dataclass(frozen=True)
class Configuration:
    values: tuple[tuple[str, str], ...]

    @property
    def conf(self) -> Mapping[str, str]:
        return {key: value for key, value in self.values if key != CACHED and value}

    @property
    def cached(self) -> bool:
        return dict(self.values)[CACHED] == "true"

    def in_blocks_of(self, num_rows: int) -> Configuration:
        """Adapt the configuration to tables of `num_rows`: the block rows become the number of blocks of a table."""
        blocks = int(dict(self.values)["shark.block.rows"])
        rows = str(max(1, num_rows // blocks + 1)) if blocks < num_rows else str(blocks)
        return Configuration(tuple((key, rows if key == "shark.block.rows" else value) for key, value in self.values))

    @property
    def on_driver(self) -> bool:
        return dict(self.values)["shark.placement.driver"] == "true"

    @property
    def name(self) -> str:
        values = ((key, "all" if "," in value else value) for key, value in self.values)
        return ",".join(f"{key.rsplit('.', 1)[-1]}={value}" for key, value in values if value)


SKEWED = Configuration(
    (
        *(("shark.test.skew", "true"), ("shark.test.join", "shuffle"), ("shark.placement.driver", "false")),
        *(("shark.task.single.max.bytes", "0"), ("shark.task.single.max.rows", "0"), ("shark.exchange.buckets", "7")),
        *(("shark.join.replicate.max.rows", "0"), ("shark.block.rows", "1000000"), (CACHED, "true")),
    )
)
"""Settings under which every join is shuffled and every key is dealt over several tasks."""


PLAIN_PLANS = Configuration(
    (
        (
            "shark.optimizer.excluded.rules",
            ",".join(sorted(name for name, rule in RULES.items() if rule.needed_for is None)),
        ),
        *(("shark.placement.driver", "true"), ("shark.block.rows", "1000000"), (CACHED, "true")),
    )
)
"""No rule of the optimizer except the necessary ones."""


@functools.cache
def all_pairs() -> list[Configuration]:
    """Small set of configurations in which every two values of two settings meet (greedy, deterministic)."""
    bits: dict[_Pair, int] = {}
    rows = {
        row: sum(1 << bits.setdefault(pair, len(bits)) for pair in _pairs_of(row))
        for row in itertools.product(*(range(len(values)) for _, values in CHOICES))
    }
    missing = (1 << len(bits)) - 1
    found: list[Configuration] = []
    while missing:
        best = max(rows, key=lambda row: (missing & rows[row]).bit_count())
        missing &= ~rows[best]
        found.append(Configuration(tuple((key, values[at]) for (key, values), at in zip(CHOICES, best, strict=True))))
    return found


_Pair = tuple[int, int, int, int]


def _pairs_of(row: tuple[int, ...]) -> Iterator[_Pair]:
    for left, right in itertools.combinations(range(len(row)), 2):
        yield (left, row[left], right, row[right])
