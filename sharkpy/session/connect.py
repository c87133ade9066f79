"""Opening of sessions: `connect` opens the first session of an engine, which owns the engine."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.base.settings import Conf
from sharkpy.execution.function_loader import FunctionLoader
from sharkpy.execution.restrictions import UNRESTRICTED, Restrictions, of_owner
from sharkpy.session.defaults import add_keywords, warehouse_location
from sharkpy.session.session_base import SessionState
from sharkpy.session.shared_state import SharedState
from sharkpy.session.shark_context import SharkContext
from sharkpy.session.surroundings import SessionSurroundings

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.function_catalog import ModelFunction
    from sharkpy.catalog.model import Table


def connect(master: str = "local[*]", warehouse: str | os.PathLike[str] | None = None, **conf: object) -> SharkContext:
    """Open a session over the warehouse, a folder or a URI (default: SHARKPY_WAREHOUSE, else in the user's data
    folder).

    Settings are keyword arguments, `**{"shark.block.rows": 100_000}` or `shark_block_rows=100_000`. Raise
    ConfigurationError if the warehouse cannot be written, or belongs to another catalog.
    """
    values = add_keywords(Conf(), conf)
    values.set(settings.MASTER.key, master)
    values.set(settings.WAREHOUSE.key, warehouse_location(warehouse, values))
    shared = SharedState(values)
    return open_session(values, shared, shared.catalog, is_owner=True)


def open_session(conf: Conf, shared: SharedState, catalog: Catalog, *, is_owner: bool) -> SharkContext:
    """Open a session over `shared`. It loads functions by its own settings."""
    state = SessionState(shared, catalog, shared.new_name(), is_owner)
    known = weakref.ref(state)

    def restrictions() -> Restrictions:
        state = known()
        return UNRESTRICTED if state is None else state.restrictions

    catalog.functions.loader = FunctionLoader(conf, restrictions)
    catalog.functions.model_loader = _model_function
    session = SharkContext(conf, state)
    catalog.surroundings = SessionSurroundings(session, shared, restrictions)
    session.restrictions = of_owner(shared.conf, catalog)
    shared.join(session)
    return session


def open_stream_session(shared: SharedState, values: Mapping[str, str], bounds: tuple[str, ...] | None) -> SharkContext:
    """Open a session for the epochs of a continuous query, under its settings and within its bounds."""
    conf = shared.initial_conf.copy()
    for key, value in values.items():
        conf.set(key, value)
    session = open_session(conf, shared, shared.catalog.for_session(), is_owner=False)
    if bounds is not None:
        session.restrictions = session.restrictions.within(bounds)
    return session


def _model_function(table: Table, method: str) -> ModelFunction:
    from sharkpy.ml.generate.model_table import model_function

    return model_function(table, method)
