"""Tables of the engine's own, in the databases `sys` and `information_schema`: what they say is made when a query reads
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

SYSTEM_DATABASE = "sys"
INFORMATION_SCHEMA = "information_schema"
SYSTEM_DATABASES = (SYSTEM_DATABASE, INFORMATION_SCHEMA)
"""A database that a user has made under one of these names hides the engine's."""


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A table of the engine's own. `rows` makes its rows, with the columns of `schema`, as they are at that moment."""

    database: str
    name: str
    schema: Schema
    rows: Callable[[], pa.Table] = field(repr=False)

    def __iter__(self) -> Iterator[pa.Table]:
        yield self.rows()
