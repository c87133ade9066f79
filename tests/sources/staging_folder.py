"""Staging folder as a write makes it, without a session that notes it, and generations of earlier releases."""

from pathlib import Path

from sharkpy.sources import staged_files


def new_staging(folder: object) -> str:
    return staged_files.make_staging(staged_files.staging_path(str(folder)))


def publish(staging: str, folder: object, overwrite: bool) -> str | None:
    """Make staged files count, with the sync before and the removal of hidden files after it."""
    staged_files.sync_staged(staging)
    target = staged_files.place(staging, str(folder), overwrite)
    if target is not None:
        staged_files.remove_hidden(str(folder))
    return target


def put_fold(folder: Path, names: list[str]) -> None:
    """Put generations, each with a file `part-0`, into one."""
    first, last = names[0].split("_")[1], names[-1].split("_")[-1]
    text = "".join((folder / name / "part-0").read_text() for name in names)
    target = folder / f"delta_{first}_{last}"
    target.mkdir()
    (target / "part-0").write_text(text)
