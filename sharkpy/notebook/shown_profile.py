"""Profile of a query as the output of a cell."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.records import dataclass
from sharkpy.explain.profile_html import profile_html, profile_page
from sharkpy.explain.profile_json import profile_of

if TYPE_CHECKING:
    from sharkpy.catalog.statement_records import StatementRecord
    from sharkpy.session.shark_context import SharkContext

_HEIGHT = 760
"""Pixels of the output."""
_FRAME = (
    '<iframe title="Profile of a query" sandbox="allow-scripts allow-downloads" '
    'style="width: 100%; height: {}px; border: 0" srcdoc="{}"></iframe>'
)


@dataclass(frozen=True, slots=True)
class ShownProfile:
    """Profile of a query: a page in a frame in notebooks, and the text of its plans on terminals."""

    record: StatementRecord

    def __repr__(self) -> str:
        return f"{self.record.query_id}: {self.record.text}\n{self.record.plan}"

    def _repr_html_(self) -> str:
        try:
            page = profile_html(profile_page(), json.dumps(profile_of(self.record), ensure_ascii=False))
        except ConfigurationError as error:
            text = f"{error.message}: {error.hint}\n{self!r}"
            return f"<pre>{html.escape(text)}</pre>"
        return _FRAME.format(_HEIGHT, html.escape(page))


def last_profile(session: SharkContext, query_id: str = "") -> ShownProfile:
    """Return the profile of a query, by default of the last one of this session that has a profile.

    Raise UsageError if there is none.
    """
    if query_id:
        found = session.history(1, query_id=query_id)
        if not found:
            raise UsageError(f'there is no query "{query_id}"')
        if not found[0].profile:
            raise UsageError(f'the query "{query_id}" has no profile')
        return ShownProfile(found[0])
    for record in session.history():
        if record.profile and record.session == session.session_name:
            return ShownProfile(record)
    raise UsageError("no query of this session has a profile yet: run one, then show it")
