"""Failures of storage as the engine's errors: whose fault it is, and what to do about it.

Of a library's message only the status, the service's code (a Java class for HDFS) and a few fixed words are used. The
rest may hold signatures and keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto

from sharkpy.base import settings, uri
from sharkpy.base.errors import (
    ConfigurationError,
    ExecutionError,
    ResourceError,
    SharkError,
    SourceError,
    StorageRefusedError,
    UnsupportedError,
)
from sharkpy.base.records import dataclass
from sharkpy.base.uri import redacted


@dataclass(frozen=True, slots=True)
class StoreName:
    """Name of a store in errors: bucket, container or host; endpoint of its requests; origin of their keys."""

    bucket: str
    endpoint: str
    access: str


NO_TOKEN = "token request: refused"
NO_LOGIN = "token request: no answer"
"""Texts of the errors of token requests."""


class Cause(Enum):
    """Cause of a failed request."""

    MISSING = auto()
    NO_BUCKET = auto()
    REFUSED = auto()
    NOT_KNOWN = auto()
    NOT_REACHED = auto()
    BROKEN = auto()
    BUSY = auto()
    CHANGED = auto()
    OTHER_REGION = auto()
    FULL = auto()
    NO_RANGES = auto()
    NO_TOKEN = auto()
    NO_LOGIN = auto()
    BAD_NAME = auto()
    OTHER = auto()


_CODES: Mapping[str, Cause] = {
    code: cause
    for cause, codes in (
        (Cause.MISSING, "NoSuchKey BlobNotFound ResourceNotFound"),
        (Cause.NO_BUCKET, "NoSuchBucket InvalidBucketName ContainerNotFound FilesystemNotFound ContainerBeingDeleted"),
        (Cause.REFUSED, "AccessDenied AllAccessDisabled AuthorizationFailure AuthorizationPermissionMismatch"),
        (Cause.NOT_KNOWN, "InvalidAccessKeyId SignatureDoesNotMatch ExpiredToken InvalidToken TokenRefreshRequired"),
        (Cause.NOT_KNOWN, "RequestTimeTooSkewed InvalidSecurity Unauthorized AuthenticationRequired"),
        (Cause.NOT_KNOWN, "AuthenticationFailed NoAuthenticationInformation InvalidAuthenticationInfo"),
        (Cause.NOT_KNOWN, "KeyBasedAuthenticationNotPermitted"),
        (Cause.OTHER, "LeaseIdMissing LeaseIdMismatchWithBlobOperation"),
        (Cause.OTHER_REGION, "PermanentRedirect TemporaryRedirect AuthorizationHeaderMalformed"),
        (Cause.OTHER_REGION, "IllegalLocationConstraintException"),
        (Cause.BUSY, "SlowDown ServerBusy ServiceUnavailable RequestLimitExceeded"),
        (Cause.CHANGED, "PreconditionFailed ConditionNotMet InvalidRange"),
        (Cause.FULL, "QuotaExceeded InsufficientStorage EntityTooLarge XMinioStorageFull"),
        (Cause.BROKEN, "InternalError RequestTimeout OperationTimedOut"),
        (Cause.REFUSED, "AccessControlException AuthorizationException"),
        (Cause.NOT_KNOWN, "SaslException"),
        (Cause.BUSY, "SafeModeException RetriableException StandbyException"),
        (Cause.FULL, "DSQuotaExceededException NSQuotaExceededException QuotaByStorageTypeExceededException"),
        (Cause.BAD_NAME, "InvalidPathException"),
    )
    for code in codes.split()
}
"""Codes in the answers of S3, Google Cloud Storage and Azure; classes in the answers of HDFS."""
_STATUSES: Mapping[int, Cause] = {
    status: cause
    for cause, statuses in (
        (Cause.OTHER_REGION, (301, 302, 307, 308)),
        (Cause.NOT_KNOWN, (401,)),
        (Cause.REFUSED, (403,)),
        (Cause.MISSING, (404,)),
        (Cause.CHANGED, (412, 416)),
        (Cause.BUSY, (429, 503)),
        (Cause.FULL, (413, 507)),
        (Cause.BROKEN, (408, 500, 502, 504)),
    )
    for status in statuses
}
_KINDS: Mapping[str, Cause] = {
    "Connect": Cause.NOT_REACHED,
    **dict.fromkeys(("Request", "Timeout", "Interrupted", "Decode", "Unknown"), Cause.BROKEN),
}
"""Kinds of connection failures in obstore's library."""
_WORDS = (
    (NO_TOKEN, Cause.NO_TOKEN),
    (NO_LOGIN, Cause.NO_LOGIN),
    ("http://169.254.", Cause.NOT_KNOWN),  # the service that gives a machine its own keys
    ("redirect without LOCATION", Cause.OTHER_REGION),
    ("non-partial response when range", Cause.NO_RANGES),
    ("Range request not supported", Cause.NO_RANGES),
    ("object with invalid path", Cause.BAD_NAME),
    ("Could not parse path", Cause.BAD_NAME),
    *((word, Cause.NOT_KNOWN) for word in ("GSSAPIError", "SASLError", "NoSASLMechanism")),
    ("Connection refused", Cause.NOT_REACHED),
    ("failed to lookup address", Cause.NOT_REACHED),
    ("DataTransferError", Cause.BROKEN),
    ("could only be written to", Cause.FULL),  # by too few data nodes
)
_TYPES: Mapping[str, Cause] = {
    "FileNotFoundError": Cause.MISSING,
    "PermissionDeniedError": Cause.REFUSED,
    "PreconditionError": Cause.CHANGED,
    "TimeoutError": Cause.BROKEN,
    "UnauthenticatedError": Cause.NOT_KNOWN,
    "URLError": Cause.NOT_REACHED,
    **dict.fromkeys(("ConnectionError", "ConnectionResetError", "RemoteDisconnected", "OSError"), Cause.BROKEN),
}
_REASONS = (
    ("Connection refused", "nobody listens there"),
    ("dns error", "its host is not known"),
    ("failed to lookup address", "its host is not known"),
    ("NotValidForName", "its certificate is for another name"),
    ("peer certificate", "its certificate is not trusted"),
    ("InvalidCertificate", "its certificate is not trusted"),
    ("InvalidContentType", "it does not speak TLS"),
    ("Network is unreachable", "the network is unreachable"),
)
"""Words in the failure of a connection, and their meaning."""
_ENDPOINTS: Mapping[str, str] = {
    "gs": settings.GS_ENDPOINT.key,
    **dict.fromkeys(("ab", "az", "wa"), settings.AZURE_ENDPOINT.key),
}
"""Settings of endpoints of storage without regions, by the first letters of the scheme."""
_HINTS: Mapping[str, str] = {
    "RequestTimeTooSkewed": "this machine's clock is wrong",
    "ExpiredToken": "the session token has expired",
    "SignatureDoesNotMatch": "the secret does not belong to the key",
    "InvalidAccessKeyId": "the storage does not know the key",
}
_TOKEN_REQUEST = "Error performing token request"
_STATUS = re.compile(r"(?:status code: |\(code: )(\d{3})\b")
_CODE = re.compile(
    r"<Code>(?P<s3>[A-Za-z]{1,80})</Code>|\(code: (?P<azure>[A-Za-z]{1,80})\)"
    r"|RPCError\(\"[A-Za-z.]{1,100}[.$](?P<hdfs>[A-Za-z]{1,80})\""
)
_REGION = re.compile(r"<Region>([a-z0-9-]{1,40})</Region>")
_RETRIES = re.compile(r"after (\d{1,9}) retries")
_KIND = re.compile(r"HttpError \{\s{1,200}kind: ([A-Za-z]{1,20})")
_NAME = re.compile(r'Path "([^"\n]{1,1000})"')


