"""Schemas of the results of metadata calls, made of groups of columns."""

from __future__ import annotations

from sharkpy.values.types import DataType, Field, Schema


def columns(dtype: DataType, *names: str) -> tuple[Field, ...]:
    """Return adjacent columns of one type."""
    return tuple(Field(name, dtype) for name in names)


def schema(*groups: tuple[Field, ...]) -> Schema:
    return Schema(tuple(field for group in groups for field in group))
