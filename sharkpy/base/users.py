"""The user of a session, the groups of a user on this machine, and the folder of a user's state."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

from sharkpy.base.settings import USER, Conf


def user_name(conf: Conf) -> str:
    """Return the name of the user who owns the tables that the session creates."""
    if user := conf.value(USER):
        return user
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # in a container whose user has no name
        return str(os.getuid())


def groups_of(user: str) -> tuple[str, ...]:
    """Return the sorted groups of a user on this machine, or none if the machine does not know the user."""
    import grp
    import pwd

    try:
        ids = os.getgrouplist(user, pwd.getpwnam(user).pw_gid)
        return tuple(sorted(grp.getgrgid(number).gr_name for number in ids))
    except KeyError:
        return ()


def user_state_folder() -> Path:
    """Return the folder of state that programs keep for the user between runs."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "sharkpy")
