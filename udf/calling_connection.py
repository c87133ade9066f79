"""DuckDB connections that kernels are called from: each has a number, by which a kernel finds its statement and limits.

DuckDB calls kernels in threads of its own, whichever query they are for. A prepared connection therefore has its
number in the variable `shark_connection`, and the macro of each kernel hands it over.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Iterator

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.settings import VALUE_BYTES
from sharkpy.udf.value_limit import limited_to

NUMBER = "shark_connection"
"""Name of the variable in DuckDB."""
_numbers = itertools.count(1)
_by_number: weakref.WeakValueDictionary[int, CallingConnection] = weakref.WeakValueDictionary()


class CallingConnection:
    """Statement that a connection works for, and the bytes that one value may have. Known while it is referred to."""

    def __init__(self, value_bytes: int = VALUE_BYTES.default) -> None:
        self.value_bytes = value_bytes
        self.number = next(_numbers)
        self._statement: Cancellation | None = None
        _by_number[self.number] = self

    @contextlib.contextmanager
    def working_for(self, statement: Cancellation | None) -> Iterator[None]:
        """Inside, the kernels that the connection calls hear the end of the statement."""
        before, self._statement = self._statement, statement
        try:
            yield
        finally:
            self._statement = before

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """This thread works for the connection's statement, under its limits."""
        statement = self._statement
        with limited_to(self.value_bytes), contextlib.nullcontext() if statement is None else statement.active():
            yield


@contextlib.contextmanager
def called_from(number: int | None) -> Iterator[None]:
    """This thread works for the connection of that number; for none where it is not known."""
    connection = None if number is None else _by_number.get(number)
    with contextlib.nullcontext() if connection is None else connection.active():
        yield
