"""Decisions from estimated or measured figures, as pure functions: the placement of stages, the distribution of
joins.
"""

from __future__ import annotations

from enum import Enum, StrEnum

from sharkpy.base.records import dataclass
from sharkpy.plan.logical import JoinKind


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision. `rule` names its kind, `text` describes it, `figures` are its basis."""

    rule: str
    text: str
    figures: tuple[tuple[str, int], ...] = ()
    is_planned: bool = False
    """Whether it was taken before the query ran."""

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value}" for name, value in self.figures)
        return f"{self.text} ({figures})" if figures else self.text


# Placement of stages: in the driver, or as RDD tasks


class Place(StrEnum):
    """The process or processes that run a stage."""

    DRIVER = "driver"
    RDD = "rdd"


@dataclass(frozen=True, slots=True)
class Placement:
    """Decision on the placement of stages, with its reason and its figures.

    `is_fixed`: it holds for all stages of a plan, whatever is measured at run time.
    """

    place: Place
    reason: str
    figures: tuple[tuple[str, int], ...] = ()
    is_fixed: bool = False

    @property
    def is_driver(self) -> bool:
        return self.place is Place.DRIVER


def place_stage(input_bytes: int | None, is_local: bool, limit_bytes: int, is_allowed: bool = True) -> Placement:
    """Choose the driver's process if all input is on its machine, of known size, and at most `limit_bytes`.

    `is_allowed` False: the session has disabled placement in the driver.
    """
    scanned = () if input_bytes is None else (("bytes scanned", input_bytes),)
    figures = (*scanned, ("limit", limit_bytes))
    if not is_allowed:
        return Placement(Place.RDD, "placement in the driver is off", figures, is_fixed=True)
    if not is_local:
        return Placement(Place.RDD, "the input is not local", figures)
    if input_bytes is None:
        return Placement(Place.RDD, "the size of the input is not known", figures)
    if input_bytes > limit_bytes:
        return Placement(Place.RDD, "the input is above the limit", figures)
    return Placement(Place.DRIVER, "the input is local and below the limit", figures)


# Distribution of joins: broadcast or shuffle


class JoinDistribution(Enum):
    BROADCAST_LEFT = "broadcast left"
    BROADCAST_RIGHT = "broadcast right"
    SHUFFLE = "shuffle"


BROADCAST_SIDES: dict[JoinKind, tuple[JoinDistribution, ...]] = {
    JoinKind.INNER: (JoinDistribution.BROADCAST_RIGHT, JoinDistribution.BROADCAST_LEFT),
    JoinKind.CROSS: (JoinDistribution.BROADCAST_RIGHT, JoinDistribution.BROADCAST_LEFT),
    JoinKind.LEFT: (JoinDistribution.BROADCAST_RIGHT,),
    JoinKind.SINGLE: (JoinDistribution.BROADCAST_RIGHT,),
    JoinKind.SEMI: (JoinDistribution.BROADCAST_RIGHT,),
    JoinKind.ANTI: (JoinDistribution.BROADCAST_RIGHT,),
    JoinKind.NULL_AWARE_ANTI: (JoinDistribution.BROADCAST_RIGHT,),
    JoinKind.RIGHT: (JoinDistribution.BROADCAST_LEFT,),
    JoinKind.FULL: (),
}
"""The sides that every task may read completely, the preferred one first. A side whose unmatched rows are output must
be split: otherwise every task would output them.
"""


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """Limits of joins. `broadcast_bytes` is the measured size up to which a side is broadcast."""

    broadcast_bytes: int


@dataclass(frozen=True, slots=True)
class JoinDecision:
    """Decision for a join. `left_bytes` and `right_bytes` are measured, or None for a side that has not run."""

    distribution: JoinDistribution
    left_bytes: int | None
    right_bytes: int | None
    broadcast_bytes: int
    reason: str

    @property
    def label(self) -> str:
        left, right = format_bytes(self.left_bytes), format_bytes(self.right_bytes)
        limit = format_bytes(self.broadcast_bytes)
        return f"join: {self.distribution.value} (left {left}, right {right}, limit {limit}; {self.reason})"


def choose_join(
    left_bytes: int | None, right_bytes: int | None, kind: JoinKind, limits: JoinLimits, forced: str = ""
) -> JoinDecision:
    """Choose the smallest side that the kind allows to broadcast and that is within the limit, else shuffle.

    `forced` is "broadcast", "shuffle" or empty. A full join allows no broadcast, so it is shuffled even with
    "broadcast".
    """

    def decide(distribution: JoinDistribution, reason: str) -> JoinDecision:
        return JoinDecision(distribution, left_bytes, right_bytes, limits.broadcast_bytes, reason)

    sizes = {JoinDistribution.BROADCAST_LEFT: left_bytes, JoinDistribution.BROADCAST_RIGHT: right_bytes}
    allowed = BROADCAST_SIDES[kind]
    if not allowed:
        return decide(JoinDistribution.SHUFFLE, f"no side of a {kind.value} join can be broadcast")
    if forced == "shuffle":
        return decide(JoinDistribution.SHUFFLE, "forced")
    measured = {side: size for side in allowed if (size := sizes[side]) is not None}
    if forced == "broadcast":
        return decide(min(measured, key=measured.__getitem__) if measured else allowed[0], "forced")
    fitting = {side: size for side, size in measured.items() if size <= limits.broadcast_bytes}
    if fitting:
        return decide(min(fitting, key=fitting.__getitem__), "below the limit")
    return decide(JoinDistribution.SHUFFLE, "above the limit" if measured else "not measured")


def format_bytes(size: int | None) -> str:
    if size is None:
        return "unknown"
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"
