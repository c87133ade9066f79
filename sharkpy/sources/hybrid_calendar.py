"""Java's old calendar, Julian before 1582-10-15 and Gregorian from then on, used by Hive and Spark for ORC."""

from __future__ import annotations

from typing import Any

import numpy as np

Days = np.ndarray[Any, np.dtype[np.int64]]

FIRST_GREGORIAN_DAY = -141_427
"""1582-10-15, in days since 1970-01-01."""
_SHIFTS = (
    (-719_164, 2),
    (-682_945, 1),
    (-646_420, 0),
    (-609_895, -1),
    (-536_845, -2),
    (-500_320, -3),
    (-463_795, -4),
    (-390_745, -5),
    (-354_220, -6),
    (-317_695, -7),
    (-244_645, -8),
    (-208_120, -9),
    (-171_595, -10),
    (FIRST_GREGORIAN_DAY, 0),
)
"""First day of each span, 1 March of a year that is a leap year in only one calendar; difference of the calendars in
days.
"""
_FIRST_DAYS = np.array([first for first, _ in _SHIFTS])
_DAYS = np.array([days for _, days in _SHIFTS])


def gregorian_shift(days: Days) -> Days:
    """Days to add to days of the hybrid calendar to get the same year, month and day in the Gregorian one.

    29 February of a year that has none in that calendar becomes 1 March.
    """
    span = np.searchsorted(_FIRST_DAYS, days, side="right") - 1
    return _DAYS[np.maximum(span, 0)]
