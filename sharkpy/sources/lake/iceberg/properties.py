"""Properties of Iceberg's tables: those that nobody sets from here, writes by, or sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sharkpy.base.errors import UnsupportedError

_OF_CODE = ("py-io-impl", "write.py-location-provider.impl")
"""Properties with the name of what pyiceberg imports and calls."""
_OF_PLACES = ("write.metadata.path", "write.data.path")
"""Properties with folders beside the table's own."""

_OF_STORAGE = ("s3.", "client.", "glue.", "dynamodb.", "adls.", "gcs.", "hdfs.", "hf.", "oss.")
"""Beginnings of properties with servers of storage, and with the keys to them."""


def check_settable(properties: Iterable[str]) -> None:
    """UnsupportedError for a property that leads pyiceberg to code, or out of a table's folder; and for one of storage,
    which may be a key that everybody would see.
    """
    if found := next((key for key in properties if key in _OF_CODE + _OF_PLACES or key.startswith(_OF_STORAGE)), None):
        raise UnsupportedError(f"setting the property {found} of a table of Iceberg")


def check_writable(name: str, properties: Iterable[str]) -> None:
    """UnsupportedError for a table with properties that name code: commits would run it."""
    if found := next((key for key in properties if key in _OF_CODE), None):
        raise UnsupportedError(f"writing {name}, a table of Iceberg with the property {found}")


def shown(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of a table that others have set, without those of storage: there may be keys among them."""
    return {key: value for key, value in properties.items() if not key.startswith(_OF_STORAGE)}
