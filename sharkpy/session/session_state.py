"""State of a session without its settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from sharkpy.catalog.catalog import Catalog
from sharkpy.execution.restrictions import UNRESTRICTED, Restrictions
from sharkpy.execution.statement import PlanObservers
from sharkpy.session.running_statements import RunningStatements
from sharkpy.session.shared_parts import SharedParts


@dataclass(slots=True, eq=False, weakref_slot=True)
class SessionState:
    """Names, statements and listeners of a session: the same under all its settings.

    `catalog` has the session's temporary objects in addition to the shared ones. If `is_owner`, the end of the session
    ends the engine and all its sessions.
    """

    parts: SharedParts
    catalog: Catalog
    name: str
    is_owner: bool
    current_database: str = "default"
    restrictions: Restrictions = UNRESTRICTED
    observers: PlanObservers = field(default_factory=PlanObservers)
    registered: dict[str, object] = field(default_factory=dict)
    """Data of the program, by the name under which queries read it."""
    statements: RunningStatements = field(init=False)

    def __post_init__(self) -> None:
        self.statements = RunningStatements(self.name, self.parts.history)
