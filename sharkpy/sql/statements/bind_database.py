"""CREATE, ALTER and DROP DATABASE."""

from __future__ import annotations

import dataclasses

from sharkpy.plan.commands import AlterDatabase, Command, CreateDatabase, DropDatabase
from sharkpy.sql.statements.command_binder import CommandBinder


def bind_create_database(binder: CommandBinder) -> CreateDatabase:
    """[IF NOT EXISTS] name, followed by COMMENT, LOCATION, MANAGEDLOCATION and WITH DBPROPERTIES in any order."""
    reader = binder.reader
    if_not_exists = reader.if_not_exists()
    made = CreateDatabase(reader.name("a database name"), if_not_exists)
    while reader.current is not None:
        if reader.match("COMMENT"):
            made = dataclasses.replace(made, comment=reader.string("a comment"))
        elif reader.match("LOCATION") or reader.match("MANAGEDLOCATION"):
            made = dataclasses.replace(made, location=reader.string("a path"))
        elif reader.match("WITH", "DBPROPERTIES"):
            made = dataclasses.replace(made, properties=reader.properties())
        else:
            raise reader.error("COMMENT, LOCATION or WITH DBPROPERTIES expected")
    return made


def bind_alter_database(binder: CommandBinder) -> Command:
    """SET DBPROPERTIES (…) | OWNER USER | ROLE name | LOCATION 'path'. A new location applies only to new tables."""
    reader = binder.reader
    token = reader.take()
    reader.position -= 1
    name = reader.name("a database name")
    with binder.place_of(token):
        database = binder.context.catalog.database(name)
    reader.expect("SET")
    if reader.match_any("DBPROPERTIES", "PROPERTIES"):
        merged = dict(database.properties) | dict(reader.properties())
        return AlterDatabase(database, dataclasses.replace(database, properties=tuple(merged.items())))
    if reader.match("OWNER"):
        kind = reader.expect_any("USER", "ROLE", "GROUP")
        return AlterDatabase(database, dataclasses.replace(database, owner=reader.name("an owner"), owner_kind=kind))
    reader.expect_any("LOCATION", "MANAGEDLOCATION")
    return AlterDatabase(database, dataclasses.replace(database, location=reader.string("a path")))


def bind_drop_database(binder: CommandBinder) -> DropDatabase:
    reader = binder.reader
    if_exists = reader.if_exists()
    name = reader.name("a database name")
    return DropDatabase(name, if_exists, reader.match_any("CASCADE", "RESTRICT") == "CASCADE")
