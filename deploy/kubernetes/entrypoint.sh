#!/bin/bash
# Spark starts its executors with the argument `executor`, and the rest in the environment. All else is for sharkpy.
set -euo pipefail

if [ "${1:-}" != executor ]; then
    exec tini -s -- sharkpy "$@"
fi

SPARK_HOME=$(python3 -c 'import importlib.util as u; print(u.find_spec("pyspark").submodule_search_locations[0])')
export SPARK_HOME
options=()
number=0
while name="SPARK_JAVA_OPT_$number" && [ -n "${!name+given}" ]; do
    options+=("${!name}")
    number=$((number + 1))
done
classes="$SPARK_HOME/jars/*${SPARK_EXTRA_CLASSPATH:+:$SPARK_EXTRA_CLASSPATH}${HADOOP_CONF_DIR:+:$HADOOP_CONF_DIR}"

exec tini -s -- java ${options[@]+"${options[@]}"} "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "$classes" org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" \
    --executor-id "$SPARK_EXECUTOR_ID" \
    --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" \
    --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
    --podName "$SPARK_EXECUTOR_POD_NAME"
