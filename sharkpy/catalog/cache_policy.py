"""Policy of a cached table: how many Hive partitions are held in memory, and which. It is a table property."""

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
"""Shark's shark.cache.policy.maxSize, for policies without their own limit."""


class PolicyKind(Enum):
    ALL = "All"
    LRU = "LRU"
    FIFO = "FIFO"


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """Bound on the Hive partitions in memory: at most `limit`, or all of them with ALL."""

    kind: PolicyKind = PolicyKind.ALL
    limit: int = 0

    def __str__(self) -> str:
        return self.kind.value if self.kind is PolicyKind.ALL else f"{self.kind.value}({self.limit})"

    @classmethod
    def parse(cls, text: str, limit: str | None) -> CachePolicy:
        """Parse 'All', 'LRU(n)', 'FIFO(n)', or one of Shark's class names with `limit`. Raise ValueError for other
        text.
        """
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
