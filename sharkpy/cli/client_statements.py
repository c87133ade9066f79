"""Statements of Hive's shell that run on this machine, without a session: `dfs …`, `!command` and `source file`.

`dfs -ls path` and similar are Hadoop's file commands on the files of this machine, with Hadoop's output.
"""

from __future__ import annotations

import glob
import grp
import os
import pwd
import re
import shlex
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sharkpy.base.errors import ConfigurationError, ExecutionError, SourceError, UnsupportedError, did_you_mean
from sharkpy.catalog.path_gate import local_path
from sharkpy.sources.file_errors import io_error
from sharkpy.sql.grammar.split_statements import split_statements

_MOST_SOURCES = 20
_SOURCE = re.compile(r"source\s+(?P<path>\S.*?)\s*", re.IGNORECASE | re.DOTALL)
_DFS = re.compile(r"dfs\s+(?P<rest>.*)", re.IGNORECASE | re.DOTALL)

Say = Callable[[str], None]


def statements_with_sources(text: str, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Yield the statements of a script and the lines they start in, with the statements of each file that `source`
    names.

    Raise ConfigurationError if a file cannot be read, or if files are nested too deeply.
    """
    for statement, line in split_statements(text):
        source = _SOURCE.fullmatch(statement)
        if source is None:
            yield statement, line
            continue
        if depth == _MOST_SOURCES:
            raise ConfigurationError(f"files are read by source more than {_MOST_SOURCES} levels deep")
        yield from statements_with_sources(_content(source["path"].strip("'\"")), depth + 1)


def _content(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f'cannot read "{path}": {reason}', sqlstate="58030") from None


def run_client_statement(statement: str, say: Say) -> bool:
    """Run `statement` if this machine runs it without a session. Return False if not."""
    if dfs := _DFS.fullmatch(statement):
        run_dfs(dfs["rest"], say)
        return True
    if statement.startswith("!"):
        _run_command(statement[1:].strip(), say)
        return True
    return False


def _run_command(command: str, say: Say) -> None:
    done = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)
    if done.stdout:
        say(done.stdout.removesuffix("\n"))
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise ExecutionError(f"the command ended with code {done.returncode}: {last}".rstrip(": "))


_FileCommand = Callable[[frozenset[str], Sequence[str], Say], None]


def run_dfs(text: str, say: Say) -> None:
    """Run a dfs command; `text` is the part after dfs. Raise SourceError if a file is missing or cannot be reached."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise ConfigurationError(f"a quote is not closed: {text}", sqlstate="42601") from None
    name = words[0] if words else ""
    if name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS) or f"there are {', '.join(COMMANDS)}"
        raise UnsupportedError(f"dfs {name}".rstrip(), hint=hint)
    options = frozenset(word for word in words[1:] if word.startswith("-") and word != "-")
    paths = [word for word in words[1:] if word not in options]
    try:
        COMMANDS[name](options, paths, say)
    except OSError as error:
        raise io_error(error, str(error.filename or name)) from None


def _found(paths: Sequence[str], *, least: int = 1) -> list[Path]:
    """Return the files that match the paths, with their wildcards."""
    found: list[Path] = []
    for path in paths:
        place = local_path(path)
        names = sorted(glob.glob(place)) if glob.has_magic(place) else [place]  # noqa: PTH207  patterns of whole paths
        if not names or not os.path.lexists(names[0]):
            raise SourceError(f"`{path}': No such file or directory", sqlstate="58P01")
        found += map(Path, names)
    if len(found) < least:
        raise ConfigurationError("a path is needed", sqlstate="42601")
    return found


def _named(paths: Sequence[str]) -> list[Path]:
    """Return the paths, which need not exist."""
    if not paths:
        raise ConfigurationError("a path is needed", sqlstate="42601")
    return [Path(local_path(path)) for path in paths]


def _list(options: frozenset[str], paths: Sequence[str], say: Say) -> None:
    for path in _found(paths or ["."]):
        if not path.is_dir() or "-d" in options:
            say(_line(path))
            continue
        inside = sorted(path.rglob("*") if "-R" in options else path.iterdir())
        if inside and "-R" not in options:
            say(f"Found {len(inside)} items")
        for one in inside:
            say(_line(one))


def _list_all(options: frozenset[str], paths: Sequence[str], say: Say) -> None:
    _list(options | {"-R"}, paths, say)


def _line(path: Path) -> str:
    facts = path.lstat()
    links = "-" if path.is_dir() else "1"
    changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.st_mtime))
    size = 0 if path.is_dir() else facts.st_size
    owner, group = _owner(facts)
    return f"{stat.filemode(facts.st_mode)}   {links} {owner} {group} {size:>10} {changed} {path}"


def _owner(facts: os.stat_result) -> tuple[str, str]:
    try:
        return pwd.getpwuid(facts.st_uid).pw_name, grp.getgrgid(facts.st_gid).gr_name
    except KeyError:
        return str(facts.st_uid), str(facts.st_gid)


