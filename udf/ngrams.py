"""N-grams: the most frequent sequences of words in arrays of them, or in arrays of such sentences.

Limits and choices follow Hive's NGramEstimator. A state is JSON: the requested number, the number of sequences
that the state may hold, and the counts of the sequences found so far.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from sharkpy.udf.aggregate_states import state_aggregate
from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import Types, returns
from sharkpy.values.types import (
    BINARY,
    DOUBLE,
    INT,
    INTEGER_TYPES,
    STRING,
    ArrayType,
    DataType,
    StructType,
    is_string,
)

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


_NGRAMS = ArrayType(StructType(("ngram", "estfrequency"), (ArrayType(STRING), DOUBLE)))


def _word_lists(dtype: DataType) -> bool:
    if isinstance(dtype, ArrayType) and isinstance(dtype.element, ArrayType):
        dtype = dtype.element
    return isinstance(dtype, ArrayType) and is_string(dtype.element)


def _ngram_arguments(second: DataType) -> Callable[[Types], Types | None]:
    def rule(types: Types) -> Types | None:
        if not 3 <= len(types) <= 4 or not _word_lists(types[0]):
            return None
        rest = (second, INT, INT)[: len(types) - 1]
        fits = isinstance(types[1], ArrayType) if isinstance(second, ArrayType) else types[1] in INTEGER_TYPES
        return (types[0], *rest) if fits and all(one in INTEGER_TYPES for one in types[2:]) else None

    return rule


def _ngram_state(kernel: str) -> Lowering:
    def partial(args: Sequence[str], types: Types, _result: DataType) -> str:
        rows = f"list({DISTINCT}{args[0]}){OVER}"
        is_nested_list = isinstance(types[0], ArrayType) and isinstance(types[0].element, ArrayType)
        return f"{kernel}({f'flatten({rows})' if is_nested_list else rows}, {args[1]}, {args[2]}, {(*args, '1')[3]})"

    return partial


def _valid(_value: object) -> str | None:
    """Accept any value: the kernels check it."""
    return None


def _ngrams(
    name: str, second: DataType, kernel: str, *, usage: str, doc: str, example: str, answer: str
) -> AggregateFunction:
    return state_aggregate(
        name,
        _ngram_arguments(second),
        returns(_NGRAMS),
        (_ngram_state(kernel),),
        lambda _types: (BINARY,),
        ("shark_ngrams_merge(list({0}))",),
        "shark_ngrams_top({0})",
        constants=tuple((position, _valid) for position in (1, 2, 3)),
        usage=usage,
        doc=doc,
        example=example,
        answer=answer,
    )


NGRAM_AGGREGATES = (
    _ngrams(
        "ngrams",
        INT,
        "shark_ngrams",
        usage="ngrams(sentences, n, k[, precision])",
        doc="the k most frequent sequences of n words, with their frequencies",
        example="ngrams(array('a', 'b'), 2, 5)",
        answer='[{"ngram":["a","b"],"estfrequency":2.0}]',
    ),
    _ngrams(
        "context_ngrams",
        ArrayType(STRING),
        "shark_context_ngrams",
        usage="context_ngrams(sentences, context, k[, precision])",
        doc="the k most frequent words in the places of a context that are NULL",
        example="context_ngrams(array('a', 'b'), array('a', NULL), 5)",
        answer='[{"ngram":["b"],"estfrequency":2.0}]',
    ),
)
