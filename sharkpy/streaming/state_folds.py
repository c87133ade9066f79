"""Folds of states in the background of the epochs that add to them."""

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
    """Folds of the states of continuous queries, at once or one after the other in a thread.

    Epochs go on meanwhile, since they only add to a state.
    """

    def __init__(self, new_session: Callable[[ContinuousQuery], OwnSession]) -> None:
        """`new_session` opens a session with the settings of a query."""
        self._new_session = new_session
        self._lock = threading.Lock()
        self._begun = set[str]()
        """Ids of the queries whose states are being folded or will be."""
        self._session: OwnSession | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._is_closed = False

    def now(self, query: ContinuousQuery, session: EngineSession, bound: BoundFolds) -> None:
        """Fold the state of a query. `bound` has its bound folds."""
        # A state of many rows is slower to read, which is all: a failed fold is retried later.
        with contextlib.suppress(SharkError, OSError):
            fold_state(query, session, bound)

    def begin(self, query: ContinuousQuery, bound: BoundFolds) -> None:
        """Fold the state of a query soon, in the thread. Do nothing if a fold of it has been requested already."""
        with self._lock:
            if self._is_closed or query.query_id in self._begun:
                return
            self._begun.add(query.query_id)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, "fold")
            try:
                self._pool.submit(self._fold, query, bound)
            except RuntimeError:
                # The interpreter is shutting down.
                self._begun.discard(query.query_id)

    def close(self) -> None:
        """Cancel a running fold, and end the thread."""
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
        except Exception:  # noqa: BLE001  a failed fold stops nothing
            _log.exception("the state of a continuous query cannot be folded")
        finally:
            with self._lock:
                self._begun.discard(query.query_id)
