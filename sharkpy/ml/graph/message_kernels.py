"""Loops that combine messages by sum, minimum or maximum. NaN is both less and greater than any number."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.columnar.compiled import compiled

Array: TypeAlias = npt.NDArray[Any]
SUM, MIN, MAX = range(3)


@compiled
def combine_runs(messages: Array, starts: Array, kind: int, combined: Array) -> None:
    """Combine each run of messages, from starts[i] to starts[i + 1], into one. The last run extends to the end."""
    for run in range(len(starts)):
        end = starts[run + 1] if run + 1 < len(starts) else len(messages)
        found = messages[starts[run]]
        for place in range(starts[run] + 1, end):
            message = messages[place]
            if kind == SUM:
                found += message
            elif np.isnan(message) or (message < found if kind == MIN else message > found):
                found = message
        combined[run] = found


@compiled
def combine_sent(send: Array, sources: Array, starts: Array, kind: int, combined: Array) -> None:
    """Combine runs of the messages that the sources of edges send, as `combine_runs` does."""
    for run in range(len(starts)):
        end = starts[run + 1] if run + 1 < len(starts) else len(sources)
        found = send[sources[starts[run]]]
        for place in range(starts[run] + 1, end):
            message = send[sources[place]]
            if kind == SUM:
                found += message
            elif np.isnan(message) or (message < found if kind == MIN else message > found):
                found = message
        combined[run] = found


@compiled
def combine_arrived(combined: Array, received: Array, places: Array, arrived: Array, kind: int) -> None:
    """Combine arrived messages with earlier ones."""
    for index in range(len(places)):
        place, message = places[index], arrived[index]
        if kind == SUM:
            combined[place] += message
        elif np.isnan(message) or (message < combined[place] if kind == MIN else message > combined[place]):
            combined[place] = message
        received[place] = True
