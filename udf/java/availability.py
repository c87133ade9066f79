"""Whether Java can be called from this process."""

from __future__ import annotations

import importlib.util


def is_available() -> bool:
    """Whether JPype is installed."""
    return importlib.util.find_spec("jpype") is not None
