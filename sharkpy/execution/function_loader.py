"""Loading of permanent functions' code: Python by module and name or by value, Java by class."""

from __future__ import annotations

from collections.abc import Callable

from sharkpy.base.errors import BindError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import JAVA_HOME, Conf
from sharkpy.catalog.function_catalog import BUILT_IN, FunctionEntry
from sharkpy.execution.restrictions import Restrictions
from sharkpy.udf.java.jvm import is_available
from sharkpy.udf.special_forms import JAVA_CLASSES
from sharkpy.udf.user.function import UserFunction, intern


@dataclass(frozen=True, slots=True)
class FunctionLoader:
    """Loader of a session's functions. Its settings choose the Java, its restrictions the allowed code."""

    conf: Conf
    restrictions: Callable[[], Restrictions]

    def __call__(self, entry: FunctionEntry) -> UserFunction:
        home = self.conf.value(JAVA_HOME)
        if entry.database == BUILT_IN and entry.target == JAVA_CLASSES.get(entry.name):
            from sharkpy.udf.java.java_function import JavaScalar

            self.restrictions().check_code(entry.name)
            return intern(JavaScalar(entry.name, entry.target, (), home, False))
        if entry.code:
            from sharkpy.udf.user.python_code import function_from_bytes

            return intern(function_from_bytes(entry.name, entry.code))
        from sharkpy.udf.user.make import is_python, load_python

        files = [path for kind, path in entry.resources if kind != "JAR"]
        if is_python(entry.target, files):
            return intern(load_python(entry.name, entry.target, files))
        from sharkpy.udf.java.java_function import java_function

        jars = tuple(path for kind, path in entry.resources if kind == "JAR")
        if not is_available() and not jars:
            raise BindError(
                f'"{entry.target}" is not a Python function, and Java classes need the missing package JPype1',
                hint='run: pip install "sharkpy[java]"',
                sqlstate="42883",
            )
        return intern(java_function(entry.name, entry.target, jars, home))
