"""Number of examples of a property: a fifth of them in `make test`, all in `make test-all`."""

from __future__ import annotations

run_all = False


def examples(number: int) -> int:
    return number if run_all else -(-number // 5)
