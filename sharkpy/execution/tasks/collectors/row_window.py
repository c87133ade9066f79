"""Windows of a map task's rows, as collectors see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Window:
    """Window of a task's rows: `counts[b]` of them go to bucket b.

    `spread` are the keys dealt over spread buckets so far, by their hash, with the number of those.
    """

    counts: Numbers
    spread: Mapping[int, int]
