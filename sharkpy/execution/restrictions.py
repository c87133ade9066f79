"""Restrictions of a session on the machine that runs it; those of remote users have some."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sharkpy.base.errors import NotAllowedError
from sharkpy.base.settings import is_guarded
from sharkpy.sources.layout import local_path


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Restrictions of a session. Commands check them before they touch a path of the statement, and before a setting
    changes.

    1. `folders`: where LOCATION and LOAD DATA may point, and below; None: anywhere.
    2. `closed`: folders of the engine itself: nothing may point into them, nor at what holds them.
    3. `guards_settings`: settings for the engine's owner alone, by the table of settings, keep their values.
    4. `refuses_code`: no code of the session's runs in the engine, as functions, JARs and scripts would.
    5. `sees_own_statements`: of the history of statements it sees those of its own user alone.
    """

    folders: tuple[Path, ...] | None = None
    closed: tuple[Path, ...] = ()
    guards_settings: bool = False
    refuses_code: bool = False
    sees_own_statements: bool = False

    def check_path(self, path: str) -> None:
        """Raise NotAllowedError for a path out of bounds, after following links."""
        if self.folders is None and not self.closed:
            return
        place = Path(local_path(path)).resolve()
        closed = [folder.resolve() for folder in self.closed]
        if any(place.is_relative_to(folder) or folder.is_relative_to(place) for folder in closed):
            raise NotAllowedError(f'"{path}" belongs to the engine', hint="choose another folder")
        if self.folders is not None and not any(place.is_relative_to(folder.resolve()) for folder in self.folders):
            allowed = ", ".join(str(folder) for folder in self.folders) or "none"
            raise NotAllowedError(f'"{path}" is out of this session\'s bounds', hint=f"allowed folders: {allowed}")

    def check_setting(self, key: str) -> None:
        """Raise NotAllowedError for a setting that this session may not change."""
        if self.keeps(key):
            raise NotAllowedError(f"{key} cannot be set in this session", hint="the engine's owner sets it")

    def check_code(self, action: str) -> None:
        """Raise NotAllowedError if the session may not bring code."""
        if self.refuses_code:
            hint = "the engine's owner defines functions, or starts the server with --allow-code"
            raise NotAllowedError(f"{action} is not allowed in this session", hint=hint)

    def keeps(self, key: str) -> bool:
        return self.guards_settings and is_guarded(key)


UNRESTRICTED = Restrictions()
SCRIPT = "a script in a query"
"""Action that `check_code` gets for TRANSFORM, MAP and REDUCE."""
