"""Properties of Iceberg tables that users cannot set, that prevent writes, or that are not shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sharkpy.base.errors import UnsupportedError

_OF_CODE = ("py-io-impl", "write.py-location-provider.impl")
"""Properties that name code, which pyiceberg imports and calls."""
_OF_PLACES = ("write.metadata.path", "write.data.path")
"""Properties with folders outside of the table's own."""

_OF_STORAGE = ("s3.", "client.", "glue.", "dynamodb.", "adls.", "gcs.", "hdfs.", "hf.", "oss.")
"""Prefixes of properties with storage servers and their keys."""


def check_settable(properties: Iterable[str]) -> None:
    """Raise UnsupportedError for a property with code or with a location outside of the table's folder, and for storage
    properties, which may be keys that everyone would see.
    """
    if found := next((key for key in properties if key in _OF_CODE + _OF_PLACES or key.startswith(_OF_STORAGE)), None):
        raise UnsupportedError(f"setting the property {found} of a table of Iceberg")


def check_writable(name: str, properties: Iterable[str]) -> None:
    """Raise UnsupportedError for a table with properties that name code: commits would run it."""
    if found := next((key for key in properties if key in _OF_CODE), None):
        raise UnsupportedError(f"writing {name}, a table of Iceberg with the property {found}")


def shown(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of a table without storage properties, which may hold keys."""
    return {key: value for key, value in properties.items() if not key.startswith(_OF_STORAGE)}
