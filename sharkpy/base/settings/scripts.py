"""Settings of TRANSFORM's scripts."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

SCRIPT_ESCAPES = Setting(
    "hive.transform.escape.input",
    False,
    "Scripts get line ends and tabs within values as \\n, \\r and \\t, and may give them so.",
)
SCRIPT_MAY_LEAVE_ROWS = Setting(
    "hive.exec.script.allow.partial.consumption", False, "A script may end before it has read all of its rows."
)
SCRIPT_ERROR_BYTES = Setting(
    "hive.exec.script.maxerrsize", 100_000, "The last bytes of a script's standard error that are kept for its error."
)
SCRIPT_ID_VARIABLE = Setting(
    "hive.script.operator.id.env.var",
    "HIVE_SCRIPT_OPERATOR_ID",
    "Variable in a script's environment with a name that no other script of the statement has.",
)
SCRIPT_WRAPPER = Setting("hive.exec.script.wrapper", "", "Words put before the command of each script.")
