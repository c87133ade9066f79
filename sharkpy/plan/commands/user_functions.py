"""Functions and macros of users, and the files that they come from."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.function_catalog import Macro
from sharkpy.plan.commands.command import Command, Listing


@dataclass(frozen=True, slots=True)
class CreateFunction(Command):
    """`target` is module.name or a Java class; `database` None: a temporary function."""

    database: str | None
    name: str
    target: str
    resources: tuple[tuple[str, str], ...]
    is_temporary: bool
    if_not_exists: bool
    or_replace: bool


@dataclass(frozen=True, slots=True)
class CreateSqlFunction(Command):
    """Function in SQL; `database` None: a temporary one."""

    function: Macro
    database: str | None
    if_not_exists: bool
    or_replace: bool


@dataclass(frozen=True, slots=True)
class DropFunction(Command):
    """`database` None: a temporary function."""

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
    """ADD JAR | FILE | ARCHIVE with paths as they are written."""

    kind: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListResources(Listing):
    """Of `paths` alone, where there are any."""

    kind: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeleteResources(Command):
    """All of the kind where there are no `paths`."""

    kind: str
    paths: tuple[str, ...]
