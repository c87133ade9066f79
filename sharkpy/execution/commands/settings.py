"""SET and RESET."""

from __future__ import annotations

from sharkpy.base.secrets import redacted
from sharkpy.base.settings import SETTINGS, check_known
from sharkpy.execution.commands.command_result import NOTHING, CommandResult, text_rows
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import ResetConf, SetConf
from sharkpy.sql.grammar.variables import variable


def set_conf(command: SetConf, session: EngineSession) -> CommandResult:
    """Set a setting, or list settings as `key=value` in one column, as in Hive, without secrets."""
    conf = session.conf
    if command.key is None:
        docs = {setting.key: f"  -- {setting.doc}" for setting in SETTINGS} if command.verbose else {}
        rows = [(redacted(f"{key}={conf[key]}") + docs.get(key, ""),) for key in sorted(conf)]
        return text_rows(("set",), rows)
    check_known(command.key)
    if command.value is None:
        space, colon, name = command.key.partition(":")
        is_variable = colon and space in ("env", "system", "hivevar", "metaconf")
        of_machine = not session.restrictions.guards_settings
        value = variable(space, name, conf, of_machine=of_machine) if is_variable else conf.get(command.key)
        shown = f"{command.key} is undefined" if value is None else redacted(f"{command.key}={value}")
        return text_rows(("set",), [(shown,)])
    session.restrictions.check_setting(command.key)
    conf.set(command.key, command.value)
    return NOTHING


def reset_conf(command: ResetConf, session: EngineSession) -> CommandResult:
    """Reset one setting, or all settings that the session may change."""
    conf, restrictions = session.conf, session.restrictions
    if command.key is not None:
        restrictions.check_setting(command.key)
        conf.reset(command.key)
        return NOTHING
    kept = [(key, value) for key, value in conf.changes() if restrictions.keeps(key)]
    conf.reset()
    for key, value in kept:
        conf.set(key, value)
    return NOTHING
