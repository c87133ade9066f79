"""DuckDB connections that call kernels. Each has a number, by which a kernel finds its statement and limits.

DuckDB calls kernels in its own threads, for any query. So a prepared connection stores its number in the variable
`shark_connection`, and the macro of each kernel passes it on.
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
    """The statement of a connection, and its limit on the bytes of one value. It is found by number while it is
    referenced.
    """

    def __init__(self, value_bytes: int = VALUE_BYTES.default) -> None:
        self.value_bytes = value_bytes
        self.number = next(_numbers)
        self._statement: Cancellation | None = None
        _by_number[self.number] = self

    @contextlib.contextmanager
    def working_for(self, statement: Cancellation | None) -> Iterator[None]:
        """Within the block, kernels that the connection calls are cancelled with the statement."""
        before, self._statement = self._statement, statement
        try:
            yield
        finally:
            self._statement = before

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Make this thread work for the connection's statement, under its limits."""
        statement = self._statement
        with limited_to(self.value_bytes), contextlib.nullcontext() if statement is None else statement.active():
            yield


@contextlib.contextmanager
def called_from(number: int | None) -> Iterator[None]:
    """Make this thread work for the connection of that number, if it is known."""
    connection = None if number is None else _by_number.get(number)
    with contextlib.nullcontext() if connection is None else connection.active():
        yield
