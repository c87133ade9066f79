"""The most frequent sequences of words, with the memory and the choices of Hive's NGramEstimator.

A state is JSON: the requested number, the number that is kept, and the counts of the sequences found so far.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

_KEPT = 1000
"""The minimum number of sequences that are kept, whatever the precision factor."""

Words = Sequence[str]


def ngram_state(rows: Iterable[Words | None], length: int, most: int, precision: int) -> bytes | None:
    """Return a state of all runs of `length` words in the rows."""
    _check("n", length)
    found = (tuple(words[at : at + length]) for words in rows if words for at in range(len(words) - length, -1, -1))
    return _state(found, most, precision)


def context_ngram_state(
    rows: Iterable[Words | None], context: Sequence[str | None], most: int, precision: int
) -> bytes | None:
    """Return a state of the words in the blanks of the context, which are its NULLs."""
    if None not in context:
        raise ValueError("the context of context_ngrams needs a NULL, which says what is to be counted")
    blanks = [at for at, word in enumerate(context) if word is None]
    fixed = [(at, word) for at, word in enumerate(context) if word is not None]
    found = (
        tuple(words[at + blank] for blank in blanks)
        for words in rows
        if words
        for at in range(len(words) - len(context), -1, -1)
        if all(words[at + place] == word for place, word in fixed)
    )
    return _state(found, most, precision)


def merge_ngrams(states: list[bytes]) -> bytes | None:
    if len(states) < 2:
        return states[0] if states else None
    counts: Counter[tuple[str, ...]] = Counter()
    for state in states:
        most, kept, items = json.loads(state)
        counts.update({tuple(words): count for words, count in items})
    return _packed(most, kept, _most_frequent(counts, kept))


def top_ngrams(state: bytes) -> list[dict[str, object]] | None:
    """Return the requested sequences, most frequent first. Ties are in lexical order."""
    most, _, items = json.loads(state)
    counts = Counter({tuple(words): count for words, count in items})
    top = _most_frequent(counts, most)
    return [{"ngram": list(words), "estfrequency": float(count)} for words, count in top] or None


def _check(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"ngrams needs {name} to be at least 1, not {value}")


def _state(found: Iterable[tuple[str, ...]], most: int, precision: int) -> bytes | None:
    _check("k", most)
    _check("pf", precision)
    kept = max(most * precision, _KEPT // most * most)
    counts: Counter[tuple[str, ...]] = Counter()
    for words in found:
        counts[words] += 1
        if len(counts) > 2 * kept:
            counts = Counter(dict(_most_frequent(counts, kept)))
    return _packed(most, kept, _most_frequent(counts, 2 * kept))


def _most_frequent(counts: Counter[tuple[str, ...]], number: int) -> list[tuple[tuple[str, ...], int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:number]


def _packed(most: int, kept: int, items: list[tuple[tuple[str, ...], int]]) -> bytes:
    return json.dumps([most, kept, items], ensure_ascii=False).encode()
