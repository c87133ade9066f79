"""Restrictions of a session; sessions of remote users have some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import NotAllowedError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf, is_address, is_guarded
from sharkpy.catalog.path_gate import PathGate
from sharkpy.execution.scratch import blocks_folder

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Restrictions of a session. Commands check them before they use a path or change a setting.

    1. `folders`: folders in which statements may name paths; None means any.
    2. `closed`: the engine's own folders, which no path may enter (see `PathGate`).
    3. `guards_settings`: settings reserved for the engine's owner cannot be changed.
    4. `refuses_code`: the session may not bring code: functions, JARs, scripts.
    5. `refuses_connections`: no statement may make the engine connect to an address.
    6. `sees_own_statements`: in the history, the session sees only its own user's statements.
    7. `remote`: remote locations in which statements may name files, read with the owner's keys.
    """

    folders: tuple[Path, ...] | None = None
    closed: tuple[Path, ...] = ()
    guards_settings: bool = False
    refuses_code: bool = False
    refuses_connections: bool = False
    sees_own_statements: bool = False
    remote: tuple[str, ...] = ()

    @property
    def gate(self) -> PathGate:
        """Gate that checks the paths of the session's statements."""
        return PathGate(self.folders, self.closed, self.remote)

    @property
    def bounds(self) -> tuple[str, ...] | None:
        """Folders and remote locations that the session's statements may name; None means any."""
        if self.folders is None:
            return ("/",) if self.guards_settings else None
        return (*map(str, self.folders), *self.remote)

    def within(self, bounds: Sequence[str]) -> Restrictions:
        """Restrictions for background work in the name of a session with `bounds`.

        The work uses storage and catalogs with the settings of the engine's owner.
        """
        folders = tuple(Path(one) for one in bounds if not uri.is_remote(one))
        return replace(self, folders=folders, guards_settings=True, remote=tuple(filter(uri.is_remote, bounds)))

    def check_path(self, path: str) -> str:
        """Return the path with links resolved; raise NotAllowedError if it is out of bounds."""
        return self.gate.check(path)

    def check_location(self, location: str) -> None:
        """Raise NotAllowedError if a new table may not be at the location: see `PathGate.check_location`."""
        self.gate.check_location(location)

    def opens(self, location: str) -> bool:
        """True if the session's statements may name the remote location without keys of their own."""
        return self.folders is not None and self.gate.opens(location)

    def check_setting(self, key: str) -> None:
        """Raise NotAllowedError if this session may not change the setting."""
        if self.keeps(key):
            raise NotAllowedError(f"{key} cannot be set in this session", hint="ask the engine's owner to set it")
        if is_address(key):
            self.check_connection(f"an address in {key}")

    def check_code(self, action: str) -> None:
        """Raise NotAllowedError if the session may not bring code."""
        if self.refuses_code:
            hint = "ask the engine's owner to do it, or to start the server with --allow-code"
            raise NotAllowedError(f"{action} is not allowed in this session", hint=hint)

    def check_connection(self, action: str) -> None:
        """Raise NotAllowedError if the session may not let the engine connect to an address that it names."""
        if self.refuses_connections:
            hint = "ask the engine's owner to do it, or to start the server with --allow-connections"
            raise NotAllowedError(f"{action} is not allowed in this session", hint=hint)

    def keeps(self, key: str) -> bool:
        return self.guards_settings and is_guarded(key)


UNRESTRICTED = Restrictions()


def of_owner(conf: Conf, catalog: Catalog) -> Restrictions:
    """Restrictions of the engine's owner: only the engine's own folders are closed."""
    warehouse = Path(catalog.home)
    blocks = blocks_folder(conf, warehouse).absolute()
    # If the blocks' folder contains the warehouse, closing it would close the warehouse too.
    mine = () if warehouse.is_relative_to(blocks) else (blocks,)
    return Restrictions(closed=(Path(catalog.state_dir), *mine))


SCRIPT = "a script in a query"
"""Action passed to `check_code` for TRANSFORM, MAP and REDUCE."""
