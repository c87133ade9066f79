"""Binding of a statement's text: variables replaced by their values, names resolved for a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.execution.engine_session import EngineSession
from sharkpy.sql.grammar.variables import substitute_variables

if TYPE_CHECKING:
    from sharkpy.plan.commands import Command
    from sharkpy.plan.logical import LogicalPlan


def substituted(session: EngineSession, text: str) -> str:
    """Replace the variables of `text` by their values; those of the environment are not for remote users. Halves
    of characters that stand alone become question marks, as in Java.
    """
    found = substitute_variables(text, session.conf, of_machine=not session.restrictions.guards_settings)
    return found if found.isascii() else found.encode("utf-8", "replace").decode()


def bind_text(session: EngineSession, text: str) -> LogicalPlan | Command:
    """Bind `text` to a query or a command, after replacing its variables."""
    from sharkpy.sql.binder import bind

    session.check_open()
    return bind(substituted(session, text), session.catalog, session.conf, session.current_database)
