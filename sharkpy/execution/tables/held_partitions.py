"""Choice of a cached table's Hive partitions to hold in memory; without side effects."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.catalog.model import CachePolicy, PolicyKind


def held_partitions(
    policy: CachePolicy, held: Sequence[str], known: Sequence[str], seen: Sequence[str] | None, needed: Sequence[str]
) -> tuple[str, ...]:
    """Return the Hive partitions to hold now, in order of eviction.

    `held` are those held so far. `known` are all of the table, in order of registration. `seen` are those known at the
    last call, None at first. `needed` are the partitions that a query reads now.

    1. LRU holds those used or registered last. If a query needs more than fit, those already held stay, and its later
       ones do not evict its first ones.
    2. FIFO holds those registered last, regardless of use.
    """
    there = set(known)
    kept = [name for name in held if name in there]
    was_seen, is_held = set(seen or ()), set(kept)
    new = [name for name in known if name not in was_seen and name not in is_held]
    if policy.kind is PolicyKind.FIFO:
        return _last([*kept, *new], policy.limit)
    wanted = set(needed)
    order = [name for name in needed if name in is_held] + [name for name in needed if name not in is_held]
    used = order[: policy.limit]
    others = [name for name in [*kept, *(() if seen is None else new)] if name not in wanted]
    return _last([*others, *used], policy.limit)


def _last(names: list[str], limit: int) -> tuple[str, ...]:
    return tuple(names[max(len(names) - limit, 0) :])
