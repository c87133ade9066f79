"""Whether Java can be called from this process."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sharkpy.base.errors import BindError, ConfigurationError, ExecutionError, SharkError
from sharkpy.base.java import find_java
from sharkpy.udf.java.columns import JavaColumns
from sharkpy.udf.java.hive_calls import CLASSES, MISSING, SOURCE


def is_available() -> bool:
    """Whether JPype is installed."""
    return importlib.util.find_spec("jpype") is not None


_OPTIONS = ("-Xrs", "-Xmx1g", "-XX:+UseSerialGC", "-Djava.awt.headless=true", "-Dlog4j2.level=error")
_OPENED = ("java.base/java.lang", "java.base/java.net", "java.base/java.nio", "java.base/java.util")
_JAR_HINT = "ADD JAR or ADD FILE says where it is"
_INSTALL_HINT = 'run: pip install "sharkpy[java]"'
_lock = threading.RLock()
_started: dict[str, Jvm] = {}


class Jvm:
    """Hive's classes, the engine's own classes over them, and users' classes from JARs."""

    def __init__(self, calls: dict[str, Any], loader: Any) -> None:
        self.scalar, self.aggregate, self.table = (calls[name] for name in CLASSES[:3])
        self.columns = JavaColumns(calls["Columns"])
        self._loader = loader
        self._of_jars: dict[tuple[str, ...], Any] = {}

    def find_class(self, name: str, jars: tuple[str, ...]) -> Any:
        """Return a java.lang.Class. Raise BindError if neither the JARs nor Hive have it."""
        import jpype

        loader = self._loader_of(jars)
        jpype.java.lang.Thread.currentThread().setContextClassLoader(loader)
        try:
            return jpype.java.lang.Class.forName(name, True, loader)
        except jpype.JException as error:
            kind = str(error.getClass().getSimpleName())
            if kind not in ("ClassNotFoundException", "NoClassDefFoundError"):
                raise
            missing = "" if kind == "ClassNotFoundException" else f": it needs {error.getMessage()}"
            raise BindError(
                f'no Python function and no Java class "{name}"{missing}', hint=_JAR_HINT, sqlstate="42883"
            ) from None

    def _loader_of(self, jars: tuple[str, ...]) -> Any:
        import jpype

        with _lock:
            if jars not in self._of_jars:
                urls = [jpype.java.io.File(jar).toURI().toURL() for jar in jars]
                self._of_jars[jars] = jpype.java.net.URLClassLoader(urls, self._loader) if urls else self._loader
            return self._of_jars[jars]


def jvm(home: str = "") -> Jvm:
    """Return the process's JVM. Raise ConfigurationError if JPype or Java is missing."""
    with _lock:
        if not _started:
            _started["jvm"] = _start(home)
        return _started["jvm"]


def _start(home: str) -> Jvm:
    if not is_available():
        raise ConfigurationError("Java functions need the package JPype1", hint=_INSTALL_HINT)
    import jpype
    import jpype.config

    if not jpype.isJVMStarted():
        # Otherwise the process would not end before the Java threads that functions started.
        jpype.config.destroy_jvm = False
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        try:
            jpype.startJVM(_library(home), *_OPTIONS, *opened, classpath=_class_path(), convertStrings=False)
        except (OSError, RuntimeError) as error:
            raise ConfigurationError(f"Java does not start in this process: {error}") from error
    parent = jpype.java.lang.ClassLoader.getSystemClassLoader()
    _add_missing(parent)
    loader = _compiled(SOURCE, parent).getClassLoader()
    return Jvm({name: jpype.JClass(loader.loadClass(f"sharkpy.{name}")) for name in CLASSES}, parent)


def _compiled(source: str, parent: Any) -> Any:
    """Compile `source` and return Janino's compiler."""
    import jpype

    compiler = jpype.JClass("org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(parent)
    compiler.cook(source)
    return compiler


def _add_missing(loader: Any) -> None:
    """Add the classes of MISSING to Hive's classes, if they are missing there."""
    import jpype

    if loader.getResource("org/apache/hadoop/hive/llap/security/LlapSigner.class") is not None:
        return
    types = (jpype.java.lang.String, jpype.JArray(jpype.JByte), jpype.JInt, jpype.JInt)
    define = jpype.java.lang.ClassLoader.class_.getDeclaredMethod("defineClass", *(one.class_ for one in types))
    define.setAccessible(True)
    for entry in _compiled(MISSING, loader).getBytecodes().entrySet():
        code = entry.getValue()
        define.invoke(loader, entry.getKey(), code, jpype.JInt(0), jpype.JInt(len(code)))


def _library(home: str) -> str:
    chosen = home if home and Path(home).exists() else None
    java = Path(find_java(chosen).executable).resolve()
    for place in ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll"):
        if (found := java.parent.parent / place).is_file():
            return str(found)
    raise ConfigurationError(f'"{java}" has no library to run Java within this process')


def _class_path() -> list[str]:
    """Return the class path. Hive's classes come with Spark."""
    folder = os.environ.get("SPARK_HOME")
    if not folder:
        spec = importlib.util.find_spec("pyspark")
        places = spec.submodule_search_locations if spec is not None else None
        folder = next(iter(places or ()), "")
    jars = sorted(map(str, Path(folder, "jars").glob("*.jar")))
    if not any("hive-exec" in jar for jar in jars):
        raise ConfigurationError(f'no Hive classes in "{folder}/jars"', hint="install pyspark with its JARs")
    return jars


@contextmanager
def java_errors(name: str, kind: type[SharkError] = ExecutionError, sqlstate: str = "38000") -> Iterator[None]:
    """Convert an exception that Java throws in the block to an error that names the function."""
    import jpype

    try:
        yield
    except jpype.JException as error:
        cause = error
        while cause.getCause() is not None and str(cause.getClass().getSimpleName()) in _WRAPPERS:
            cause = cause.getCause()
        said = str(cause.getMessage() or "").splitlines()
        text = f": {said[0]}" if said else ""
        raise kind(f'function "{name}" threw {cause.getClass().getName()}{text}', sqlstate=sqlstate) from None


_WRAPPERS = ("HiveException", "InvocationTargetException", "RuntimeException", "UndeclaredThrowableException")
