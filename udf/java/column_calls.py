"""The Java side of columns: a class that converts arrays of primitive values to objects, and back."""

from __future__ import annotations

COLUMNS = """
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