@dataclass(frozen=True, slots=True)
class _Failure:
    """Failure with the library's message, the debug dump after it, and the seconds since the first try."""

    kind: str
    text: str
    dump: str
    seconds: float

    @property
    def code(self) -> str:
        found = _CODE.search(self.text)
        return (found["s3"] or found["azure"] or found["hdfs"]) if found else ""

    @property
    def cause(self) -> Cause:
        status = _STATUS.search(self.text)
        kind = _KIND.search(self.dump)
        words = (cause for word, cause in _WORDS if word in self.text)
        if _TOKEN_REQUEST in self.text:
            return Cause.NO_TOKEN if status and status.group(1).startswith("4") else Cause.NO_LOGIN
        return (
            _CODES.get(self.code)
            or next(words, None)
            or (_STATUSES.get(int(status.group(1))) if status else None)
            or (_KINDS.get(kind.group(1)) if kind else None)
            or _TYPES.get(self.kind, Cause.OTHER)
        )

    @property
    def tries(self) -> str:
        found = _RETRIES.search(self.text)
        return f"{f'after {int(found.group(1)) + 1} tries ' if found else ''}in {self.seconds:.1f} s"


def storage_failure(error: Exception, path: str, store: StoreName, seconds: float = 0.0) -> SharkError:
    """The engine's error for a request about `path` that failed with `error`, `seconds` after its first try began."""
    text, _, dump = str(error).partition("\n\nDebug source:")
    failure = _Failure(type(error).__name__, text, dump, seconds)
    name = redacted(path)
    match failure.cause:
        case Cause.MISSING:
            return SourceError(f'"{name}" does not exist', sqlstate="58P01")
        case Cause.NO_BUCKET:
            return SourceError(f'there is no bucket "{store.bucket}" at {store.endpoint}', sqlstate="58P01")
        case Cause.REFUSED:
            hint = f"the request was made with {store.access}"
            return StorageRefusedError(f'{store.endpoint} refuses access to "{name}"', hint=hint)
        case Cause.NOT_KNOWN:
            message = f'{store.endpoint} does not accept {store.access} for "{name}"'
            return StorageRefusedError(message, hint=_HINTS.get(failure.code), sqlstate="28000")
        case Cause.NO_TOKEN:
            message = f'the login service gives no token for {store.access}, which "{name}" needs'
            return StorageRefusedError(message, hint="it does not know them, or not any more", sqlstate="28000")
        case Cause.CHANGED:
            return changed(path)
        case Cause.OTHER_REGION if (setting := _ENDPOINTS.get(uri.scheme_of(path)[:2])) is not None:
            message = f'{store.endpoint} sends requests elsewhere, and storage for "{name}" does not'
            return ConfigurationError(message, hint=f"correct {setting}")
        case Cause.OTHER_REGION:
            region = _REGION.search(text)
            hint = f"SET fs.s3a.endpoint.region{f'={region.group(1)}' if region else ''}, or fs.s3a.endpoint"
            message = f'the bucket "{store.bucket}" is not in the region that {store.endpoint} was asked for'
            return ConfigurationError(message, hint=hint)
        case Cause.NO_RANGES:
            return UnsupportedError(f'reading parts of "{name}", whose server gives only whole files')
        case Cause.BAD_NAME:
            found = _NAME.search(text)
            one = f', as "{found.group(1)}"' if found else ""
            what = "parts of dots or colons" if failure.code == "InvalidPathException" else "parts of dots"
            return UnsupportedError(f'names of objects with empty parts or {what} in "{name}"{one}')
        case cause:
            return _unanswered(cause, failure, name, store)


