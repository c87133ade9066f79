"""Combining messages: of edges with one target, before they leave, and of partitions, where they arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import ParameterError
from sharkpy.ml.graph import kernels

Array: TypeAlias = npt.NDArray[Any]
CombineFunction: TypeAlias = Callable[[Array, Array], Array]
"""Of two arrays of messages, element by element. Associative and commutative."""


class Combiner(Protocol):
    """How several messages become one. Runs are given by where each starts, the first one at 0; none is empty."""

    def message_type(self, sent: np.dtype[Any]) -> np.dtype[Any]:
        """Of combined messages, where vertices send this type."""

    def neutral(self, dtype: np.dtype[Any]) -> Any:
        """What a vertex without messages sees."""

    def combine_runs(self, messages: Array, starts: Array) -> Array:
        """One message of each run."""

    def combine_sent(self, send: Array, sources: Array, starts: Array) -> Array:
        """As `combine_runs(send[sources], starts)`."""

    def combine_arrived(self, combined: Array, received: Array, places: Array, arrived: Array) -> None:
        """Put messages to what has arrived before; no place comes twice."""


@dataclass(frozen=True, slots=True)
class NumberCombiner:
    """By a compiled loop."""

    kind: int

    def message_type(self, sent: np.dtype[Any]) -> np.dtype[Any]:
        """Sums of integers are 64-bit."""
        return np.zeros(0, sent).sum().dtype if self.kind == kernels.SUM else sent

    def neutral(self, dtype: np.dtype[Any]) -> Any:
        if self.kind == kernels.SUM or dtype.kind == "b":
            return self.kind == kernels.MIN
        if dtype.kind == "f":
            return np.inf if self.kind == kernels.MIN else -np.inf
        return np.iinfo(dtype).max if self.kind == kernels.MIN else np.iinfo(dtype).min

    def combine_runs(self, messages: Array, starts: Array) -> Array:
        combined = np.empty(len(starts), messages.dtype)
        kernels.combine_runs(messages, starts, self.kind, combined)
        return combined

    def combine_sent(self, send: Array, sources: Array, starts: Array) -> Array:
        combined = np.empty(len(starts), send.dtype)
        kernels.combine_sent(send, sources, starts, self.kind, combined)
        return combined

    def combine_arrived(self, combined: Array, received: Array, places: Array, arrived: Array) -> None:
        kernels.combine_arrived(combined, received, places, arrived.astype(combined.dtype, copy=False), self.kind)


@dataclass(frozen=True, slots=True)
class FunctionCombiner:
    """By a user's function, two by two."""

    combine: CombineFunction

    def message_type(self, sent: np.dtype[Any]) -> np.dtype[Any]:
        return np.asarray(self.combine(np.zeros(1, sent), np.zeros(1, sent))).dtype

    def neutral(self, dtype: np.dtype[Any]) -> Any:
        identity = getattr(self.combine, "identity", None)
        return np.asarray(0 if identity is None else identity).astype(dtype)

    def combine_runs(self, messages: Array, starts: Array) -> Array:
        """Neighbours are combined until each run is one message."""
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
        "sum": NumberCombiner(kernels.SUM),
        "min": NumberCombiner(kernels.MIN),
        "max": NumberCombiner(kernels.MAX),
    }
)


def combiner(combine: str | CombineFunction) -> Combiner:
    """By name, or of a function; ParameterError where it is neither."""
    if isinstance(combine, str) and combine in COMBINERS:
        return COMBINERS[combine]
    if callable(combine):
        return FunctionCombiner(combine)
    raise ParameterError(f'combine must be "sum", "min", "max" or a function of two arrays, not {combine!r}')
