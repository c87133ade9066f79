"""Restrictions of a session on the machine that runs it; those of remote users have some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import NotAllowedError
from sharkpy.base.settings import Conf, is_address, is_guarded
from sharkpy.catalog.path_gate import PathGate
from sharkpy.execution.scratch import blocks_folder

if TYPE_CHECKING:
    from sharkpy.catalog.store import Catalog


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Restrictions of a session. Commands check them before they touch a path of the statement, and before a setting
    changes.

    1. `folders`: where the paths of statements may point, and below; None: anywhere.
    2. `closed`: folders of the engine itself, which no path enters (see `PathGate`).
    3. `guards_settings`: settings for the engine's owner alone, by the table of settings, keep their values.
    4. `refuses_code`: no code of the session's runs in the engine, as functions, JARs and scripts would.
    5. `refuses_connections`: no statement of the session's lets the engine connect to an address.
    6. `sees_own_statements`: of the history of statements it sees those of its own user alone.
    7. `remote`: remote locations at and below which its statements may name files, read with the owner's keys.
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
        """Gate for the paths of the session's statements."""
        return PathGate(self.folders, self.closed, self.remote)

    @property
    def bounds(self) -> tuple[str, ...] | None:
        """Folders and remote locations that the session's statements may name; None: any."""
        if self.folders is None:
            return ("/",) if self.guards_settings else None
        return (*map(str, self.folders), *self.remote)

    def within(self, bounds: Sequence[str]) -> Restrictions:
        """These for what runs in the name of a session with some `bounds`: it uses storage and catalogs as they are by
        the settings of the engine's owner.
        """
        folders = tuple(Path(one) for one in bounds if not uri.is_remote(one))
        return replace(self, folders=folders, guards_settings=True, remote=tuple(filter(uri.is_remote, bounds)))

    def check_path(self, path: str) -> str:
        """Real place that a path names, after links; NotAllowedError if it is out of bounds."""
        return self.gate.check(path)

    def check_location(self, location: str) -> None:
        """NotAllowedError for where a new table's files may not be read: see `PathGate.check_location`."""
        self.gate.check_location(location)

    def opens(self, location: str) -> bool:
        """True for a remote location that the session's statements may name without keys of their own."""
        return self.folders is not None and self.gate.opens(location)

    def check_setting(self, key: str) -> None:
        """Raise NotAllowedError for a setting that this session may not change."""
        if self.keeps(key):
            raise NotAllowedError(f"{key} cannot be set in this session", hint="the engine's owner sets it")
        if is_address(key):
            self.check_connection(f"an address in {key}")

    def check_code(self, action: str) -> None:
        """Raise NotAllowedError if the session may not bring code."""
        if self.refuses_code:
            hint = "the engine's owner defines functions, or starts the server with --allow-code"
            raise NotAllowedError(f"{action} is not allowed in this session", hint=hint)

    def check_connection(self, action: str) -> None:
        """Raise NotAllowedError if the session may not let the engine connect to an address that it names."""
        if self.refuses_connections:
            hint = "the engine's owner makes it, or starts the server with --allow-connections"
            raise NotAllowedError(f"{action} is not allowed in this session", hint=hint)

    def keeps(self, key: str) -> bool:
        return self.guards_settings and is_guarded(key)


UNRESTRICTED = Restrictions()


def of_owner(conf: Conf, catalog: Catalog) -> Restrictions:
    """Restrictions of the engine's owner: none but on the folders that the engine keeps for itself."""
    warehouse = Path(catalog.home)
    blocks = blocks_folder(conf, warehouse).absolute()
    # A folder of blocks that was set to one which holds the warehouse would close the warehouse too.
    mine = () if warehouse.is_relative_to(blocks) else (blocks,)
    return Restrictions(closed=(Path(catalog.state_dir), *mine))


SCRIPT = "a script in a query"
"""Action that `check_code` gets for TRANSFORM, MAP and REDUCE."""
