"""Functions of an RDD's partitions that call users' functions. Workers import this file.

An error of a user's function names the function, the place and the cause.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from sharkpy.base.errors import ExecutionError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.execution.workers.task_failure import EXTERNAL, TaskError


class Composed:
    """Composition of functions: `second` over the elements of `first`."""

    def __init__(self, first: Elements, second: Elements) -> None:
        self.first = first
        self.second = second

    def __call__(self, partition: int, items: Iterable[Any]) -> Iterable[Any]:
        return self.second(partition, self.first(partition, items))


class Concatenated:
    """Concatenation, in a task, of the elements of a query's functions and the elements of another RDD's partition."""

    def __init__(self, own: Elements, *, is_first: bool) -> None:
        self.own = own
        self.is_first = is_first

    def __call__(self, partition: int, items: Iterable[Any]) -> Iterable[Any]:
        own = self.own(partition, ())
        return chain(own, items) if self.is_first else chain(items, own)


def flat(_: int, pairs: Iterable[tuple[list[Any], list[Any]]]) -> Iterator[Any]:
    return chain.from_iterable(map(chain.from_iterable, pairs))


Elements = Callable[[int, Iterable[Any]], Iterable[Any]]
"""Function from a partition's number and its input to its elements."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """Function of a task whose exceptions become errors that the driver can read."""

    elements: Elements

    def __call__(self, partition: int, items: Iterable[Any]) -> Iterator[Any]:
        try:
            yield from self.elements(partition, items)
        except Exception as error:  # noqa: BLE001 - whatever a user's function raises
            raise TaskError(as_task_error(error, f"partition {partition} of an RDD")) from None


def as_task_error(error: BaseException, place: str) -> SharkError:
    """Return an error of the engine unchanged, and any other exception as an error with the user's function, its place,
    and the cause.
    """
    if isinstance(error, SharkError):
        return error
    frames = list(_user_frames(error.__traceback__))
    text = "".join(traceback.format_exception_only(error)).strip()
    if not frames:
        return ExecutionError(f"{text} (in {place})", sqlstate=EXTERNAL)
    function = frames[0][0].f_code.co_qualname.replace("<locals>.", "")
    steps = traceback.StackSummary.extract(iter(frames))
    trace = "".join(steps.format())
    message = f'the function "{function}" failed in {place}: {text}\n{trace}{text}'
    return ExecutionError(message, sqlstate=EXTERNAL)


def _user_frames(trace: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    """Yield the frames of a traceback, from the first outside of the engine and of libraries."""
    is_begun = False
    while trace is not None:
        is_begun = is_begun or not _is_library(trace.tb_frame.f_code.co_filename)
        if is_begun:
            yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


_PACKAGE = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def _is_library(file: str) -> bool:
    return file.startswith((_PACKAGE, *_LIBRARIES, "<frozen")) or "pyspark.zip" in file
