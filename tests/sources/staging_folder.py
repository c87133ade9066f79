"""Staging folder as a write makes it, without a session that notes it."""

from sharkpy.sources import layout


def new_staging(folder: object) -> str:
    return layout.make_staging(layout.staging_path(str(folder)))
