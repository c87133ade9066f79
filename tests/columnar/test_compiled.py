"""Loading of numba: the modules that are left out, and threads that load it at once."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading
from sharkpy.columnar.compiled import import_numba

threads = [threading.Thread(target=import_numba) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("numba.np.arraymath" in sys.modules, "scipy.linalg" in sys.modules)

import numba, numpy
print(numba.njit(lambda x: numpy.dot(x, x))(numpy.ones(3)))
"""


def test_numba_is_loaded_without_scipy() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["True", "False", "3.0"], "")
