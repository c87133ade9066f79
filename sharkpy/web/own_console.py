"""Console of a session of this process, for the owner of its engine: links instead of passwords, and no Thrift port."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base.users import user_name
from sharkpy.thrift.config import LINK, Limits, ServerConfig
from sharkpy.thrift.server import HiveServer
from sharkpy.web.server import serving

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

_LIMITS = Limits(idle_session_seconds=7 * 24 * 3600.0, web_login_seconds=0.0, drain_seconds=0.0)


@contextlib.contextmanager
def own_console(session: SharkContext, port: int = 0) -> Iterator[Callable[[], str]]:
    """Serve a console on loopback until the end of the context. Port 0 is a free one.

    The context is a function that returns a new link, which logs one browser in as the owner. Other users of this
    machine reach the port, but do not know the link. Raise ConfigurationError if the port cannot be used.
    """
    owner = user_name(session.conf)
    config = ServerConfig(port=-1, web_port=port, auth=LINK, admins=(owner,), limits=_LIMITS)
    with serving(HiveServer(session, config)) as web:
        yield partial(web.new_link, owner)
