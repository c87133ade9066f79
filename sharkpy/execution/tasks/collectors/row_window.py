"""Windows of a map task's rows, for collectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Window:
    """Window of a task's rows: `counts[b]` of them go to bucket b.

    `spread` has the number of spread buckets of each key dealt so far, by the key's hash.
    """

    counts: Numbers
    spread: Mapping[int, int]
