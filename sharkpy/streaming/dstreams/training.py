"""Models that are trained with a stream, epoch by epoch, and saved as tables."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import BindError
from sharkpy.catalog.names import qualified
from sharkpy.ml.generate.model_table import load_model, save_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.streaming.dstreams.dstream import DStream
    from sharkpy.streaming.dstreams.handles import ContinuousTable
    from sharkpy.streaming.scheduler import StreamSession

TRAINING = "__training"
"""Suffix of the name of a model's table, for the name of the sink that trains the model."""


class _Learner:
    """Model that learns each epoch once, since it is saved with the number of the last epoch that it has learned."""

    def __init__(self, session: StreamSession, model: Any, name: str, options: Mapping[str, Any]) -> None:
        self._session = session
        self._model = model
        self._name = name
        self._options = options
        self._lock = threading.Lock()
        self._is_saved = True
        self.sink = ""
        """Id of the sink that counts the epochs."""

    def __call__(self, epoch: int, rows: pa.Table) -> None:
        with self._lock:
            known = self._model.epoch_ if getattr(self._model, "sink_", "") == self.sink else 0
            if epoch > known and rows.num_rows:
                self._model.partial_fit(rows, **self._options)
                self._model.epoch_, self._model.sink_ = epoch, self.sink
                self._is_saved = False
            if not self._is_saved:
                self._save()
                self._is_saved = True

    def _save(self) -> None:
        with self._session.as_statement() as statement:
            # Rows of the saved model are not rows of the epoch.
            num_rows = statement.rows_written
            save_model(self._session, self._model, self._name, replace=True)
            statement.rows_written = num_rows


def train(stream: DStream, model: Estimator, name: str, options: Mapping[str, Any]) -> ContinuousTable:
    """Train a model with the rows of a stream: see `DStream.train`."""
    if not hasattr(model, "partial_fit"):
        hint = "StreamingKMeans and LogisticRegression do"
        raise BindError(f"{type(model).__name__} does not learn batch by batch", hint=hint, sqlstate="42809")
    session = stream.session
    database, short = qualified(name, session.current_database)
    full = f"{database}.{short}"
    if session.catalog.find_table(database, short) is not None:
        known = load_model(session, full)
        if type(known) is not type(model):
            raise BindError(f"{full} holds a {type(known).__name__}", hint="DROP TABLE, or another name")
        model = known
    learner = _Learner(session, model, full, options)
    sink = stream.sink(f"{full}{TRAINING}")
    learner.sink = sink.query_id
    return sink.foreach_batch(learner)
