"""Commands about user functions and macros, and about their files."""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.catalog.function_catalog import Macro
from sharkpy.plan.commands.command import Command, Listing


@dataclass(frozen=True, slots=True)
class CreateFunction(Command):
    """CREATE FUNCTION. `target` is module.name or a Java class. `database` None: a temporary function."""

    database: str | None
    name: str
    target: str
    resources: tuple[tuple[str, str], ...]
    is_temporary: bool
    if_not_exists: bool
    or_replace: bool


@dataclass(frozen=True, slots=True)
class CreateSqlFunction(Command):
    """CREATE FUNCTION with a SQL body. `database` None: a temporary function."""

    function: Macro
    database: str | None
    if_not_exists: bool
    or_replace: bool


@dataclass(frozen=True, slots=True)
class DropFunction(Command):
    """DROP FUNCTION. `database` None: a temporary function."""

    database: str | None
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class ReloadFunctions(Command):
    pass


@dataclass(frozen=True, slots=True)
class CreateMacro(Command):
    macro: Macro


@dataclass(frozen=True, slots=True)
class DropMacro(Command):
    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True)
class AddResources(Command):
    """ADD JAR | FILE | ARCHIVE with paths as written."""

    kind: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListResources(Listing):
    """LIST JAR | FILE | ARCHIVE. With `paths`, only these are listed."""

    kind: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeleteResources(Command):
    """DELETE JAR | FILE | ARCHIVE. Without `paths`, all of the kind are removed."""

    kind: str
    paths: tuple[str, ...]