def _make_folder(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001  one signature for all
    for path in _named(paths):
        path.mkdir(parents="-p" in options, exist_ok="-p" in options)


def _remove(options: frozenset[str], paths: Sequence[str], say: Say) -> None:
    _named(paths)
    found = [one for path in paths for one in _present([path], is_needed="-f" not in options)]
    for path in found:
        if path.is_dir() and not path.is_symlink():
            if not options & {"-r", "-R"}:
                raise SourceError(f"`{path}': Is a directory", sqlstate="58030", hint="dfs -rm -r removes folders")
            shutil.rmtree(path)
        else:
            path.unlink()
        say(f"Deleted {path}")


def _present(paths: Sequence[str], *, is_needed: bool) -> list[Path]:
    try:
        return _found(paths)
    except SourceError:
        if is_needed:
            raise
        return []


def _remove_all(options: frozenset[str], paths: Sequence[str], say: Say) -> None:
    _remove(options | {"-r"}, paths, say)


def _remove_folder(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    for path in _found(paths):
        path.rmdir()


def _show(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    for path in _found(paths):
        text = path.read_text(encoding="utf-8", errors="replace")
        if text:
            say(text.removesuffix("\n"))


def _show_end(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    for path in _found(paths):
        say(path.read_bytes()[-1024:].decode("utf-8", "replace").removesuffix("\n"))


def _touch(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    for path in _named(paths):
        path.touch()


def _sources(paths: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield pairs of source and target. The target is inside the last path if that is a folder."""
    if len(paths) < 2:
        raise ConfigurationError("a source and a target are needed", sqlstate="42601")
    (target,) = _named(paths[-1:])
    found = _found(paths[:-1])
    if len(found) > 1 and not target.is_dir():
        raise SourceError(f"`{target}': No such directory", sqlstate="58P01")
    for source in found:
        yield source, target / source.name if target.is_dir() else target


def _copy(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    for source, target in _sources(paths):
        if target.exists() and "-f" not in options:
            raise SourceError(f"`{target}': File exists", sqlstate="58P02", hint="-f copies over it")
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)


def _move(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    for source, target in _sources(paths):
        if target.exists():
            raise SourceError(f"`{target}': File exists", sqlstate="58P02")
        shutil.move(source, target)


def _sizes(options: frozenset[str], paths: Sequence[str], say: Say) -> None:
    for path in _found(paths or ["."]):
        inside = [path] if "-s" in options or not path.is_dir() else sorted(path.iterdir())
        for one in inside:
            say(f"{_size(one)}  {one}")


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(one.stat().st_size for one in files if one.is_file())


def _count(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    for path in _found(paths):
        inside = [path, *path.rglob("*")]
        folders = sum(one.is_dir() for one in inside)
        say(f"{folders:>12} {len(inside) - folders:>12} {_size(path):>18} {path}")


def _merge(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    """Merge the files of folders into one, in the order of their names."""
    if len(paths) < 2:
        raise ConfigurationError("a source and a target are needed", sqlstate="42601")
    (target,) = _named(paths[-1:])
    with target.open("wb") as merged:
        for source in _found(paths[:-1]):
            for one in sorted(source.iterdir()) if source.is_dir() else [source]:
                if one.is_file():
                    merged.write(one.read_bytes())


def _mode(options: frozenset[str], paths: Sequence[str], say: Say) -> None:
    mode, *rest = paths or [""]
    if not mode or not set(mode) <= set("01234567"):
        raise UnsupportedError(f'dfs -chmod "{mode}": an octal mode is needed')
    for path in _found(rest):
        for one in [path, *path.rglob("*")] if "-R" in options else [path]:
            one.chmod(int(mode, 8))
    del say


def _test(options: frozenset[str], paths: Sequence[str], say: Say) -> None:  # noqa: ARG001
    """Test a path. Raise an error if the test fails."""
    checks: dict[str, Callable[[Path], bool]] = {
        "-e": Path.exists,
        "-d": Path.is_dir,
        "-f": Path.is_file,
        "-z": lambda path: path.is_file() and path.stat().st_size == 0,
    }
    for path in _named(paths):
        for option in options & checks.keys():
            if not checks[option](path):
                raise SourceError(f"dfs -test {option} {path}: no", sqlstate="58P01")


COMMANDS: dict[str, _FileCommand] = {
    "-ls": _list,
    "-lsr": _list_all,
    "-mkdir": _make_folder,
    "-rm": _remove,
    "-rmr": _remove_all,
    "-rmdir": _remove_folder,
    "-cat": _show,
    "-text": _show,
    "-tail": _show_end,
    "-touchz": _touch,
    "-touch": _touch,
    "-cp": _copy,
    "-put": _copy,
    "-copyFromLocal": _copy,
    "-get": _copy,
    "-copyToLocal": _copy,
    "-mv": _move,
    "-moveFromLocal": _move,
    "-moveToLocal": _move,
    "-du": _sizes,
    "-count": _count,
    "-getmerge": _merge,
    "-chmod": _mode,
    "-test": _test,
}
