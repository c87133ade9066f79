"""Tables of the engine's own, in the database `sys`: what they say is made when a query reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

SYSTEM_DATABASE = "sys"


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A table of the engine's own. `rows` makes its rows, with the columns of `schema`, as they are at that moment."""

    name: str
    schema: Schema
    rows: Callable[[], pa.Table] = field(repr=False)

    def __iter__(self) -> Iterator[pa.Table]:
        yield self.rows()
