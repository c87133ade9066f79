"""User functions in the catalog, and the files of ADD JAR, ADD FILE and ADD ARCHIVE.

Temporary functions, macros and added files belong to a session, permanent functions to databases.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

from sharkpy.base import uri
from sharkpy.base.errors import BindError, ConfigurationError, FunctionNotFoundError
from sharkpy.base.records import dataclass
from sharkpy.catalog.database_file import CatalogFile
from sharkpy.catalog.model import Table
from sharkpy.catalog.names import check_name
from sharkpy.udf import registry
from sharkpy.udf.special_forms import JAVA_CLASSES
from sharkpy.udf.user.function import UserFunction
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import DataType

BUILT_IN = ""
"""Pseudo-database of built-in functions that call Java."""
EXISTS = "42723"
"""SQLSTATE for a function name that already exists."""
_COPY = "copy:"
"""Prefix of stored paths in a function's folder of copies."""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro of a session, or a SQL function: `text` is an expression over the parameters.

    A function has a `result` and a `database` in which the names in its text are resolved. A table function has
    `columns`, and its text is a query. `place` is the qualified name of a permanent function.
    """

    name: str
    parameters: tuple[tuple[str, DataType], ...]
    text: str
    result: DataType | None = None
    database: str = ""
    columns: tuple[tuple[str, DataType], ...] = ()
    place: str = ""

    @property
    def is_function(self) -> bool:
        return self.result is not None or bool(self.columns)

    @property
    def kind(self) -> str:
        return "function" if self.is_function else "macro"

    @property
    def key(self) -> str:
        """A name that is unique among the session's macros and SQL functions."""
        return self.place or self.name

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(f'{name} {dtype}' for name, dtype in self.parameters)})"


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A function of CREATE FUNCTION.

    `target` is module.name or a Java class. `resources` are (JAR|FILE|ARCHIVE, path), with paths of copies for remote
    files. A function that a program has registered has its `code` instead, and a SQL function its `macro`.
    """

    database: str
    name: str
    target: str
    resources: tuple[tuple[str, str], ...] = ()
    created_at: float = 0.0
    code: bytes = b""
    macro: Macro | None = None
    function_id: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def qualified_name(self) -> str:
        return f"{self.database}.{self.name}"


@dataclass(frozen=True, slots=True)
class ModelFunction:
    """Function that predicts with a fitted model. Its arguments are the features, one DOUBLE each."""

    function: UserFunction
    features: tuple[str, ...]
    result: DataType


CatalogFunction = UserFunction | Macro
Loader = Callable[[FunctionEntry], UserFunction]
"""Loads the function of an entry. Raises an error if its code is missing."""


ModelLoader = Callable[[Table, str], ModelFunction]
"""Returns a method of the model in a table as a function. Raises BindError if the table holds no model."""


def _no_model_loader(table: Table, method: str) -> ModelFunction:
    raise ConfigurationError(f'{method} of the model "{table.name}" cannot be made by a catalog without a session')


def _no_loader(entry: FunctionEntry) -> UserFunction:
    raise ConfigurationError(f'function "{entry.qualified_name}" cannot be loaded by a catalog without a session')


class FunctionCatalog:
    """User functions by name, as a session sees them.

    1. A name refers to the session's temporary function, else a built-in one, else a function of the current database.
    2. `database.name` refers to a permanent function.
    3. `loader` loads permanent functions when they are first called.
    4. `copies` holds a folder per permanent function with copies of its files. The folder becomes garbage of the
       catalog when the function is dropped or replaced.
    """

    def __init__(self, file: CatalogFile, copies: str) -> None:
        self._file, self._copies = file, copies
        self._lock = threading.RLock()
        self._temporary: dict[str, CatalogFunction] = {}
        self._loaded: dict[str, UserFunction] = {}
        self.loader: Loader = _no_loader
        self.model_loader: ModelLoader = _no_model_loader

    def for_session(self) -> FunctionCatalog:
        """Return the catalog of another session: the same permanent functions, but its own temporary functions."""
        other = FunctionCatalog.__new__(FunctionCatalog)
        other._file, other._copies, other._lock = self._file, self._copies, threading.RLock()
        other._temporary, other._loaded = {}, {}
        other.loader, other.model_loader = self.loader, self.model_loader
        return other

    def find(self, database: str, name: str) -> CatalogFunction | None:
        """Find the function of `name` or `database.name` in `database`. Return None for a built-in or unknown
        function.
        """
        place, _, short = name.rpartition(".")
        if place:
            return self._permanent(place, short)
        if temporary := self._temporary.get(name):
            return temporary
        if name in JAVA_CLASSES:
            return self._load(FunctionEntry(BUILT_IN, name, JAVA_CLASSES[name], function_id=name))
        return None if registry.described(name) else self._permanent(database, name)

    def place(self, database: str, name: str) -> str | None:
        """Return the database of the permanent function that `name` or `database.name` refers to. It is empty for a
        temporary function, None for a built-in or unknown one.
        """
        found, _, short = name.rpartition(".")
        if not found and name in self._temporary:
            return ""
        is_own = not found and (name in JAVA_CLASSES or registry.described(name) is not None)
        return None if is_own or self.entry(found or database, short) is None else found or database

    def find_temporary(self, name: str) -> CatalogFunction | None:
        return self._temporary.get(name)

    def add_temporary(self, name: str, function: CatalogFunction, *, if_not_exists: bool = False) -> None:
        """Add a temporary function, replacing one of the same name."""
        check_name(name)
        with self._lock:
            if not (if_not_exists and name in self._temporary):
                self._temporary[name] = function

    def drop_temporary(self, name: str) -> bool:
        """Drop a temporary function. Return False if there is none."""
        with self._lock:
            return self._temporary.pop(name, None) is not None

    def entry(self, database: str, name: str) -> FunctionEntry | None:
        row = self._file.row("SELECT definition FROM function_ WHERE database = ? AND name = ?", database, name)
        return self._decode(database, name, row[0]) if row is not None else None

    def entries(self, database: str | None = None) -> list[FunctionEntry]:
        """Return the permanent functions of one database, or of all."""
        sql = "SELECT database, name, definition FROM function_"
        rows = self._file.rows(sql) if database is None else self._file.rows(f"{sql} WHERE database = ?", database)
        return [self._decode(*row) for row in rows]

    def create(self, entry: FunctionEntry, *, replace: bool = False, if_not_exists: bool = False) -> bool:
        """Create a permanent function. If the name exists, return False with `if_not_exists`, else raise BindError
        42723.
        """
        check_name(entry.name)
        with self._file.transaction():
            known = self.entry(entry.database, entry.name)
            if known is not None and not replace:
                if if_not_exists:
                    return False
                raise BindError(f'function "{entry.qualified_name}" already exists', sqlstate=EXISTS)
            if known is not None:
                self._discard(known)
            row = (entry.database, entry.name, self._encode(entry))
            self._file.run("INSERT OR REPLACE INTO function_ VALUES (?, ?, ?)", *row)
            return True

    def drop(self, database: str, name: str) -> bool:
        """Drop a permanent function. Return False if there is none."""
        with self._file.transaction():
            if (known := self.entry(database, name)) is not None:
                self._discard(known)
            return bool(self._file.run("DELETE FROM function_ WHERE database = ? AND name = ?", database, name))

    def drop_database(self, database: str) -> None:
        """Drop the functions of a database. Call this inside a transaction."""
        for entry in self.entries(database):
            self._discard(entry)
        self._file.run("DELETE FROM function_ WHERE database = ?", database)

    def copies(self, entry: FunctionEntry) -> str:
        """Return the folder for copies of a function's files."""
        return str(Path(self._copies, entry.function_id))

    def _discard(self, entry: FunctionEntry) -> None:
        folder = self.copies(entry)
        if any(uri.below(path, folder) is not None for _, path in entry.resources):
            self._file.add_garbage(folder)

    def reload(self) -> None:
        """Reload each permanent function at its next call."""
        with self._lock:
            self._loaded.clear()

    def temporary(self) -> dict[str, CatalogFunction]:
        return dict(self._temporary)

    def _permanent(self, database: str, name: str) -> CatalogFunction | None:
        entry = self.entry(database, name)
        if entry is None or entry.macro is not None:
            return None if entry is None else entry.macro
        return self._load(entry)

    def _load(self, entry: FunctionEntry) -> UserFunction:
        with self._lock:
            if entry.function_id not in self._loaded:
                self._loaded[entry.function_id] = self.loader(entry)
            return self._loaded[entry.function_id]

    def _encode(self, entry: FunctionEntry) -> str:
        return json.dumps(
            {
                "id": entry.function_id,
                "target": entry.target,
                "resources": [[kind, self._stored(path, entry)] for kind, path in entry.resources],
                "created_at": entry.created_at or float(int(time.time())),
                "code": base64.b64encode(entry.code).decode("ascii"),
                **({} if entry.macro is None else {"sql": _written(entry.macro)}),
            }
        )

    def _decode(self, database: str, name: str, text: str) -> FunctionEntry:
        body = json.loads(text)
        code = base64.b64decode(body.get("code", ""))
        macro = _read(database, name, body["sql"]) if "sql" in body else None
        entry = FunctionEntry(database, name, body["target"], (), body["created_at"], code, macro, body["id"])
        resources = tuple((kind, self._absolute(path, entry)) for kind, path in body["resources"])
        return dataclasses.replace(entry, resources=resources)

    def _stored(self, path: str, entry: FunctionEntry) -> str:
        """Return a path in its stored form. Copies are relative to the catalog, so that it can be moved."""
        copy = uri.below(path, self.copies(entry))
        return self._file.locations.stored(path) if copy is None else f"{_COPY}{copy}"

    def _absolute(self, stored: str, entry: FunctionEntry) -> str:
        if stored.startswith(_COPY):
            return str(Path(self.copies(entry), stored.removeprefix(_COPY)))
        return self._file.locations.absolute(stored)


