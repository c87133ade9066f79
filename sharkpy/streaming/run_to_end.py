"""Epochs of a query whose trigger ends, over the input that is available at the start."""

from __future__ import annotations

import logging

from sharkpy.base.errors import SparkLostError, TableChangedError
from sharkpy.catalog.continuous_query import TriggerKind
from sharkpy.streaming.epoch_runner import EpochRunner

_LOST_SPARKS = 3
"""Number of lost Spark JVMs after which a statement that runs epochs fails."""
_log = logging.getLogger(__name__)


def run_to_end(query_id: str, runner: EpochRunner, name: str) -> None:
    """Run the epochs of a query, called `name`, in the caller's thread."""
    streams = runner.session.catalog.streams
    query = streams.get(query_id)
    runner.wait_until_settled(query)
    view = runner.look(query)
    lost = 0
    while ranges := runner.next_ranges(view, whole=query.trigger.kind is TriggerKind.ONCE):
        try:
            runner.run(view, ranges)
        except TableChangedError:
            _log.info("epoch %d of %s was written by another process", query.epoch + 1, name)
        except SparkLostError:
            lost += 1
            if lost == _LOST_SPARKS:
                raise
        query = streams.get(query_id)
        view = runner.look(query, ends=view.ends)
    runner.release(view)
