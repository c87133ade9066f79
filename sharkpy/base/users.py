"""Users: whose a session is, their groups on this machine, and where programs keep what is theirs."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

from sharkpy.base.settings import USER, Conf


def user_name(conf: Conf) -> str:
    """Name of the user who owns what the session makes."""
    if user := conf.value(USER):
        return user
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # in a container whose user has no name
        return str(os.getuid())


def groups_of(user: str) -> tuple[str, ...]:
    """Groups that a user is in on this machine, sorted; none where the machine does not know the user."""
    import grp
    import pwd

    try:
        ids = os.getgrouplist(user, pwd.getpwnam(user).pw_gid)
        return tuple(sorted(grp.getgrgid(number).gr_name for number in ids))
    except KeyError:
        return ()


def user_state_folder() -> Path:
    """Folder of what this program keeps of its user between its runs."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "sharkpy")
