"""Comparison of a run with the recorded run of the same suite, scale and settings: ratios to peers that got worse.

Only ratios are compared, since a machine may be slower today. A ratio got worse if the recorded one is larger by more
than the noise. The noise is the sum of the spreads of both runs (see `Figure.spread`), and at least `MINIMUM`. For key
figures with a spread, such as means over all queries and memory, it is at least `MINIMUM_OF_KEYS`. A second run has to
confirm what is worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bench.figure import Row, number
from bench.results import Run

MINIMUM, MINIMUM_OF_KEYS = 0.25, 0.1
"""Processes differ more than the runs within one of them. Single queries and loading also vary more than means."""


@dataclass(frozen=True, slots=True)
class WorseRatio:
    """Ratio to a peer before and now, and the part by which it may fall as noise."""

    what: str
    peer: str
    before: float
    now: float
    noise: float

    def __str__(self) -> str:
        ratios = f"{number(self.now)}x instead of {number(self.before)}x {self.peer}"
        return f"{self.what}: {ratios}, {self.before / self.now - 1:.0%} worse; noise is up to {self.noise:.0%}"


@dataclass(frozen=True, slots=True)
class Check:
    """Result of a comparison. `num_compared` is 0 if no earlier run has the same figures and peers."""

    worse: tuple[WorseRatio, ...]
    num_compared: int
    earlier: tuple[Run, ...]

    def confirming(self, first: Check) -> Check:
        """This check of a second run, with the ratios that were worse in the first run, too."""
        known = {(one.what, one.peer) for one in first.worse}
        return replace(self, worse=tuple(one for one in self.worse if (one.what, one.peer) in known))

    def __str__(self) -> str:
        if not self.num_compared:
            return "nothing to compare: no recorded run has these figures"
        runs = "; ".join(f"{run.commit} of {run.date} on {run.machine}" for run in self.earlier)
        head = f"{len(self.worse)} of {self.num_compared} ratios are worse than in the recorded run {runs}"
        return "\n".join([head, *(f"  {one}" for one in self.worse)])


def check(run: Run, recorded: Iterable[Run]) -> Check:
    """Compare a run with the rows of recorded runs of the same name; each row is in its newest run only."""
    earlier = tuple(one for one in recorded if one.name == run.name)
    before = {_key(row): row for one in earlier for row in one.rows}
    pairs = [(before[_key(row)], row) for row in run.rows if _key(row) in before]
    compared = [one for old, new in pairs for one in _ratios(old, new)]
    return Check(tuple(one for one in compared if one.before > one.now * (1 + one.noise)), len(compared), earlier)


def _key(row: Row) -> tuple[str, str]:
    return row["measurement"], row["what"]


def _ratios(old: Row, new: Row) -> Iterator[WorseRatio]:
    before, spread, spread_before = old.get("ratio", {}), new.get("spread", {}), old.get("spread", {})
    for peer, ratio in new.get("ratio", {}).items():
        if peer in before:
            minimum = MINIMUM_OF_KEYS if new.get("is_key") and peer in spread else MINIMUM
            noise = max(minimum, spread.get(peer, 0.0) + spread_before.get(peer, 0.0))
            yield WorseRatio(f"{new['measurement']}, {new['what']}", peer, before[peer], ratio, noise)
