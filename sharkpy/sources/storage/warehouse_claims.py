"""Claims on a warehouse at a URI: objects in it that name the catalog that owns it.

They are `<warehouse>/.sharkpy/owner-<number>.json`; the claim with the highest number counts. A claim is put once and
never changed. If two catalogs put the same number at once, one of them gets it. It is not a lock: after a crash the
owner opens the warehouse as before.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict

from sharkpy.base import uri
from sharkpy.base.errors import CorruptionError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.base.uri import STATE_FOLDER
from sharkpy.sources.storage.store import Store, content_of

_VERSION = 1
_NAME = re.compile(r"owner-(\d{1,9})\.json")
_MOST_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim of a catalog, with its owner's id. `place` (`host:path`), `user` and `made_at` are for people to read."""

    number: int
    owner: str
    place: str
    user: str
    made_at: str


class WarehouseClaims:
    """Claims on the warehouse at a location. The store has to support `put_new`."""

    def __init__(self, store: Store, warehouse: str) -> None:
        self._store = store
        self._folder = uri.join(warehouse, STATE_FOLDER)

    def newest(self) -> Claim | None:
        """Claim that counts, or None; CorruptionError for one that cannot be read."""
        objects, _ = self._store.children(self._folder)
        named = [(_NAME.fullmatch(uri.name_of(one.path)), one) for one in objects]
        numbered = [(int(match[1]), one) for match, one in named if match is not None]
        if not numbered:
            return None
        number, facts = max(numbered, key=lambda found: found[0])
        if facts.size_bytes > _MOST_BYTES:
            raise _unreadable(facts.path)
        try:
            text = content_of(facts, self._store).decode()
            check_json_nesting(text)
            body = json.loads(text)
            version, texts = body["version"], [body[key] for key in ("owner", "place", "user", "made_at")]
        except (ValueError, KeyError, TypeError):
            raise _unreadable(facts.path) from None
        if version != _VERSION or not all(isinstance(text, str) for text in texts):
            raise _unreadable(facts.path)
        return Claim(number, *texts)

    def put(self, claim: Claim) -> bool:
        """Put a claim; False if its number is taken, perhaps by this very claim if an answer was lost."""
        content = json.dumps({"version": _VERSION, **asdict(claim)}, indent=1)
        return self._store.put_new(uri.join(self._folder, f"owner-{claim.number}.json"), content.encode())


def _unreadable(path: str) -> CorruptionError:
    hint = "it was changed by others, or is of a later version of sharkpy"
    return CorruptionError(f'the claim on a warehouse "{uri.redacted(path)}" cannot be read', hint=hint)
