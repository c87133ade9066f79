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
    from sharkpy import errors
    from sharkpy.session.connect import connect
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
    "connect": "sharkpy.session.connect",
    "SharkContext": "sharkpy.session.shark_context",
    "Result": "sharkpy.session.result",
    "function": "sharkpy.udf.user.declare",
    "aggregate": "sharkpy.udf.user.declare",
    "table_function": "sharkpy.udf.user.declare",
    "load_ipython_extension": "sharkpy.notebook",
    "unload_ipython_extension": "sharkpy.notebook",
}


def __getattr__(name: str) -> object:
    """The public names, imported when first used: tasks import only what they run."""
    if module := _LAZY.get(name):
        import importlib

        return getattr(importlib.import_module(module), name)
    if name == "errors":
        import importlib

        return importlib.import_module("sharkpy.errors")
    raise AttributeError(f'module "sharkpy" has no attribute "{name}"')
