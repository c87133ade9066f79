"""Folds of states beside the epochs that add to them."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from sharkpy.base.errors import SharkError
from sharkpy.streaming.state_fold import fold_state

if TYPE_CHECKING:
    from sharkpy.catalog.continuous_query import ContinuousQuery
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.streaming.scheduled_query import OwnSession
    from sharkpy.streaming.state_fold import BoundFolds

_log = logging.getLogger(__name__)


class StateFolds:
    """Folds of the states of continuous queries: at once, or one after the other in a thread. Epochs, which only add to
    a state, go on meanwhile.
    """

    def __init__(self, new_session: Callable[[ContinuousQuery], OwnSession]) -> None:
        """`new_session` opens a session for a query, under its settings."""
        self._new_session = new_session
        self._lock = threading.Lock()
        self._begun = set[str]()
        """Queries, by their ids, whose states are or will be folded."""
        self._session: OwnSession | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False

    def now(self, query: ContinuousQuery, session: EngineSession, bound: BoundFolds) -> None:
        """Fold the state of a query; `bound` are its folds that were bound before."""
        # Many rows of a state are slower to read and nothing worse: what fails is tried again later.
        with contextlib.suppress(SharkError, OSError):
            fold_state(query, session, bound)

    def begin(self, query: ContinuousQuery, bound: BoundFolds) -> None:
        """Do that soon; nothing more where it has begun."""
        with self._lock:
            if self._is_closed or query.query_id in self._begun:
                return
            self._begun.add(query.query_id)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, "fold")
            try:
                self._pool.submit(self._fold, query, bound)
            except RuntimeError:
                # The interpreter ends.
                self._begun.discard(query.query_id)

    def close(self) -> None:
        """End a fold that runs, and the thread."""
        with self._lock:
            self._is_closed = True
            session, pool = self._session, self._pool
        if session is not None:
            session.stop()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _fold(self, query: ContinuousQuery, bound: BoundFolds) -> None:
        try:
            session = self._new_session(query)
            try:
                with self._lock:
                    self._session = None if self._is_closed else session
                if self._session is not None:
                    self.now(query, session, bound)
            finally:
                with self._lock:
                    self._session = None
                session.stop()
        except SharkError as error:
            _log.info("the state of a continuous query is not folded: %s", error)
        except Exception:  # noqa: BLE001  a fold that fails stops nothing
            _log.exception("the state of a continuous query cannot be folded")
        finally:
            with self._lock:
                self._begun.discard(query.query_id)
