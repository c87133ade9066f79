"""Tests of many variants: `make test` runs each n-th of them, or only the first, `make test-all` all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest


def mark_slow(items: Iterable[pytest.Item]) -> None:
    """Mark as slow what `@pytest.mark.variants(n)` leaves out of each n variants of a test; without n all but one."""
    seen: Counter[str] = Counter()
    for item in items:
        every = item.get_closest_marker("variants")
        if every is None or item.get_closest_marker("slow"):
            continue
        name = item.nodeid.partition("[")[0]
        is_left_out = seen[name] % every.args[0] if every.args else seen[name]
        if is_left_out:
            item.add_marker(pytest.mark.slow)
        seen[name] += 1
