"""Conversion of Arrow columns to Java objects and back: one table row per type, nested types by their parts.

COLUMNS is the Java side: a class that converts arrays of primitive values to objects, and back.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.errors import UnsupportedError
from sharkpy.udf.user.function import Column
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    VarcharType,
    to_arrow,
)
from sharkpy.values.utf8 import valid_array

_BYTES = {TINYINT: 1, SMALLINT: 2, INT: 4, BIGINT: 8}
_INTEGERS: dict[DataType, str] = {BOOLEAN: "booleans", DATE: "dates", TIMESTAMP: "timestamps"}
_FRACTIONS: dict[DataType, str] = {FLOAT: "floats", DOUBLE: "doubles"}
_TEXTS: dict[DataType, str] = {STRING: "strings", BINARY: "binaries"}


def java_type(dtype: DataType) -> str:
    """Return the type for the Java side. The engine itself enforces length limits."""
    match dtype:
        case CharType() | VarcharType():
            return "string"
        case ArrayType(element):
            return f"array<{java_type(element)}>"
        case MapType(key, value):
            return f"map<{java_type(key)},{java_type(value)}>"
        case StructType(names, types):
            return f"struct<{','.join(f'{n}:{java_type(t)}' for n, t in zip(names, types, strict=True))}>"
    return str(dtype)


class JavaColumns:
    """Moves columns through the given Java class `Columns`."""

    def __init__(self, java: Any) -> None:
        import jpype

        self._java = java
        self._longs = jpype.JArray(jpype.JLong)
        self._ints = jpype.JArray(jpype.JInt)
        self._doubles = jpype.JArray(jpype.JDouble)
        self._bytes = jpype.JArray(jpype.JByte)
        self._rows = jpype.JArray(jpype.JArray(jpype.JObject))

    def table(self, columns: list[Any]) -> Any:
        """Return the columns as Object[][]."""
        return self._rows(columns)

    def ints(self, values: np.ndarray[Any, Any]) -> Any:
        return self._ints(np.ascontiguousarray(values, np.int32))

    def constant(self, value: object, dtype: DataType) -> Any:
        """Return one value as a Java object."""
        values: Column = pa.array([value]) if not isinstance(value, Decimal) else pa.array([str(value)])
        return self.to_java(values.cast(to_arrow(dtype)), dtype)[0]

    def to_java(self, column: Column, dtype: DataType) -> Any:
        """Return the column as Object[]."""
        nulls = self._bytes(column.is_null().to_numpy(zero_copy_only=False).astype(np.int8))
        if dtype in _BYTES:
            return self._java.integers(self._longs(_filled(column, pa.int64())), nulls, _BYTES[dtype])
        if dtype in _INTEGERS:
            return getattr(self._java, _INTEGERS[dtype])(self._longs(_whole(column)), nulls)
        if dtype in _FRACTIONS:
            return getattr(self._java, _FRACTIONS[dtype])(self._doubles(_filled(column, pa.float64())), nulls)
        if dtype == NULL:
            return self._java.integers(self._longs(np.zeros(len(column), np.int64)), nulls, 8)
        match dtype:
            case DecimalType():
                return self._java.decimals(self.to_java(column.cast(pa.string()), STRING))
            case ArrayType(element):
                plain: Column = pc.fill_null(column, pa.scalar([], column.type)) if column.null_count else column
                items = self.to_java(plain.flatten(), element)
                return self._java.lists(items, self._list_offsets(plain.value_lengths()), nulls)
            case MapType(key, value):
                return self._map_to_java(column, key, value, nulls)
            case StructType(_, types):
                fields = [self.to_java(field, one) for field, one in zip(column.flatten(), types, strict=True)]
                return self._java.structs(self._rows(fields), nulls)
            case _ if dtype in _TEXTS or isinstance(dtype, (CharType, VarcharType)):
                data, offsets = _text_parts(column)
                return getattr(self._java, _TEXTS.get(dtype, "strings"))(self._bytes(data), self._ints(offsets), nulls)
        raise UnsupportedError(f"{dtype} in a Java function")

    def _map_to_java(self, column: Column, key: DataType, value: DataType, nulls: Any) -> Any:
        entries = column.cast(pa.list_(pa.struct([("key", to_arrow(key)), ("value", to_arrow(value))])))
        plain: Column = pc.fill_null(entries, pa.scalar([], entries.type)) if entries.null_count else entries
        keys, values = plain.flatten().flatten()
        offsets = self._list_offsets(plain.value_lengths())
        return self._java.maps(self.to_java(keys, key), self.to_java(values, value), offsets, nulls)

    def _list_offsets(self, lengths: Column) -> Any:
        return self.ints(np.concatenate(([0], np.cumsum(lengths.to_numpy(zero_copy_only=False)))))

    def from_java(self, objects: Any, dtype: DataType) -> Column:
        """Return Object[] as a column."""
        target: Any = to_arrow(dtype)
        mask = np.asarray(self._java.nulls(objects)).astype(bool)
        if dtype in _BYTES or dtype in _INTEGERS:
            numbers = np.asarray(self._java.toIntegers(objects))
            if dtype == BOOLEAN:
                return pa.array(numbers.astype(bool), mask=mask)
            if dtype == DATE:
                return pa.array(numbers.astype(np.int32), pa.int32(), mask=mask).cast(target)
            return pa.array(numbers, pa.int64(), mask=mask).cast(target)
        if dtype in _FRACTIONS:
            return pa.array(np.asarray(self._java.toDoubles(objects)), pa.float64(), mask=mask).cast(target)
        if dtype == NULL:
            return pa.nulls(len(mask))
        match dtype:
            case DecimalType():
                texts = self.from_java(objects, STRING)
                return texts.cast(pa.decimal128(38, dtype.scale)).cast(target)
            case ArrayType(element):
                items = self.from_java(self._java.items(objects), element)
                return pa.ListArray.from_arrays(self._offsets(objects, mask), items).cast(target)
            case MapType(key, value):
                keys = self.from_java(self._java.keys(objects), key)
                values = self.from_java(self._java.values(objects), value)
                return pa.MapArray.from_arrays(self._offsets(objects, mask), keys, values).cast(target)
            case StructType(_, types):
                fields = [self.from_java(self._java.field(objects, i), one) for i, one in enumerate(types)]
                known = [target.field(i) for i in range(len(types))]
                return pa.StructArray.from_arrays(fields, fields=known, mask=pa.array(mask))
            case _ if dtype in _TEXTS or isinstance(dtype, (CharType, VarcharType)):
                return self._texts(objects, mask, target)
        raise UnsupportedError(f"{dtype} as the result of a Java function")

    def _texts(self, objects: Any, mask: np.ndarray[Any, Any], target: pa.DataType) -> Column:
        offsets = np.asarray(self._java.byteOffsets(objects))
        data = np.asarray(self._java.joined(objects, int(offsets[-1])))
        validity = pa.array(~mask).buffers()[1]
        buffers = [validity, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data.tobytes())]
        # Hadoop's Text may hold any bytes.
        return valid_array(pa.Array.from_buffers(target, len(mask), buffers))

    def _offsets(self, objects: Any, mask: np.ndarray[Any, Any]) -> Column:
        """Return list offsets; NULL offsets mark NULL lists."""
        offsets = np.asarray(self._java.itemOffsets(objects))
        return pa.array(offsets, pa.int32(), mask=np.append(mask, False))


def _filled(column: Column, dtype: pa.DataType) -> np.ndarray[Any, Any]:
    wide = column.cast(dtype)
    return np.ascontiguousarray(pc.fill_null(wide, 0).to_numpy(zero_copy_only=False))


def _whole(column: Column) -> np.ndarray[Any, Any]:
    """Return booleans, days or microseconds as integers."""
    narrow = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    return _filled(narrow, pa.int64())


def _text_parts(column: Column) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return bytes and offsets into them."""
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    start, end = (int(places[0]), int(places[-1])) if len(places) else (0, 0)
    held = np.frombuffer(data, np.int8)[start:end] if data is not None and end > start else np.zeros(0, np.int8)
    return held, (places - start if len(places) else np.zeros(1, np.int32))


