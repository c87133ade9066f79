"""The text of a statement with the values of its variables, bound to the names of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.execution.engine_session import EngineSession
from sharkpy.sql.grammar.variables import substitute_variables

if TYPE_CHECKING:
    from sharkpy.plan.commands import Command
    from sharkpy.plan.logical import LogicalPlan


def substituted(session: EngineSession, text: str) -> str:
    """`text` with the values of its variables; those of the environment are not for remote users."""
    return substitute_variables(text, session.conf, of_machine=not session.restrictions.guards_settings)


def bind_text(session: EngineSession, text: str) -> LogicalPlan | Command:
    """The bound query or command that `text` is, its variables put in."""
    from sharkpy.sql.binder import bind

    session.check_open()
    return bind(substituted(session, text), session.catalog, session.conf, session.current_database)
