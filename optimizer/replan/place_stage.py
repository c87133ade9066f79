"""Driver or RDD tasks: the placement of stages, from the bytes left to scan after pruning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
