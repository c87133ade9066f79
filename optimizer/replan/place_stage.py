"""Driver or cluster: where a stage runs, from the bytes that are left to scan after pruning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sharkpy.optimizer.replan.choose_join import format_bytes


class Placement(Enum):
    DRIVER = "driver"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class PlacementDecision:
    placement: Placement
    input_bytes: int | None
    is_local: bool
    limit_bytes: int
    reason: str

    @property
    def label(self) -> str:
        sizes = f"input {format_bytes(self.input_bytes)}, limit {format_bytes(self.limit_bytes)}"
        return f"placement: {self.placement.value} ({sizes}; {self.reason})"


def place_stage(
    input_bytes: int | None, is_local: bool, limit_bytes: int, is_allowed: bool = True
) -> PlacementDecision:
    """Choose the driver's process where all input is on its machine, known, and at most `limit_bytes`.

    `is_allowed` False: the session turned placement in the driver off.
    """

    def decide(placement: Placement, reason: str) -> PlacementDecision:
        return PlacementDecision(placement, input_bytes, is_local, limit_bytes, reason)

    if not is_allowed:
        return decide(Placement.CLUSTER, "driver placement is off")
    if not is_local:
        return decide(Placement.CLUSTER, "input is not local")
    if input_bytes is None:
        return decide(Placement.CLUSTER, "input size is unknown")
    if input_bytes > limit_bytes:
        return decide(Placement.CLUSTER, "above the limit")
    return decide(Placement.DRIVER, "local and below the limit")
