"""Functions of Hive that call Java: by Hive's own classes, in the JVM that users' Java functions run in."""

from __future__ import annotations

_PACKAGE = "org.apache.hadoop.hive.ql.udf.generic"
CLASSES = {
    "reflect": f"{_PACKAGE}.GenericUDFReflect",
    "java_method": f"{_PACKAGE}.GenericUDFReflect",
    "reflect2": f"{_PACKAGE}.GenericUDFReflect2",
}
"""Name -> class."""
DOCS = {
    "reflect": "calls a method of a Java class, both by their names",
    "java_method": "calls a method of a Java class, both by their names",
    "reflect2": "calls a method of its first argument by its name",
}
