"""The Java side of calls: classes over Hive's interfaces, which Janino compiles in the JVM."""

from __future__ import annotations

from sharkpy.udf.java.columns import COLUMNS_SOURCE

CLASSES = ("Scalar", "Aggregate", "Table", "Columns")
MISSING = """
package org.apache.hadoop.hive.llap.security;

public interface LlapSigner {
  interface Signable {}
  class SignedMessage {}
}
"""
"""Classes in Hive's function table that Spark does not ship. Some functions read that table."""

_CALLS = """
package sharkpy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.exec.DefaultUDFMethodResolver;
import org.apache.hadoop.hive.ql.exec.HiveFunctionRegistryUtils;
import org.apache.hadoop.hive.ql.exec.SparkDefaultUDFMethodResolver;
import org.apache.hadoop.hive.ql.exec.UDF;
import org.apache.hadoop.hive.ql.exec.UDFArgumentException;
import org.apache.hadoop.hive.ql.exec.UDAF;
import org.apache.hadoop.hive.ql.exec.UDAFEvaluator;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.ql.udf.generic.*;
import org.apache.hadoop.hive.serde2.objectinspector.*;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.*;
import org.apache.hadoop.hive.serde2.typeinfo.*;

/** A UDF: its method evaluate for these arguments. */
final class Evaluate extends GenericUDF {
  private final String name;
  private final UDF function;
  private Method method;
  private GenericUDFUtils.ConversionHelper conversion;

  Evaluate(String name, Class kind) throws Exception {
    this.name = name;
    function = (UDF) kind.newInstance();
    // Hive's own way to find the method needs classes that do not come with Spark.
    if (function.getResolver() instanceof DefaultUDFMethodResolver) {
      function.setResolver(
          new SparkDefaultUDFMethodResolver((DefaultUDFMethodResolver) function.getResolver()));
    }
  }

  public ObjectInspector initialize(ObjectInspector[] arguments) throws UDFArgumentException {
    ArrayList types = new ArrayList();
    for (int i = 0; i < arguments.length; i++) types.add(TypeInfoUtils.getTypeInfoFromObjectInspector(arguments[i]));
    method = function.getResolver().getEvalMethod(types);
    method.setAccessible(true);
    conversion = new GenericUDFUtils.ConversionHelper(method, arguments);
    return ObjectInspectorFactory.getReflectionObjectInspector(
        method.getGenericReturnType(), ObjectInspectorFactory.ObjectInspectorOptions.JAVA);
  }

  public Object evaluate(DeferredObject[] arguments) throws HiveException {
    Object[] values = new Object[arguments.length];
    for (int i = 0; i < values.length; i++) values[i] = arguments[i].get();
    try {
      return method.invoke(function, conversion.convertIfNecessary(values));
    } catch (InvocationTargetException thrown) {
      throw new HiveException(thrown.getCause());
    } catch (IllegalAccessException thrown) {
      throw new HiveException(thrown);
    }
  }

  public String getDisplayString(String[] arguments) { return name; }
}

/** A UDF or GenericUDF with the types of its arguments. */
public final class Scalar {
  private static final class Slot implements GenericUDF.DeferredObject {
    Object value;
    public void prepare(int version) {}
    public Object get() { return value; }
  }

  private final GenericUDF function;
  private final ObjectInspector result;
  private final Slot[] slots;
  private final ObjectInspector[] inspectors;

  public Scalar(String name, Class kind, String[] types, Object[] constants) throws Exception {
    function = UDF.class.isAssignableFrom(kind)
        ? (GenericUDF) new Evaluate(name, kind) : (GenericUDF) kind.newInstance();
    ObjectInspector[] inspectors = Columns.inspectors(types, constants);
    result = function.initialize(inspectors);
    this.inspectors = inspectors;
    slots = new Slot[types.length];
    for (int i = 0; i < types.length; i++) slots[i] = new Slot();
  }

  public String resultType() { return result.getTypeName(); }

  public Object[] evaluate(Object[][] columns, int rows) throws Exception {
    Object[] made = new Object[rows];
    for (int row = 0; row < rows; row++) {
      for (int i = 0; i < slots.length; i++) slots[i].value = Columns.value(inspectors[i], columns[i][row]);
      made[row] = ObjectInspectorUtils.copyToStandardJavaObject(function.evaluate(slots), result);
    }
    return made;
  }
}

/** A UDAF: the evaluator within it that takes these arguments, in one step. */
final class Fold extends GenericUDAFEvaluator {
  static final class State extends GenericUDAFEvaluator.AbstractAggregationBuffer {
    UDAFEvaluator evaluator;
  }

  private final Class kind;
  private Method iterate;
  private Method terminate;
  private GenericUDFUtils.ConversionHelper conversion;

  Fold(Class kind) { this.kind = kind; }

  public ObjectInspector init(Mode mode, ObjectInspector[] arguments) throws HiveException {
    super.init(mode, arguments);
    ArrayList types = new ArrayList();
    for (int i = 0; i < arguments.length; i++) types.add(TypeInfoUtils.getTypeInfoFromObjectInspector(arguments[i]));
    ArrayList found = new ArrayList();
    Class[] classes = kind.getClasses();
    for (int i = 0; i <= classes.length; i++) {
      Class one = i < classes.length ? classes[i] : kind;
      if (!UDAFEvaluator.class.isAssignableFrom(one)) continue;
      Method[] methods = one.getMethods();
      for (int j = 0; j < methods.length; j++) if (methods[j].getName().equals("iterate")) found.add(methods[j]);
    }
    iterate = HiveFunctionRegistryUtils.getMethodInternal(kind, (List) found, false, (List) types);
    try {
      terminate = iterate.getDeclaringClass().getMethod("terminate", new Class[0]);
    } catch (NoSuchMethodException missing) {
      throw new HiveException(missing);
    }
    conversion = new GenericUDFUtils.ConversionHelper(iterate, arguments);
    return ObjectInspectorFactory.getReflectionObjectInspector(
        terminate.getGenericReturnType(), ObjectInspectorFactory.ObjectInspectorOptions.JAVA);
  }

  public AggregationBuffer getNewAggregationBuffer() throws HiveException {
    State state = new State();
    try {
      state.evaluator = (UDAFEvaluator) iterate.getDeclaringClass().newInstance();
    } catch (ReflectiveOperationException thrown) {
      throw new HiveException(thrown);
    }
    reset(state);
    return state;
  }

  public void reset(AggregationBuffer state) { ((State) state).evaluator.init(); }

  public void iterate(AggregationBuffer state, Object[] values) throws HiveException {
    call(iterate, state, conversion.convertIfNecessary(values));
  }

  public Object terminate(AggregationBuffer state) throws HiveException {
    return call(terminate, state, new Object[0]);
  }

  public Object terminatePartial(AggregationBuffer state) { throw new UnsupportedOperationException(); }

  public void merge(AggregationBuffer state, Object other) { throw new UnsupportedOperationException(); }

  private static Object call(Method method, AggregationBuffer state, Object[] values) throws HiveException {
    try {
      return method.invoke(((State) state).evaluator, values);
    } catch (InvocationTargetException thrown) {
      throw new HiveException(thrown.getCause());
    } catch (IllegalAccessException thrown) {
      throw new HiveException(thrown);
    }
  }
}

/** A UDAF or the evaluator of a GenericUDAFResolver, over all rows of each group. */
public final class Aggregate {
  private final GenericUDAFEvaluator evaluator;
  private final ObjectInspector[] inspectors;
  private final ObjectInspector result;

  public Aggregate(Class kind, String[] types, Object[] constants, boolean isDistinct) throws Exception {
    ObjectInspector[] arguments = Columns.inspectors(types, constants);
    Object resolver = kind.newInstance();
    if (resolver instanceof UDAF) {
      evaluator = new Fold(kind);
    } else if (resolver instanceof GenericUDAFResolver2) {
      evaluator = ((GenericUDAFResolver2) resolver).getEvaluator(
          new SimpleGenericUDAFParameterInfo(arguments, false, isDistinct, false));
    } else {
      TypeInfo[] infos = new TypeInfo[types.length];
      for (int i = 0; i < types.length; i++) infos[i] = TypeInfoUtils.getTypeInfoFromTypeString(types[i]);
      evaluator = ((GenericUDAFResolver) resolver).getEvaluator(infos);
    }
    inspectors = arguments;
    result = evaluator.init(GenericUDAFEvaluator.Mode.COMPLETE, arguments);
  }

  public String resultType() { return result.getTypeName(); }

  /** Group g has the rows from ends[g - 1] up to ends[g]. */
  public Object[] evaluate(Object[][] columns, int[] ends) throws Exception {
    Object[] made = new Object[ends.length];
    Object[] values = new Object[columns.length];
    for (int group = 0, row = 0; group < ends.length; group++) {
      GenericUDAFEvaluator.AggregationBuffer buffer = evaluator.getNewAggregationBuffer();
      for (; row < ends[group]; row++) {
        for (int i = 0; i < values.length; i++) values[i] = Columns.value(inspectors[i], columns[i][row]);
        evaluator.iterate(buffer, values);
      }
      made[group] = ObjectInspectorUtils.copyToStandardJavaObject(evaluator.terminate(buffer), result);
    }
    return made;
  }
}

/** A GenericUDTF at work in one task. */
public final class Table implements Collector {
  private final GenericUDTF function;
  private final StructObjectInspector result;
  private final ObjectInspector[] inspectors;
  private ArrayList collected = new ArrayList();

  public Table(Class kind, String[] types, Object[] constants) throws Exception {
    function = (GenericUDTF) kind.newInstance();
    ArrayList names = new ArrayList();
    ArrayList all = new ArrayList();
    inspectors = Columns.inspectors(types, constants);
    for (int i = 0; i < types.length; i++) { names.add("_col" + i); all.add(inspectors[i]); }
    result = function.initialize(ObjectInspectorFactory.getStandardStructObjectInspector(names, all));
    function.setCollector(this);
  }

  public String resultType() { return result.getTypeName(); }

  public void collect(Object row) { collected.add(ObjectInspectorUtils.copyToStandardJavaObject(row, result)); }

  /** How many rows each row gave; `taken` has them. */
  public int[] process(Object[][] columns, int rows) throws Exception {
    int[] counts = new int[rows];
    for (int row = 0; row < rows; row++) {
      Object[] values = new Object[columns.length];
      for (int i = 0; i < values.length; i++) values[i] = Columns.value(inspectors[i], columns[i][row]);
      int before = collected.size();
      function.process(values);
      counts[row] = collected.size() - before;
    }
    return counts;
  }

  public void close() throws Exception { function.close(); }

  public Object[] taken() {
    Object[] rows = collected.toArray();
    collected = new ArrayList();
    return rows;
  }
}
"""
SOURCE = _CALLS + COLUMNS_SOURCE
"""One compilation unit, so that the classes see each other."""
