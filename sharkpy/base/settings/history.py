"""Settings of the history of statements: how many records are kept, how large, and where."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

HISTORY_STATEMENTS = Setting(
    "shark.history.statements",
    1000,
    "Ended statements of all sessions that are kept in memory, for SHOW QUERIES; 0: no history.",
    is_guarded=True,
)
HISTORY_TEXT_BYTES = Setting(
    "shark.history.text.bytes",
    8 << 10,
    "Bytes of a statement's text, and of its error, in its record.",
    is_guarded=True,
)
HISTORY_PLAN_BYTES = Setting(
    "shark.history.plan.bytes", 16 << 10, "Bytes of the plans of a statement in its record; 0: none.", is_guarded=True
)
HISTORY_SAVED = Setting(
    "shark.history.saved",
    False,
    "Keep ended statements in the catalog's file too, across restarts; sharkpy server does.",
    is_guarded=True,
)
HISTORY_SAVED_STATEMENTS = Setting(
    "shark.history.saved.statements", 10_000, "Statements kept in the catalog's file.", is_guarded=True
)
HISTORY_SAVED_DAYS = Setting(
    "shark.history.saved.days", 30.0, "Days that they are kept there at most.", is_guarded=True, most=1_000_000
)