COLUMNS_SOURCE = """
/** Columns as arrays of primitive values to objects and back; nulls[i] != 0 says that value i is NULL. */
public final class Columns {
  private static SessionState session;

  /** Some functions ask their thread's session for settings. */
  static synchronized void enterSession() {
    if (SessionState.get() != null) return;
    if (session == null) session = new SessionState(new HiveConf());
    SessionState.setCurrentSessionState(session);
  }

  public static ObjectInspector[] inspectors(String[] types, Object[] constants) {
    enterSession();
    ObjectInspector[] found = new ObjectInspector[types.length];
    for (int i = 0; i < types.length; i++) {
      TypeInfo info = TypeInfoUtils.getTypeInfoFromTypeString(types[i]);
      found[i] = TypeInfoUtils.getStandardJavaObjectInspectorFromTypeInfo(info);
      if (constants[i] != null) found[i] = ObjectInspectorUtils.getConstantObjectInspector(found[i], constants[i]);
    }
    return found;
  }

  /** What Hive expects under a constant's inspector is the constant itself. */
  static Object value(ObjectInspector inspector, Object value) {
    return inspector instanceof ConstantObjectInspector
        ? ((ConstantObjectInspector) inspector).getWritableConstantValue() : value;
  }

  public static Object[] integers(long[] values, byte[] nulls, int bytes) {
    Object[] made = new Object[values.length];
    for (int i = 0; i < made.length; i++) {
      if (nulls[i] != 0) continue;
      long value = values[i];
      if (bytes == 8) made[i] = Long.valueOf(value);
      else if (bytes == 4) made[i] = Integer.valueOf((int) value);
      else if (bytes == 2) made[i] = Short.valueOf((short) value);
      else made[i] = Byte.valueOf((byte) value);
    }
    return made;
  }

  public static Object[] doubles(double[] values, byte[] nulls) {
    Object[] made = new Object[values.length];
    for (int i = 0; i < made.length; i++) if (nulls[i] == 0) made[i] = Double.valueOf(values[i]);
    return made;
  }

  public static Object[] floats(double[] values, byte[] nulls) {
    Object[] made = new Object[values.length];
    for (int i = 0; i < made.length; i++) if (nulls[i] == 0) made[i] = Float.valueOf((float) values[i]);
    return made;
  }

  public static Object[] booleans(long[] values, byte[] nulls) {
    Object[] made = new Object[values.length];
    for (int i = 0; i < made.length; i++) if (nulls[i] == 0) made[i] = Boolean.valueOf(values[i] != 0);
    return made;
  }

  public static Object[] dates(long[] days, byte[] nulls) {
    Object[] made = new Object[days.length];
    for (int i = 0; i < made.length; i++) if (nulls[i] == 0) made[i] = Date.valueOf(LocalDate.ofEpochDay(days[i]));
    return made;
  }

  public static Object[] timestamps(long[] micros, byte[] nulls) {
    Object[] made = new Object[micros.length];
    for (int i = 0; i < made.length; i++) {
      if (nulls[i] != 0) continue;
      int rest = (int) Math.floorMod(micros[i], 1000000L);
      made[i] = Timestamp.valueOf(
          LocalDateTime.ofEpochSecond(Math.floorDiv(micros[i], 1000000L), rest * 1000, ZoneOffset.UTC));
    }
    return made;
  }

  public static Object[] strings(byte[] data, int[] offsets, byte[] nulls) {
    Object[] made = new Object[nulls.length];
    for (int i = 0; i < made.length; i++) {
      int length = offsets[i + 1] - offsets[i];
      if (nulls[i] == 0) made[i] = new String(data, offsets[i], length, StandardCharsets.UTF_8);
    }
    return made;
  }

  public static Object[] binaries(byte[] data, int[] offsets, byte[] nulls) {
    Object[] made = new Object[nulls.length];
    for (int i = 0; i < made.length; i++)
      if (nulls[i] == 0) made[i] = java.util.Arrays.copyOfRange(data, offsets[i], offsets[i + 1]);
    return made;
  }

  public static Object[] decimals(Object[] texts) {
    Object[] made = new Object[texts.length];
    for (int i = 0; i < made.length; i++) if (texts[i] != null) made[i] = HiveDecimal.create((String) texts[i]);
    return made;
  }

  public static Object[] lists(Object[] items, int[] offsets, byte[] nulls) {
    Object[] made = new Object[nulls.length];
    for (int i = 0; i < made.length; i++) {
      if (nulls[i] != 0) continue;
      ArrayList list = new ArrayList(offsets[i + 1] - offsets[i]);
      for (int j = offsets[i]; j < offsets[i + 1]; j++) list.add(items[j]);
      made[i] = list;
    }
    return made;
  }

  public static Object[] maps(Object[] keys, Object[] items, int[] offsets, byte[] nulls) {
    Object[] made = new Object[nulls.length];
    for (int i = 0; i < made.length; i++) {
      if (nulls[i] != 0) continue;
      LinkedHashMap map = new LinkedHashMap();
      for (int j = offsets[i]; j < offsets[i + 1]; j++) map.put(keys[j], items[j]);
      made[i] = map;
    }
    return made;
  }

  public static Object[] structs(Object[][] fields, byte[] nulls) {
    Object[] made = new Object[nulls.length];
    for (int i = 0; i < made.length; i++) {
      if (nulls[i] != 0) continue;
      ArrayList row = new ArrayList(fields.length);
      for (int j = 0; j < fields.length; j++) row.add(fields[j][i]);
      made[i] = row;
    }
    return made;
  }

  public static byte[] nulls(Object[] values) {
    byte[] made = new byte[values.length];
    for (int i = 0; i < made.length; i++) if (values[i] == null) made[i] = 1;
    return made;
  }

  public static long[] toIntegers(Object[] values) {
    long[] made = new long[values.length];
    for (int i = 0; i < made.length; i++) {
      Object value = values[i];
      if (value == null) continue;
      if (value instanceof Boolean) made[i] = ((Boolean) value).booleanValue() ? 1 : 0;
      else if (value instanceof Date) made[i] = ((Date) value).toLocalDate().toEpochDay();
      else if (value instanceof Timestamp) {
        LocalDateTime time = ((Timestamp) value).toLocalDateTime();
        made[i] = time.toEpochSecond(ZoneOffset.UTC) * 1000000L + time.getNano() / 1000;
      } else made[i] = ((Number) value).longValue();
    }
    return made;
  }

  public static double[] toDoubles(Object[] values) {
    double[] made = new double[values.length];
    for (int i = 0; i < made.length; i++) if (values[i] != null) made[i] = ((Number) values[i]).doubleValue();
    return made;
  }

  /** Offsets of the values' bytes, of strings in UTF-8, in what `joined` gives. */
  public static int[] byteOffsets(Object[] values) {
    int[] made = new int[values.length + 1];
    for (int i = 0; i < values.length; i++) made[i + 1] = made[i] + (values[i] == null ? 0 : bytes(values[i]).length);
    return made;
  }

  public static byte[] joined(Object[] values, int size) {
    byte[] made = new byte[size];
    int place = 0;
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) continue;
      byte[] part = bytes(values[i]);
      System.arraycopy(part, 0, made, place, part.length);
      place += part.length;
    }
    return made;
  }

  private static byte[] bytes(Object value) {
    return value instanceof byte[] ? (byte[]) value : value.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** Offsets of the items of lists or maps in what `items`, `keys` and `values` give. */
  public static int[] itemOffsets(Object[] values) {
    int[] made = new int[values.length + 1];
    for (int i = 0; i < values.length; i++) {
      Object value = values[i];
      int size = value == null ? 0 : value instanceof Map ? ((Map) value).size() : ((List) value).size();
      made[i + 1] = made[i] + size;
    }
    return made;
  }

  public static Object[] items(Object[] lists) {
    ArrayList made = new ArrayList();
    for (int i = 0; i < lists.length; i++) if (lists[i] != null) made.addAll((List) lists[i]);
    return made.toArray();
  }

  public static Object[] keys(Object[] maps) {
    ArrayList made = new ArrayList();
    for (int i = 0; i < maps.length; i++) if (maps[i] != null) made.addAll(((Map) maps[i]).keySet());
    return made.toArray();
  }

  public static Object[] values(Object[] maps) {
    ArrayList made = new ArrayList();
    for (int i = 0; i < maps.length; i++) if (maps[i] != null) made.addAll(((Map) maps[i]).values());
    return made.toArray();
  }

  public static Object[] field(Object[] structs, int index) {
    Object[] made = new Object[structs.length];
    for (int i = 0; i < made.length; i++) if (structs[i] != null) made[i] = ((List) structs[i]).get(index);
    return made;
  }
}
"""
