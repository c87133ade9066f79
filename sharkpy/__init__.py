"""sharkpy: a Shark-style HiveQL warehouse engine on Spark, with a compressed columnar memory store.

import sharkpy

with sharkpy.connect() as ctx:
    ctx.sql("SELECT 1").show()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.base.errors import SharkError
from sharkpy.base.version import __version__

if TYPE_CHECKING:
    import os

    from sharkpy import errors
    from sharkpy.session.result import Result
    from sharkpy.session.shark_context import SharkContext
    from sharkpy.udf.user.declare import aggregate, function, table_function

__all__ = [
    "Result",
    "SharkContext",
    "SharkError",
    "__version__",
    "aggregate",
    "connect",
    "errors",
    "function",
    "table_function",
]

_LAZY = {
    "SharkContext": "sharkpy.session.shark_context",
    "Result": "sharkpy.session.result",
    "function": "sharkpy.udf.user.declare",
    "aggregate": "sharkpy.udf.user.declare",
    "table_function": "sharkpy.udf.user.declare",
    "load_ipython_extension": "sharkpy.notebook",
    "unload_ipython_extension": "sharkpy.notebook",
}


def connect(master: str = "local[*]", warehouse: str | os.PathLike[str] | None = None, **conf: object) -> SharkContext:
    """Open a session over a warehouse, a folder or a URI (default: SHARKPY_WAREHOUSE, else in the user's data folder).

    Settings are keyword arguments, `**{"shark.block.rows": 100_000}` or `shark_block_rows=100_000`. Raise
    ConfigurationError if the warehouse cannot be written, or belongs to another catalog.

    If `master` is the URL of a server, `https://[user:password@]host[:port][/database]`, statements run there. Such a
    session is a `sharkpy.client.http_session.HttpSession`: it has `sql`, `cancel`, `stop` and `current_database`.
    """
    if master.lower().startswith(("http://", "https://")):
        from typing import cast

        from sharkpy.base.errors import ConfigurationError
        from sharkpy.client.http_session import connect_over_http

        if warehouse is not None:
            raise ConfigurationError("a server has its own warehouse", hint="leave the warehouse out")
        return cast("SharkContext", connect_over_http(master, conf))
    from sharkpy.session.connect import connect

    return connect(master, warehouse, **conf)


def __getattr__(name: str) -> object:
    """The public names, imported when first used: tasks import only what they run."""
    if module := _LAZY.get(name):
        import importlib

        return getattr(importlib.import_module(module), name)
    if name == "errors":
        import importlib

        return importlib.import_module("sharkpy.errors")
    raise AttributeError(f'module "sharkpy" has no attribute "{name}"')
