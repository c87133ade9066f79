"""TBLPROPERTIES of streams. Some of them are options of the source, which belong after FROM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sharkpy.base.errors import BindError, did_you_mean
from sharkpy.catalog.kafka_options import CLIENT_PREFIX, FAIL_ON_LOSS
from sharkpy.catalog.new_columns import NEW_COLUMNS
from sharkpy.catalog.stream_kinds import KAFKA, KINDS, StreamKind

Properties = tuple[tuple[str, str], ...]
_PREFIX = "stream."
"""Prefix of the engine's own properties."""


def options_among(properties: Properties, kind: StreamKind) -> tuple[Properties, Properties]:
    """Return the options of a kind of streams, under their own names, and the other properties. Raise BindError for a
    property that streams of the kind do not support.
    """
    names = {name.lower(): name for name in _names(kind)}
    options = []
    others = []
    for key, value in properties:
        is_clients = kind is KAFKA and key.lower().startswith(CLIENT_PREFIX)
        if key.lower() in names or is_clients:
            options.append((names.get(key.lower(), key), value))
        else:
            others.append((key, value))
    check_names(kind, (key for key, _ in others))
    return tuple(options), tuple(others)


def check_changed(kind: StreamKind, names: Iterable[str]) -> None:
    """Raise BindError for properties of a stream whose change would have no effect."""
    given = list(names)
    own = {name.lower() for name in _names(kind)}
    if found := next((name for name in given if name.lower() in own), None):
        message = f'"{found}" is an option of FROM {kind.name}: it cannot be changed'
        raise BindError(message, hint="drop the stream and create it again", sqlstate="42809")
    check_names(kind, given)


def check_names(kind: StreamKind, names: Iterable[str]) -> None:
    """Raise BindError for options of other kinds, unless they are plain words, and for unknown properties of the
    engine.
    """
    others = {name.lower(): one for one in KINDS.values() for name in _names(one) if not name.islower() or "." in name}
    for name in names:
        if (other := others.get(name.lower())) is not None:
            message = f'"{name}" is an option of FROM {other.name}, not of a stream FROM {kind.name}'
            raise BindError(message, sqlstate="22023")
        if name.lower().startswith(_PREFIX) and name.lower() != NEW_COLUMNS:
            hint = did_you_mean(name, [NEW_COLUMNS]) or f"there is {NEW_COLUMNS}"
            raise BindError(f'"{name}" is not a property of a stream', hint=hint, sqlstate="22023")


def _names(kind: StreamKind) -> Sequence[str]:
    """Return the names of options. The option for lost items may be a property of any stream."""
    return [one.name for one in kind.options if one.name != FAIL_ON_LOSS]
