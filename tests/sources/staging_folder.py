"""Staging folder as a write makes it, without a session that notes it."""

from sharkpy.sources import staged_files


def new_staging(folder: object) -> str:
    return staged_files.make_staging(staged_files.staging_path(str(folder)))
