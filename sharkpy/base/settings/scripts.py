"""Settings of TRANSFORM's scripts."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

SCRIPT_ESCAPES = Setting(
    "hive.transform.escape.input",
    False,
    "Write line ends and tabs in values as \\n, \\r and \\t for scripts, and accept them so.",
)
SCRIPT_MAY_LEAVE_ROWS = Setting(
    "hive.exec.script.allow.partial.consumption", False, "Let a script end before it has read all of its rows."
)
SCRIPT_ERROR_BYTES = Setting(
    "hive.exec.script.maxerrsize",
    100_000,
    "Bytes at the end of a script's standard error that its error message may quote.",
)
SCRIPT_ID_VARIABLE = Setting(
    "hive.script.operator.id.env.var",
    "HIVE_SCRIPT_OPERATOR_ID",
    "Environment variable with a name that is unique to each script of a statement.",
)
SCRIPT_WRAPPER = Setting("hive.exec.script.wrapper", "", "Words before the command of each script.")
