"""Engines of this process: one for each warehouse and master. Its first connection starts it, its last one stops it."""

from __future__ import annotations

import os
import threading
from dataclasses import field

from sharkpy.base import uri
from sharkpy.base.errors import ConfigurationError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.session.connect import connect
from sharkpy.session.defaults import setting_key, warehouse_location
from sharkpy.session.shark_context import SharkContext

OF_THE_ENGINE = (
    *("shark.catalog.dir", "shark.warehouse."),
    *("spark.", "shark.store.", "shark.scan.cache.", "shark.java.", "shark.jvm.", "shark.temp."),
    *("shark.driver.memory", "shark.task.memory", "shark.query.max.concurrent", "shark.query.queue."),
)
"""Prefixes of settings that hold for all connections: the first connection sets them."""

_OF_STORAGE = ("fs.", "dfs.", "shark.storage.", "shark.hadoop.")
"""Prefixes of settings by which the engine reaches a warehouse at a URI."""

_Key = tuple[str, str]


@dataclass(slots=True)
class _Engine:
    """Engine shared by connections. It ends with the session `owner`, in which no statement runs."""

    owner: SharkContext
    conf: dict[str, object]
    sessions: list[SharkContext] = field(default_factory=list)


_lock = threading.Lock()
_engines: dict[_Key, _Engine] = {}


def open_session(warehouse: str | os.PathLike[str] | None, master: str, conf: dict[str, object]) -> SharkContext:
    """Open a session on the engine of that warehouse and master. Start the engine if it does not run.

    Raise ConfigurationError if `conf` has another value for a setting of the engine.
    """
    location = warehouse_location(warehouse, Conf())
    key = (location, master)
    dotted = {setting_key(name): value for name, value in conf.items()}
    of_engine = OF_THE_ENGINE if not uri.is_remote(location) else (*OF_THE_ENGINE, *_OF_STORAGE)
    shared = {name: value for name, value in dotted.items() if name.startswith(of_engine)}
    with _lock:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = _Engine(connect(master, key[0], **shared), shared)
        for name, value in shared.items():
            if engine.conf.get(name) != value:
                hint = "give it with the first connection to the warehouse, or close the others"
                raise ConfigurationError(f"{name} is a setting of the engine, which runs already", hint=hint)
        try:
            session = engine.owner.new_session(**dotted)
        except BaseException:
            _end_if_unused(key, engine)
            raise
        engine.sessions.append(session)
        return session


def close_session(session: SharkContext) -> None:
    """End `session`. End its engine too if that has no other session. Idempotent."""
    with _lock:
        session.stop()
        for key, engine in list(_engines.items()):
            if session in engine.sessions:
                engine.sessions.remove(session)
                _end_if_unused(key, engine)


def close_later(session: SharkContext) -> None:
    """End an unused session that the garbage collector has found, as `close_session`. The caller may hold any lock."""
    try:
        threading.Thread(target=close_session, args=(session,), name="sharkpy-close").start()
    except RuntimeError:  # at the interpreter's end, which starts no thread
        close_session(session)


def _end_if_unused(key: _Key, engine: _Engine) -> None:
    """End an unused engine. Hold the lock until all is freed: a new engine would take over the Spark of this one."""
    if not engine.sessions:
        del _engines[key]
        engine.owner.stop()
