"""Files of permanent functions: local ones stay in place, remote ones are copied into the catalog's state folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sharkpy.base import uri
from sharkpy.catalog.function_catalog import FunctionEntry
from sharkpy.execution.commands.fetched_resources import check_room, facts_of_file
from sharkpy.execution.commands.resources import resource_path
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateFunction
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.open_files import data_file_of
from sharkpy.sources.staged_files import sync_folders


def create_kept(database: str, command: CreateFunction, session: EngineSession) -> None:
    """Create a permanent function and load its code.

    Remote files are read only now, with the creator's access. Later calls use the copies and need no access to the
    storage.
    """
    functions, unfinished = session.catalog.functions, session.catalog.unfinished
    entry, is_made = FunctionEntry(database, command.name, command.target), False
    folder = functions.copies(entry) if any(uri.is_remote(path) for _, path in command.resources) else ""
    try:
        if folder:
            unfinished.begin(folder)
        entry = replace(entry, resources=_kept(command.resources, folder, session))
        functions.loader(entry)
        if folder:
            unfinished.keep(folder)
        is_made = functions.create(entry, replace=command.or_replace, if_not_exists=command.if_not_exists)
    finally:
        if folder:
            if not is_made:
                shutil.rmtree(folder, ignore_errors=True)
            unfinished.end(folder)
    session.catalog.collect_garbage()


def _kept(given: Sequence[tuple[str, str]], folder: str, session: EngineSession) -> tuple[tuple[str, str], ...]:
    """Return the resources with lasting local paths.

    Each remote file is copied, under its own name, into a subfolder of `folder`.
    """
    found, copied, taken = list[tuple[str, str]](), list[str](), 0
    for number, (kind, path) in enumerate(given):
        if not uri.is_remote(path):
            found.append((kind, resource_path(path, session)))
            continue
        access_id = session.catalog.named_access_id(path)
        facts = facts_of_file(path, access_id)
        check_room(facts, taken, "the files of a function have {} MB in all")
        target = Path(folder, str(number), uri.name_of(path))
        try:
            target.parent.mkdir(parents=True)
        except OSError as error:
            raise io_error(error, folder) from None
        copy_files([(data_file_of(facts, access_id), str(target))])
        taken += facts.size_bytes
        copied += [str(target), str(target.parent)]
        found.append((kind, str(target)))
    if copied:
        sync_folders([*copied, folder, str(Path(folder).parent)])
    return tuple(found)
