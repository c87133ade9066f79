"""Names and types of columns that a query gives for its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharkpy.base.digits import shortened
from sharkpy.base.errors import ColumnNotFoundError, ConfigurationError, ParseError, did_you_mean
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import DataType, Field, Schema

_OTHER_NAMES = {"varchar": "string", "text": "string", "bool": "boolean", "hugeint": "decimal(38,0)"}
"""DuckDB's names of types, and Hive's types."""


@dataclass(frozen=True, slots=True)
class GivenColumns:
    """Columns given in a query. `names` are the names of the first columns. `types` are by column name, or by position
    from 0.

    If `is_whole`, there are no other columns.
    """

    names: tuple[str, ...] = ()
    types: tuple[tuple[str | int, str], ...] = ()
    is_whole: bool = False

    def schema(self) -> Schema:
        """Return all columns. Only if `is_whole`."""
        return Schema(tuple(Field(name, _type(text)) for name, (_, text) in zip(self.names, self.types, strict=True)))

    def applied(self, found: Schema) -> Schema:
        """Apply the given names and types to the columns of files.

        Raise ConfigurationError if the files have too few columns, or a different number than a whole list. Raise
        ColumnNotFoundError for a name that they do not have.
        """
        if len(self.names) > len(found) or (self.is_whole and len(self.names) != len(found)):
            raise _wrong_number("columns" if self.is_whole else "names", len(self.names), found)
        names = [*self.names, *found.names[len(self.names) :]]
        if len(set(names)) < len(names):
            raise ConfigurationError(f"several columns have one name: {shortened(', '.join(names))}", sqlstate="42701")
        types = [field.dtype for field in found]
        for key, text in self.types:
            types[_place(key, names, len(self.types), found)] = _type(text)
        return Schema(tuple(map(Field, names, types)))


def _place(key: str | int, names: Sequence[str], num_types: int, found: Schema) -> int:
    if isinstance(key, str):
        if key not in names:
            raise ColumnNotFoundError(f'the files have no column "{key}"', hint=did_you_mean(key, names))
        return names.index(key)
    if key >= len(names):
        raise _wrong_number("types", num_types, found)
    return key


def _wrong_number(what: str, num_given: int, found: Schema) -> ConfigurationError:
    names = shortened(", ".join(found.names))
    message = f"entries of the option {what}: {num_given}; columns of the files: {len(found)} ({names})"
    return ConfigurationError(message, sqlstate="42601")


def _type(text: str) -> DataType:
    try:
        return parse_type(_OTHER_NAMES.get(text.strip().lower(), text))
    except ParseError as error:
        raise ConfigurationError(error.message, hint=error.hint, sqlstate="42601") from None
