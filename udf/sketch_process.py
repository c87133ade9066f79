"""Process that reads CPC sketches for another one, whose bytes may break it: `python -m sharkpy.udf.sketch_process`."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Sequence

from sharkpy.udf.apart import LENGTH
from sharkpy.udf.distinct_sketches import CPC, bounds_here, estimate_here, union_here

_MOST_BYTES = 2 << 30
_CALLS: dict[str, Callable[[Sequence[bytes], int], object]] = {
    "estimate": lambda given, _: estimate_here(CPC, given[0]),
    "bounds": lambda given, number: bounds_here(CPC, given[0], number),
    "union": lambda given, _: union_here(CPC, given).hex(),
}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    given, taken = sys.stdin.buffer, sys.stdout.buffer
    while head := given.read(LENGTH.size):
        call = json.loads(given.read(LENGTH.unpack(head)[0]))
        try:
            sketches = [bytes.fromhex(one) for one in call["given"]]
            answer: dict[str, object] = {"result": _CALLS[call["name"]](sketches, call["number"])}
        except Exception as error:  # noqa: BLE001  whatever the library raises
            answer = {"error": str(error)}
        text = json.dumps(answer).encode()
        taken.write(LENGTH.pack(len(text)) + text)
        taken.flush()


if __name__ == "__main__":
    main()