def changed(path: str) -> SourceError:
    """Failure of a read whose object has been replaced."""
    return SourceError(f'"{redacted(path)}" was changed while it was being read')


def _unanswered(cause: Cause, failure: _Failure, name: str, store: StoreName) -> ExecutionError:
    """Failures that are not about the object itself."""
    match cause:
        case Cause.NOT_REACHED:
            told = failure.dump or failure.text
            reason = next((meaning for words, meaning in _REASONS if words in told), None)
            return ExecutionError(f'{store.endpoint} cannot be reached for "{name}"', hint=reason, sqlstate="08001")
        case Cause.NO_LOGIN:
            message = f'nobody answers who gives tokens for {store.access}, which "{name}" needs'
            return ExecutionError(message, sqlstate="08001")
        case Cause.BROKEN:
            message = f'{store.endpoint} has not answered in full for "{name}", {failure.tries}'
            return ExecutionError(message, sqlstate="08006")
        case Cause.BUSY:
            message = f'{store.endpoint} is too busy for "{name}", {failure.tries}'
            return ExecutionError(message, hint="try again later, or with fewer requests at once", sqlstate="57P03")
        case Cause.FULL:
            return ResourceError(f'{store.endpoint} has no room for "{name}"', sqlstate="53100")
    status = _STATUS.search(failure.text)
    reason = failure.code or (f"status {status.group(1)}" if status else failure.kind)
    return SourceError(f'"{name}" cannot be read or written at {store.endpoint}: {reason}')
