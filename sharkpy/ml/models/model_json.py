"""Models as JSON text and as files: parameters and fitted state, with the exact values.

`{"format": "sharkpy model", "version": 1, "class": …, "parameters": {…}, "fitted": {…}}`. Plain JSON values stand for
themselves; other values are objects with one key that names their kind: a row of `_READERS`. A text is never executed,
and a class is looked up only among this package's models.
"""

from __future__ import annotations

import json
import math
import os
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.records import dataclass

FORMAT = "sharkpy model"
VERSION = 1


@dataclass(frozen=True, slots=True)
class ModelState:
    """Model read from a text; `fitted` is empty if the model was not fitted."""

    class_name: str
    parameters: dict[str, Any]
    fitted: dict[str, Any]


def to_text(state: ModelState) -> str:
    """Return a model as text. Raise UnsupportedError that names an attribute whose value has no form, such as a
    function.
    """
    written = {
        "format": FORMAT,
        "version": VERSION,
        "class": state.class_name,
        "parameters": _written_fields(state, state.parameters),
        "fitted": _written_fields(state, state.fitted),
    }
    return json.dumps(written, allow_nan=False, ensure_ascii=False)


def from_text(text: str, origin: str = "the text") -> ModelState:
    """Read a model's state. Raise SourceError if `text` is not a model, is damaged, or has a later version."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise SourceError(f"{origin} is not a model of sharkpy", hint="models are written by model.save(path)")
    if found.get("version") != VERSION:
        raise SourceError(
            f"{origin} is a model of format version {found.get('version')!r}; this sharkpy reads version {VERSION}"
        )
    try:
        parameters, fitted = (_read_fields(found[part]) for part in ("parameters", "fitted"))
        return ModelState(str(found["class"]), parameters, fitted)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(f"{origin} is a damaged model: {type(error).__name__}: {error}") from error


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Write a file, completely or not at all. An existing file is replaced."""
    target = Path(path)
    staged = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        with staged.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        staged.replace(target)
    except OSError as error:
        raise SourceError(f'cannot write the model to "{path}": {error.strerror or error}') from error
    finally:
        staged.unlink(missing_ok=True)


def read_file(path: str | os.PathLike[str]) -> ModelState:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = ""
    except OSError as error:
        raise SourceError(f'cannot read a model from "{path}": {error.strerror or error}') from error
    return from_text(text, f'file "{path}"')


def _written_fields(state: ModelState, fields: Mapping[str, object]) -> dict[str, Any]:
    written = {}
    for name, value in fields.items():
        try:
            written[name] = _written(value)
        except TypeError as error:
            raise UnsupportedError(f'{state.class_name} cannot be saved: "{name}" holds {error}') from None
    return written


def _written(value: object) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case np.generic() if value.dtype.kind in "biuf":
            return {"scalar": [value.dtype.str, _written(value.item())]}
        case float():
            return value if math.isfinite(value) else {"float": str(value)}
        case np.ndarray():
            return {"array": _written_array(value)}
        case list():
            return [_written(item) for item in value]
        case tuple():
            return {"tuple": [_written(item) for item in value]}
        case dict():
            return {"dict": [[_written(key), _written(item)] for key, item in value.items()]}
    raise TypeError(f"a {type(value).__name__}")


def _written_array(array: np.ndarray[Any, Any]) -> list[Any]:
    """Array as [type, shape, values in C order]; dates are their integers. float32 widens to Python's float and back
    exactly.
    """
    kind = array.dtype.kind
    if kind not in "biufmMUO":
        raise TypeError(f"an array of {array.dtype}")
    plain = array.view(np.int64) if kind in "mM" else array
    return [array.dtype.str, list(array.shape), [_written(item) for item in plain.ravel().tolist()]]


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((kind, content),) = value.items()
        if reader := _READERS.get(kind):
            return reader(content)
    raise ValueError(f"unknown kind of value {', '.join(value)}")


def _read_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: _read(value) for name, value in fields.items()}


def _read_array(content: list[Any]) -> np.ndarray[Any, Any]:
    dtype, shape, values = np.dtype(content[0]), tuple(content[1]), _read(content[2])
    is_time = dtype.kind in "mM"
    array: np.ndarray[Any, Any] = np.empty(len(values), np.int64 if is_time else dtype)
    array[:] = values
    return (array.view(dtype) if is_time else array).reshape(shape)


_READERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "scalar": lambda content: np.dtype(content[0]).type(_read(content[1])),
    "array": _read_array,
    "tuple": lambda content: tuple(_read(content)),
    "dict": lambda content: {_read(key): _read(item) for key, item in content},
}
