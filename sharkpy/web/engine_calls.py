"""Calls about the engine: its load, queues, sessions, workers and settings, errors by kind, and the log's end."""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

import sharkpy
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import redacted
from sharkpy.base.settings.conf import setting_like
from sharkpy.columnar.host import machine_memory
from sharkpy.execution.queries.admission import LaneUsage
from sharkpy.web.engine_samples import Disk, Sample, Workers
from sharkpy.web.errors import RefusedError
from sharkpy.web.log_tail import LogLine
from sharkpy.web.requests import ApiRequest, Parameter

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.catalog.statement_list import FailedStatement
    from sharkpy.thrift.server import ServerParts
    from sharkpy.web.logins import Reader

_STARTED = datetime.now(UTC)
_MOST_SESSIONS = 200
_SEARCHED_STATEMENTS = 10_000
_MOST_FAILURES = 500
_SHOWN_CHARACTERS = 500

ENGINE_PARAMETERS = (Parameter("since", "Time of the last known sample, as an ISO 8601 time", datetime),)
LOG_PARAMETERS = (Parameter("after", "Number of the last known line", int),)


@dataclass(frozen=True, slots=True)
class Memory:
    """Limits on memory in bytes, and figures of the block store. Unknown figures are null."""

    machine_bytes: int
    process_limit_bytes: int
    block_limit_bytes: int | None
    num_blocks: int | None
    num_evicted: int | None


@dataclass(frozen=True, slots=True)
class Places:
    """Number of things of a kind that are open or run, and the limit on it; 0: no limit."""

    kind: str
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Session of a client. Statements are open, and `running` of them run or wait for their turn."""

    user: str
    address: str
    database: str
    idle_seconds: float
    statements: int
    running: int


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """Setting of the engine's owner that is not the default, without secrets. Unknown keys have no default."""

    key: str
    value: str
    default: str | None
    meaning: str


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """Failures among the newest statements that the reader may see, by the first two characters of their SQLSTATE."""

    sqlstate_class: str
    meaning: str
    count: int
    last_query_id: str
    last_message: str
    last_time: datetime


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """Engine now, and samples of its load. The sessions of other users are shown to administrators only."""

    version: str
    warehouse: str
    started: datetime
    uptime_seconds: float
    cores: int
    memory: Memory
    disks: list[Disk]
    samples: list[Sample]
    places: list[Places]
    lanes: list[LaneUsage]
    sessions: list[SessionFacts]
    workers: Workers | None
    settings: list[ChangedSetting]
    errors: list[ErrorKind]


def engine(request: ApiRequest) -> EngineAnswer:
    parts, web = request.parts, request.web
    session = parts.engine_session
    usage, now = web.samples.usage, datetime.now(UTC)
    limits = parts.config.limits
    history = session.statement_history
    user = None if request.reader.sees_all else request.reader.user
    return EngineAnswer(
        version=sharkpy.__version__,
        warehouse=session.catalog.warehouse_dir,
        started=_STARTED,
        uptime_seconds=(now - _STARTED).total_seconds(),
        cores=session.engine.parallelism,
        memory=Memory(
            machine_memory(),
            parts.memory.limit,
            None if usage is None else usage.memory_limit,
            None if usage is None else usage.num_blocks,
            None if usage is None else usage.num_evicted,
        ),
        disks=web.samples.disks(),
        samples=web.samples.since(_since(request)),
        places=[
            Places("sessions", len(parts.sessions.sessions()), limits.sessions),
            Places("statements", parts.admission.num_statements, limits.concurrent_operations),
            Places("browsers", len(web.logins), limits.web_logins),
            Places("followers of events", len(web.events), limits.web_streams),
        ],
        lanes=session.admission.usage(),
        sessions=_sessions(parts, request.reader),
        workers=web.workers.look(parts),
        settings=changed_settings(session.conf),
        errors=_error_kinds(history.failures(user, _SEARCHED_STATEMENTS, _MOST_FAILURES)),
    )


def _since(request: ApiRequest) -> datetime | None:
    given = request.http.query_params.get("since")
    if not given:
        return None
    try:
        found = datetime.fromisoformat(given)
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except ValueError:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "since is not an ISO 8601 time", "22023") from None


def _sessions(parts: ServerParts, reader: Reader) -> list[SessionFacts]:
    """Return the sessions that the reader may see, the busiest and the last used first."""
    now, found = time.monotonic(), list[SessionFacts]()
    for one in parts.sessions.sessions():
        if reader.sees(one.user):
            operations = one.operations()
            used = max([one.last_used, *(operation.last_used for operation in operations)])
            running = sum(operation.is_running for operation in operations)
            database = one.engine_session.current_database
            idle = 0.0 if running else max(0.0, now - used)
            found.append(SessionFacts(one.user, one.holder.address, database, idle, len(operations), running))
    return sorted(found, key=lambda one: (-one.running, one.idle_seconds))[:_MOST_SESSIONS]


def changed_settings(conf: Conf) -> list[ChangedSetting]:
    """Return the settings that differ from their defaults, by key."""
    found = []
    for key in sorted(conf):
        setting, value = setting_like(key), conf[key]
        default = None if setting is None else setting.default_text
        if value != default:
            shown = redacted(f"{key}={value}").partition("=")[2][:_SHOWN_CHARACTERS]
            found.append(ChangedSetting(key, shown, default, "" if setting is None else setting.doc))
    return found


_MEANINGS = {
    "0A": "Not supported",
    "07": "Parameters",
    "08": "Connections",
    "22": "Values",
    "23": "Constraints",
    "28": "Logins",
    "3D": "Databases",
    "40": "Conflicts with other statements",
    "42": "Names, types and syntax",
    "53": "Memory, disk and other resources",
    "54": "Limits of the program",
    "55": "State of an object",
    "57": "Cancelled, timed out or stopped",
    "58": "Files and storage",
    "XX": "Faults of the engine",
}


def _error_kinds(failures: list[FailedStatement]) -> list[ErrorKind]:
    """Return failures, newest first, by kind: the most frequent kind first."""
    groups: defaultdict[str, list[FailedStatement]] = defaultdict(list)
    for one in failures:
        groups[(one.sqlstate or "")[:2]].append(one)
    found = [
        ErrorKind(
            kind,
            _MEANINGS.get(kind, "Other errors"),
            len(group),
            group[0].query_id,
            group[0].error[:_SHOWN_CHARACTERS],
            datetime.fromtimestamp(group[0].started, UTC),
        )
        for kind, group in groups.items()
    ]
    return sorted(found, key=lambda one: -one.count)


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """Messages of the log, in order."""

    lines: list[LogLine]


def engine_log(request: ApiRequest) -> LogAnswer:
    """Return the last messages. Raise RefusedError 403 for a reader who may not see the statements of all users."""
    if not request.reader.sees_all:
        raise RefusedError(HTTPStatus.FORBIDDEN, "the log is for administrators", "42501", hint="--admin names them")
    given = request.http.query_params.get("after") or "0"
    if not (given.isascii() and given.isdigit() and len(given) < 16):
        raise RefusedError(HTTPStatus.BAD_REQUEST, "after is not a number", "22023")
    return LogAnswer(request.web.log.after(int(given)))
