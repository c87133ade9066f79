"""Conversion of offsets between objects and texts of the catalog."""

from __future__ import annotations

import json

from sharkpy.catalog.continuous_query import Offsets
from sharkpy.catalog.position import as_numbers, of_numbers


def offsets_to_text(offsets: Offsets) -> str:
    return json.dumps([[stream, as_numbers(position)] for stream, position in offsets])


def offsets_from_text(text: str) -> Offsets:
    return tuple((stream, of_numbers(numbers)) for stream, numbers in json.loads(text))
