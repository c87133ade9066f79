"""Settings of the history of statements: how many records are kept, how large, and where."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

HISTORY_STATEMENTS = Setting(
    "shark.history.statements",
    1000,
    "Ended statements of all sessions that SHOW QUERIES lists from memory. 0: no history.",
    is_guarded=True,
)
HISTORY_TEXT_BYTES = Setting(
    "shark.history.text.bytes",
    8 << 10,
    "Maximum bytes of a statement's text, and of its error, in the history.",
    is_guarded=True,
)
HISTORY_PLAN_BYTES = Setting(
    "shark.history.plan.bytes",
    16 << 10,
    "Maximum bytes of a statement's plans in the history. 0: no plans.",
    is_guarded=True,
)
HISTORY_SAVED = Setting(
    "shark.history.saved",
    False,
    "Save ended statements in the catalog's file, so that a restart does not lose them. sharkpy server turns this on.",
    is_guarded=True,
)
HISTORY_SAVED_STATEMENTS = Setting(
    "shark.history.saved.statements", 10_000, "Maximum statements saved in the catalog's file.", is_guarded=True
)
HISTORY_SAVED_DAYS = Setting(
    "shark.history.saved.days", 30.0, "Maximum days that a statement is saved.", is_guarded=True, most=1_000_000
)
