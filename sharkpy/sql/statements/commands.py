"""Binders of the statements other than queries and inserts. They are imported when the first such statement comes."""

from __future__ import annotations

from types import ModuleType

from sharkpy.sql.statements import (
    bind_alter,
    bind_continuous,
    bind_create,
    bind_describe,
    bind_drop,
    bind_generate,
    bind_load_export,
    bind_merge,
    bind_row_changes,
    bind_session_commands,
    bind_show,
    bind_statistics,
    bind_user_functions,
    bind_versions,
)
from sharkpy.sql.statements.command_binder import CommandBinder, CommandHandler

COMMANDS: dict[str, CommandHandler] = {
    "SHOW": bind_show.bind_show,
    "DESCRIBE": bind_describe.bind_describe,
    "DESC": bind_describe.bind_describe,
    "CREATE": bind_create.bind_create,
    "DROP": bind_drop.bind_drop,
    "ALTER": bind_alter.bind_alter,
    "ANALYZE": bind_statistics.bind_analyze,
    "MSCK": bind_drop.bind_repair,
    "TRUNCATE": bind_drop.bind_truncate,
    "LOAD": bind_load_export.bind_load,
    "EXPORT": bind_load_export.bind_export,
    "IMPORT": bind_load_export.bind_import,
    "GENERATE": bind_generate.bind_generate,
    "UPDATE": bind_row_changes.bind_update,
    "MERGE": bind_merge.bind_merge,
    "PAUSE": bind_continuous.bind_control,
    "RESUME": bind_continuous.bind_control,
    "REFRESH": bind_continuous.bind_control,
    "ROLLBACK": bind_continuous.bind_rollback,
    "USE": bind_session_commands.bind_use,
    "RESET": bind_session_commands.bind_reset,
    "CACHE": bind_session_commands.bind_cache,
    "UNCACHE": bind_session_commands.bind_uncache,
    "CLEAR": bind_session_commands.bind_clear,
    "KILL": bind_session_commands.bind_kill,
    "ADD": bind_session_commands.bind_add,
    "LIST": bind_session_commands.bind_list,
    "DELETE": lambda binder: _deleted(binder).bind_delete(binder),
    "RELOAD": bind_user_functions.bind_reload,
    "RESTORE": bind_versions.bind_restore,
    "UNDROP": bind_versions.bind_undrop,
    "VACUUM": bind_versions.bind_vacuum,
}
"""Binders of the statements other than queries and inserts, by first word."""


def _deleted(binder: CommandBinder) -> ModuleType:
    """Return the module that binds a DELETE: of rows of a table, or of files that were added to the session."""
    return bind_row_changes if binder.reader.peek("DELETE", "FROM") else bind_session_commands