def _written(macro: Macro) -> dict[str, object]:
    """Return a SQL function in its stored form."""
    return {
        "parameters": [[name, str(dtype)] for name, dtype in macro.parameters],
        "text": macro.text,
        "result": None if macro.result is None else str(macro.result),
        "database": macro.database,
        "columns": [[name, str(dtype)] for name, dtype in macro.columns],
    }


def _read(database: str, name: str, body: Mapping[str, Any]) -> Macro:
    return Macro(
        name,
        tuple((one, parse_type(dtype)) for one, dtype in body["parameters"]),
        body["text"],
        None if body["result"] is None else parse_type(body["result"]),
        body["database"],
        tuple((one, parse_type(dtype)) for one, dtype in body["columns"]),
        f"{database}.{name}",
    )


def not_found(name: str, hint: str | None = None) -> FunctionNotFoundError:
    return FunctionNotFoundError(f'no function "{name}"', hint=hint)


KINDS = ("JAR", "FILE", "ARCHIVE")


@dataclass(frozen=True, slots=True)
class Fetched:
    """Copy of a remote file at `path`. `version` distinguishes the contents of one location."""

    path: str
    version: Hashable
    size_bytes: int


class Resources:
    """Absolute local paths by kind, in order of addition, and copies of remote files, which last as long as the
    session. Threads may share it.
    """

    def __init__(self) -> None:
        self.fetching = threading.Lock()
        """Held while a remote file is fetched, so that each file is fetched once."""
        self._lock = threading.Lock()
        self._paths: dict[str, tuple[str, ...]] = dict.fromkeys(KINDS, ())
        self._fetched: dict[str, Fetched] = {}
        self._fetched_bytes = 0

    @property
    def fetched_bytes(self) -> int:
        """Bytes of all copies of remote files."""
        return self._fetched_bytes

    def fetched(self, location: str) -> Fetched | None:
        """Return the last copy of a remote file."""
        return self._fetched.get(location)

    def note_fetched(self, location: str, copy: Fetched) -> None:
        with self._lock:
            self._fetched[location] = copy
            self._fetched_bytes += copy.size_bytes

    def paths(self, kind: str) -> tuple[str, ...]:
        return self._paths[kind]

    def add(self, kind: str, path: str) -> None:
        with self._lock:
            if path not in self._paths[kind]:
                self._paths[kind] = (*self._paths[kind], path)

    def remove(self, kind: str, path: str | None = None) -> None:
        """Remove one path, or all of the kind."""
        with self._lock:
            self._paths[kind] = tuple(one for one in self._paths[kind] if path is not None and one != path)
