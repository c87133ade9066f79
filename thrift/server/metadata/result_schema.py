"""Schemas of the results of metadata calls, from a table of their columns."""

from __future__ import annotations

from sharkpy.values.types import DataType, Field, Schema


def columns(dtype: DataType, *names: str) -> tuple[Field, ...]:
    """Neighbours of one type."""
    return tuple(Field(name, dtype) for name in names)


def schema(*groups: tuple[Field, ...]) -> Schema:
    return Schema(tuple(field for group in groups for field in group))
