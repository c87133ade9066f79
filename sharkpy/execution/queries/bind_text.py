"""Binding of a statement's text: variables are substituted, names resolved for a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.execution.engine_session import EngineSession
from sharkpy.sql.grammar.variables import substitute_variables

if TYPE_CHECKING:
    from sharkpy.plan.commands import Command
    from sharkpy.plan.logical import LogicalPlan


def substituted(session: EngineSession, text: str) -> str:
    """Replace the variables in `text` by their values; remote users cannot read environment variables.

    Unpaired surrogates become question marks, as in Java.
    """
    found = substitute_variables(text, session.conf, of_machine=not session.restrictions.guards_settings)
    return found if found.isascii() else found.encode("utf-8", "replace").decode()


def bind_text(session: EngineSession, text: str) -> LogicalPlan | Command:
    """Bind `text` to a query or a command, after substituting its variables."""
    from sharkpy.sql.binder import bind

    session.check_open()
    return bind(substituted(session, text), session.catalog, session.conf, session.current_database)
