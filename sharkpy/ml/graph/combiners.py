"""Combination of messages with the same target: within a partition before they are sent, then across partitions on
arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import ParameterError
from sharkpy.base.records import dataclass
from sharkpy.columnar.compiled import compiled

Array: TypeAlias = npt.NDArray[Any]
CombineFunction: TypeAlias = Callable[[Array, Array], Array]
"""Function that combines two arrays of messages, element by element. It is associative and commutative."""
SUM, MIN, MAX = range(3)
"""Kinds of the compiled loops. NaN is both less and greater than any number."""


class Combiner(Protocol):
    """Way to combine several messages into one. Runs are given by their starts; the first is 0, and no run is empty."""

    def message_type(self, sent: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of combined messages if vertices send messages of type `sent`."""

    def neutral(self, dtype: np.dtype[Any]) -> Any:
        """Return the message that a vertex without messages sees."""

    def combine_runs(self, messages: Array, starts: Array) -> Array:
        """Combine each run of messages into one."""

    def combine_sent(self, send: Array, sources: Array, starts: Array) -> Array:
        """Combine the messages that the sources of edges send: `combine_runs(send[sources], starts)`."""

    def combine_arrived(self, combined: Array, received: Array, places: Array, arrived: Array) -> None:
        """Combine arrived messages with earlier ones; no place occurs twice."""


@dataclass(frozen=True, slots=True)
class NumberCombiner:
    """Combiner of numbers, by a compiled loop."""

    kind: int

    def message_type(self, sent: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of combined messages: 64-bit for sums of integers."""
        return np.zeros(0, sent).sum().dtype if self.kind == SUM else sent

    def neutral(self, dtype: np.dtype[Any]) -> Any:
        if self.kind == SUM or dtype.kind == "b":
            return self.kind == MIN
        if dtype.kind == "f":
            return np.inf if self.kind == MIN else -np.inf
        return np.iinfo(dtype).max if self.kind == MIN else np.iinfo(dtype).min

    def combine_runs(self, messages: Array, starts: Array) -> Array:
        combined = np.empty(len(starts), messages.dtype)
        combine_runs(messages, starts, self.kind, combined)
        return combined

    def combine_sent(self, send: Array, sources: Array, starts: Array) -> Array:
        combined = np.empty(len(starts), send.dtype)
        combine_sent(send, sources, starts, self.kind, combined)
        return combined

    def combine_arrived(self, combined: Array, received: Array, places: Array, arrived: Array) -> None:
        combine_arrived(combined, received, places, arrived.astype(combined.dtype, copy=False), self.kind)


@dataclass(frozen=True, slots=True)
class FunctionCombiner:
    """Combiner by a user's function of two arrays."""

    combine: CombineFunction

    def message_type(self, sent: np.dtype[Any]) -> np.dtype[Any]:
        return np.asarray(self.combine(np.zeros(1, sent), np.zeros(1, sent))).dtype

    def neutral(self, dtype: np.dtype[Any]) -> Any:
        identity = getattr(self.combine, "identity", None)
        return np.asarray(0 if identity is None else identity).astype(dtype)

    def combine_runs(self, messages: Array, starts: Array) -> Array:
        """Combine neighbours until each run is one message."""
        if not len(starts):
            return messages[:0]
        lengths = np.diff(starts, append=len(messages))
        while lengths.max() > 1:
            halves = (lengths + 1) // 2
            ends = np.cumsum(halves)
            pair = np.arange(ends[-1]) - np.repeat(ends - halves, halves)
            left = np.repeat(starts, halves) + 2 * pair
            has_right = 2 * pair + 1 < np.repeat(lengths, halves)
            rest = messages[left]
            rest[has_right] = self.combine(rest[has_right], messages[left[has_right] + 1])
            messages, lengths, starts = rest, halves, ends - halves
        return messages[starts]

    def combine_sent(self, send: Array, sources: Array, starts: Array) -> Array:
        return self.combine_runs(send[sources], starts)

    def combine_arrived(self, combined: Array, received: Array, places: Array, arrived: Array) -> None:
        had = received[places]
        both = places[had]
        combined[places[~had]] = arrived[~had]
        combined[both] = self.combine(combined[both], arrived[had])
        received[places] = True


COMBINERS: Mapping[str, Combiner] = MappingProxyType(
    {
        "sum": NumberCombiner(SUM),
        "min": NumberCombiner(MIN),
        "max": NumberCombiner(MAX),
    }
)


def combiner(combine: str | CombineFunction) -> Combiner:
    """Return the combiner of a name or a function. Raise ParameterError for anything else."""
    if isinstance(combine, str) and combine in COMBINERS:
        return COMBINERS[combine]
    if callable(combine):
        return FunctionCombiner(combine)
    raise ParameterError(f'combine must be "sum", "min", "max" or a function of two arrays, not {combine!r}')


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
