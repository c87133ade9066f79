"""How many Hive partitions of a cached table are held in memory, and which (SPEC M5): a table's property."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

POLICY_KEY = "shark.cache.policy"
POLICY_SIZE_KEY = "shark.cache.policy.maxSize"
_POLICY = re.compile(
    r"(?:shark\.memstore2\.)?(All|CacheAll|LRU|FIFO)(?:CachePolicy|Policy)?(?:\((\d+)\))?", re.IGNORECASE
)
DEFAULT_POLICY_LIMIT = 10
"""Shark's shark.cache.policy.maxSize where none is given."""


class PolicyKind(Enum):
    ALL = "All"
    LRU = "LRU"
    FIFO = "FIFO"


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """At most `limit` Hive partitions in memory; with ALL there is no limit."""

    kind: PolicyKind = PolicyKind.ALL
    limit: int = 0

    def __str__(self) -> str:
        return self.kind.value if self.kind is PolicyKind.ALL else f"{self.kind.value}({self.limit})"

    @classmethod
    def parse(cls, text: str, limit: str | None) -> CachePolicy:
        """'All', 'LRU(n)', 'FIFO(n)', or one of Shark's class names with `limit`; ValueError for anything else."""
        match = _POLICY.fullmatch(text.strip())
        if match is None:
            raise ValueError(text)
        kind = PolicyKind({"all": "All", "cacheall": "All"}.get(match[1].lower(), match[1].upper()))
        if kind is PolicyKind.ALL:
            return cls()
        size = int(match[2] or limit or DEFAULT_POLICY_LIMIT)
        if size < 1:
            raise ValueError(text)
        return cls(kind, size)
