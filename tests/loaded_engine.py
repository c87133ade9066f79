"""All that a process of the engine loads before its first epoch has ended; it starts no thread, so it can be forked."""

import importlib

import numba  # noqa: F401
import pandas as pd  # noqa: F401  pyarrow imports it for the first values of Python

from sharkpy.streaming.commands.create_stream import load_compiled

for _module in (
    "sharkpy.session.shark_context",
    "sharkpy.session.run_command",
    "sharkpy.streaming.commands",
    "sharkpy.streaming.scheduler",
    "sharkpy.physical.integer_columns",
    "sharkpy.sources.formats",
    "sharkpy.udf.connection",
    "sharkpy.udf.kernels",
):
    importlib.import_module(_module)
load_compiled()
