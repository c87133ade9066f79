"""Opening of sessions: `connect` opens the first session of an engine, which owns the engine."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.base.settings import Conf
from sharkpy.execution.function_loader import FunctionLoader
from sharkpy.execution.restrictions import UNRESTRICTED, Restrictions, of_owner
from sharkpy.session.defaults import add_keywords, warehouse_location
from sharkpy.session.remote_storage import SessionAccesses
from sharkpy.session.session_base import SessionState
from sharkpy.session.shared_state import SharedState
from sharkpy.session.shark_context import SharkContext
from sharkpy.sources.lake.lake_format import LakeReach
from sharkpy.sources.lake.session_lakes import SessionLakes

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.function_catalog import ModelFunction
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.system_tables import SystemTable
    from sharkpy.catalog.trash import Leavings


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
    catalog.system_tables = partial(_system_tables, weakref.ref(session))
    catalog.find_files = shared.find_files
    accesses = SessionAccesses(conf, shared.conf, restrictions)
    catalog.find_access = accesses.find
    catalog.remove_remote = partial(_remove_remote, accesses)
    catalog.removal_of_data = partial(_removal_of_data, accesses)
    catalog.remote_text = _remote_text
    reach = LakeReach(partial(_lake_conf, weakref.ref(session), shared.conf), accesses.find)
    catalog.known_lakes = SessionLakes(lambda: shared.lakes, reach)
    session.restrictions = of_owner(shared.conf, catalog)
    shared.join(session)
    return session


def _remove_remote(accesses: SessionAccesses, location: str, leavings: Leavings) -> None:
    from sharkpy.sources.folders.table_folder import remove_dropped

    remove_dropped(location, accesses.find(location, False), leavings)


def _removal_of_data(accesses: SessionAccesses, location: str, kept: Collection[str]) -> Callable[[], Collection[str]]:
    from sharkpy.sources.folders.table_folder import removal_of_data

    return removal_of_data(location, accesses.find(location, False), kept)


def _remote_text(location: str, access_id: str) -> str:
    from sharkpy.sources.open_files import cached_text

    return cached_text(location, access_id)


def _system_tables(session: weakref.ref[SharkContext]) -> Mapping[str, SystemTable]:
    from sharkpy.execution.commands.information_schema import information_tables
    from sharkpy.streaming.status import system_tables

    known = session()
    return {} if known is None else {**system_tables(known), **information_tables(known.catalog)}


def _lake_conf(session: weakref.ref[SharkContext], owner: Conf) -> Conf:
    """Return the settings that locate catalogs of lake tables.

    A restricted session gets the settings of the engine's owner: a catalog is an address or a file, which such a
    session may not choose, and the catalog itself says where its tables are.
    """
    known = session()
    if known is None or known.restrictions.refuses_connections or known.restrictions.folders is not None:
        return owner
    return known.conf


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
