"""Sockets that a library leaves open, for example when it fails."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def left_to_the_collector() -> Iterator[None]:
    """Collect what the body leaves behind, without a word about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()
