"""N-grams: the most frequent sequences of words in arrays of them, or in arrays of such sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.udf.function import AggregateFunction, Lowering
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import Types, returns
from sharkpy.udf.state_aggregates import state_aggregate
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
