"""Seeded events of a social network as JSON lines, of the shape that JSONBench reads: nested, not all with all keys."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_COLLECTIONS = ("app.bsky.feed.post", "app.bsky.feed.like", "app.bsky.feed.repost", "app.bsky.graph.follow")
_WEIGHTS = (12, 55, 10, 23)
_WORDS = ("so", "", 'a "word"', "naïve", "日本", "back\\slash", "tab\there", "line\nbreak", "{brace}", "🙂")
_START = 1_732_206_000_000_000
"""Microseconds since 1970 of the first event."""

_QUERIES = {
    "events": "SELECT commit.collection AS event, count(*) AS n FROM {events} GROUP BY event ORDER BY n DESC, event",
    "users": """
        SELECT commit.collection AS event, count(*) AS n, count(DISTINCT did) AS users FROM {events}
        WHERE kind = 'commit' AND commit.operation = 'create' GROUP BY event ORDER BY n DESC, event""",
    "hours": """
        SELECT commit.collection AS event, CAST(floor(time_us / 3600000000.0) AS BIGINT) % 24 AS hour_of_day,
          count(*) AS n
        FROM {events} WHERE kind = 'commit' AND commit.operation = 'create'
          AND commit.collection IN ('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like')
        GROUP BY event, hour_of_day ORDER BY hour_of_day, event""",
    "first posts": """
        SELECT did, min(time_us) AS first_post FROM {events}
        WHERE kind = 'commit' AND commit.operation = 'create' AND commit.collection = 'app.bsky.feed.post'
        GROUP BY did ORDER BY first_post, did LIMIT 3""",
    "spans": """
        SELECT did, max(time_us) - min(time_us) AS span FROM {events}
        WHERE kind = 'commit' AND commit.operation = 'create' AND commit.collection = 'app.bsky.feed.post'
        GROUP BY did ORDER BY span DESC, did LIMIT 3""",
    "texts": """
        SELECT commit.record.langs[{first}] AS lang, count(*) AS n, sum(length(commit.record.text)) AS characters
        FROM {events} WHERE commit.record.text IS NOT NULL GROUP BY lang ORDER BY n DESC, lang""",
    "subjects": """
        SELECT count(DISTINCT commit.record.subject.uri) AS uris, count(commit.record.subject.cid) AS n,
          max(commit.cid) AS last FROM {events}""",
}
"""Questions of JSONBench, and two of deeper values."""


def queries(events: str, first: int) -> dict[str, str]:
    """Queries over a relation, by their names; `first` is the place of an array's first item."""
    return {name: text.format(events=events, first=first) for name, text in _QUERIES.items()}


def write_events(path: Path, num_events: int, seed: int = 11) -> None:
    with path.open("w", encoding="utf-8") as file:
        for event in _events(num_events, random.Random(seed)):
            file.write(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")


def _events(num_events: int, source: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(num_events):
        user = f"did:plc:{min(int(source.paretovariate(1.1)), num_events // 3 + 1):024d}"
        event: dict[str, Any] = {"did": user, "time_us": _START + 37_000 * number + source.randrange(30_000)}
        if source.random() < 0.03:
            account = {"active": source.random() < 0.9, "did": user, "seq": 6 * 10**9 + number}
            yield event | {"kind": source.choice(("identity", "account")), "account": account}
            continue
        yield event | {"kind": "commit", "commit": _commit(number, source)}


def _commit(number: int, source: random.Random) -> dict[str, Any]:
    collection = source.choices(_COLLECTIONS, _WEIGHTS)[0]
    commit = {"rev": f"3lbhuv{number:x}", "collection": collection, "rkey": f"{source.randrange(1 << 60):x}"}
    if source.random() < 0.08:
        return {**commit, "operation": "delete"}
    return {
        **commit,
        "operation": "create",
        "cid": f"bafyrei{source.randrange(1 << 100):x}",
        "record": _record(collection, source),
    }


def _record(collection: str, source: random.Random) -> dict[str, Any]:
    record = {"$type": collection, "createdAt": f"2024-11-21T16:{source.randrange(60):02}:25.361Z"}
    if collection.endswith("follow"):
        return {**record, "subject": {"uri": f"did:plc:{source.randrange(500)}"}}
    if not collection.endswith("post"):
        uri = f"at://did:plc:{source.randrange(900)}/app.bsky.feed.post/{source.randrange(9000):x}"
        return {**record, "subject": {"cid": f"bafy{source.randrange(1 << 90):x}", "uri": uri}}
    text = " ".join(source.choices(_WORDS, k=source.randrange(1, 30)))
    post = {**record, "text": text, "langs": source.sample(("en", "ja", "pt", "de"), source.randrange(1, 3))}
    return {**post, "embed": {"images": [{"alt": "", "size": {"h": 1.5, "w": 2}}]}} if source.random() < 0.1 else post
