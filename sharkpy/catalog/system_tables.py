"""Tables of the databases `sys` and `information_schema`. Their rows are computed when a query reads them."""

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
"""A user's database of one of these names hides the engine's."""


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A table of the engine. `rows` computes its current rows, with the columns of `schema`."""

    database: str
    name: str
    schema: Schema
    rows: Callable[[], pa.Table] = field(repr=False)

    def __iter__(self) -> Iterator[pa.Table]:
        yield self.rows()
