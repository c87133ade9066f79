"""Start and stop of a local session's JVM, without a launcher or shell, and the JVM's class cache.

The cache has classes loaded and linked in a training run, mapped at the next start. Java 25 and newer write an AOT
cache, older versions a dynamic class data archive. A cache is valid for one Java, one pyspark and one set of
options; its name is a hash of these. A JVM that finds an unsuitable cache starts without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import logging
import os
import shlex
import struct
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.java import Java
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import names_secret

START_TIMEOUT_SECONDS = 120.0
EXIT_SECONDS = 10.0
TRAINING_EXIT_SECONDS = 300.0
EXTRA_OPTIONS = "spark.driver.extraJavaOptions"
EXTRA_CLASS_PATH = "spark.driver.extraClassPath"

_log = logging.getLogger("sharkpy")

_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
"""Java packages that Spark's launcher opens. The incubator vector module is left out, as packaged JREs lack it."""

_LOGGING = """\
rootLogger.level = {level}
rootLogger.appenderRef.file.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


def logging_properties(level: str) -> str:
    """Return a log4j2 configuration that logs `level` and above to standard error."""
    return _LOGGING.format(level=level)


@dataclass(frozen=True, slots=True)
class JvmProcess:
    """Running JVM with its Py4J gateway. It ends when its standard input closes, at the latest with this process."""

    process: subprocess.Popen[bytes]
    gateway: Any
    exit_seconds: float = EXIT_SECONDS
    """Limit on the seconds of its exit."""

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def await_end(self, seconds: float = EXIT_SECONDS) -> bool:
        """Wait for a process that is about to end by itself. Return False if it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return not self.is_alive

    def stop(self) -> None:
        self.gateway.shutdown()
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(self.exit_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def pyspark_home() -> Path:
    """Return the folder of the pyspark package without importing it. Raise ConfigurationError if it is missing."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError("the pyspark package is not installed", hint="run: pip install pyspark")
    return Path(next(iter(spec.submodule_search_locations)))


def java_command(
    java: Java, folder: Path, max_heap_bytes: int, conf: Mapping[str, str], cache: ClassCache | None = None
) -> list[str]:
    """Return the command that starts Spark's Python gateway; `folder` has the log configuration."""
    opens = [f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED]
    newer = (
        ["--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"] if java.version >= 24 else []
    )
    properties = (
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        f"-Xmx{max_heap_bytes >> 20}m",
        "-XX:+UseParallelGC",
        # The JVM only schedules tasks and moves bytes: further optimisation would take cores from the tasks.
        "-XX:TieredStopAtLevel=1",
        "-XX:+IgnoreUnrecognizedVMOptions",
    )
    # Secrets are sent over the connection, because all users can read a process's arguments.
    shown = {key: value for key, value in conf.items() if not names_secret(key)}
    submit = [text for key, value in shown.items() for text in ("--conf", f"{key}={value}")]
    # Other classes come last, so that the class cache of Spark's own still matches the start of the class path.
    given = filter(None, [conf.get(EXTRA_CLASS_PATH, "")])
    classpath = os.pathsep.join([*spark_jars(), *hadoop_folders(conf), *given])
    start = ["-cp", classpath, "org.apache.spark.deploy.SparkSubmit", *submit, "pyspark-shell"]
    more = [*(cache.use() if cache else ()), *shlex.split(conf.get(EXTRA_OPTIONS, ""))]
    return [java.executable, *properties, *opens, *newer, *more, *start]


def spark_jars() -> list[str]:
    """Return the class path of Spark's jars: its core first, in which each job looks up the classes of its closures."""
    jars = pyspark_home() / "jars"
    return [*map(str, jars.glob("spark-core_*.jar")), str(jars / "*")]


def hadoop_folders(conf: Mapping[str, str]) -> list[str]:
    """Return the folders of Hadoop's settings for the JVM's class path, which have the addresses of YARN.

    Empty for a local master: another default file system would apply to Spark's local files.
    """
    if conf.get("spark.master", "").startswith("local"):
        return []
    return list(dict.fromkeys(filter(None, map(os.environ.get, ("HADOOP_CONF_DIR", "YARN_CONF_DIR")))))


def start_jvm(
    java: Java,
    folder: Path,
    max_heap_bytes: int,
    conf: Mapping[str, str],
    meanwhile: Callable[[], object] = lambda: None,
) -> JvmProcess:
    """Start the JVM and connect to it. `meanwhile` runs while it starts. Its output goes to `folder`/jvm.log.

    It uses its class cache, if there is one; a cache with which it does not start is deleted.
    """
    trains = is_training(conf.get(EXTRA_OPTIONS, ""))
    # A cache is valid for one class path.
    cache = None if trains or hadoop_folders(conf) else find_class_cache(java, pyspark_home())
    try:
        return _start(java_command(java, folder, max_heap_bytes, conf, cache), java, folder, conf, meanwhile, trains)
    except ConfigurationError as error:
        if cache is None:
            raise
        _log.warning("%s; once more, without its class cache %s", error.message, cache.path)
        cache.drop()
        return _start(java_command(java, folder, max_heap_bytes, conf), java, folder, conf, meanwhile, trains)


def _start(
    command: list[str],
    java: Java,
    folder: Path,
    conf: Mapping[str, str],
    meanwhile: Callable[[], object],
    trains: bool,
) -> JvmProcess:
    (folder / "log4j2.properties").write_text(logging_properties("error"))
    connection_file = folder / "gateway"
    connection_file.unlink(missing_ok=True)
    environ = {
        **os.environ,
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection_file),
        "SPARK_HOME": str(pyspark_home()),
        "SPARK_CONNECT_MODE": "0",
        # Needed for executors of a local-cluster: Spark would search its own build for the version.
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "JAVA_HOME": str(Path(java.executable).resolve().parent.parent),
    }
    if address := conf.get("spark.driver.bindAddress"):
        environ["SPARK_LOCAL_IP"] = address
    with (folder / "jvm.log").open("wb") as log:
        # Its own session keeps Ctrl-C in the terminal from the JVM. The closed pipe ends it with this process.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environ,
            start_new_session=True,
        )
    try:
        meanwhile()
        port, secret = _await_gateway(process, connection_file, folder / "jvm.log")
        gateway = _connect(port, secret, process)
        return JvmProcess(process, gateway, TRAINING_EXIT_SECONDS if trains else EXIT_SECONDS)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _await_gateway(process: subprocess.Popen[bytes], file: Path, log: Path) -> tuple[int, str]:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while not file.is_file():
        if process.poll() is not None:
            lines = log.read_text(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"exit code {process.returncode}"
            raise ConfigurationError(f"the JVM did not start: {reason}")
        if time.monotonic() > deadline:
            raise ConfigurationError(f"the JVM did not start within {START_TIMEOUT_SECONDS:.0f} s")
        time.sleep(0.005)
    content = file.read_bytes()
    port, length = struct.unpack_from(">ii", content)
    return port, content[8 : 8 + length].decode()


def _connect(port: int, secret: str, process: subprocess.Popen[bytes]) -> Any:
    """Return pyspark's gateway object for a running JVM."""
    from pyspark.java_gateway import launch_gateway

    known = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    saved = {name: os.environ.get(name) for name in known}
    os.environ.update(known)
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name, value in saved.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    gateway.proc = process
    return gateway


FIRST_WITH_AOT = 25
_FORMAT = "2"
"""Version of the cache. Change it if older caches no longer fit, as after a new class path or collector."""


@dataclass(frozen=True, slots=True)
class ClassCache:
    """Class cache at `path`. Its metadata is in a file with the same name and suffix .json."""

    path: Path
    is_aot: bool

    @property
    def note(self) -> Path:
        return self.path.with_suffix(".json")

    def use(self) -> list[str]:
        """Return the options of a JVM that starts with the cache."""
        return [f"-XX:AOTCache={self.path}"] if self.is_aot else [f"-XX:SharedArchiveFile={self.path}"]

    def train(self, target: Path) -> str:
        """Return the option of a JVM that writes the cache to `target` when it exits."""
        return f"-XX:AOTCacheOutput={target}" if self.is_aot else f"-XX:ArchiveClassesAtExit={target}"

    def publish(self, written: Path) -> int:
        """Publish the cache written by a training run; return its size in bytes."""
        size = written.stat().st_size
        self.note.unlink(missing_ok=True)
        written.replace(self.path)
        self.note.write_text(json.dumps({"bytes": size, "modified": self.path.stat().st_mtime_ns}))
        return size

    def drop(self) -> None:
        self.note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def fault(self) -> str | None:
        """Return why the cache cannot be used: None if it can, "" if it does not exist."""
        try:
            known = json.loads(self.note.read_text())
            found = self.path.stat()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            return str(error)
        if (known.get("bytes"), known.get("modified")) != (found.st_size, found.st_mtime_ns):
            return "it is not as its training run left it"
        return None


def cache_dir() -> Path:
    """Return the user's folder for files that can be recreated."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sharkpy"


def class_cache(java: Java, pyspark_home: Path) -> ClassCache:
    """Return the class cache for this Java and pyspark; it may not exist."""
    from importlib.metadata import version

    executable = Path(java.executable).resolve()
    release = executable.parent.parent / "release"
    parts = (
        _FORMAT,
        str(executable),
        release.read_text(errors="replace") if release.is_file() else str(java.version),
        version("pyspark"),
        str(pyspark_home),
    )
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    is_aot = java.version >= FIRST_WITH_AOT
    return ClassCache(cache_dir() / f"java{java.version}-{key}.{'aot' if is_aot else 'jsa'}", is_aot)


def find_class_cache(java: Java, pyspark_home: Path) -> ClassCache | None:
    """Return a complete cache, or None; a damaged one is ignored with a warning."""
    cache = class_cache(java, pyspark_home)
    fault = cache.fault()
    if fault:
        _log.warning("the class cache %s is ignored: %s; train it anew with: sharkpy warmup", cache.path, fault)
    return cache if fault is None else None


def is_training(options: str) -> bool:
    """True if a JVM with these options writes a cache when it exits, which takes a while."""
    return "-XX:AOTCacheOutput=" in options or "-XX:ArchiveClassesAtExit=" in options
