"""Commands that create, change, drop and select databases."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import Database
from sharkpy.plan.commands.command import Command, Properties


@dataclass(frozen=True, slots=True)
class CreateDatabase(Command):
    name: str
    if_not_exists: bool
    comment: str | None = None
    location: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True)
class DropDatabase(Command):
    name: str
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True)
class UseDatabase(Command):
    name: str


@dataclass(frozen=True, slots=True)
class AlterDatabase(Command):
    database: Database
    altered: Database
