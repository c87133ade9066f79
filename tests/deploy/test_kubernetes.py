"""Files for Kubernetes: manifests that fit its schemas and each other, and the executors that Spark makes of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kubernetes_validate", reason="the package kubernetes-validate is not installed")

import kubernetes_validate
import yaml

from sharkpy.base.java import find_java
from sharkpy.base.settings import STORE_MEMORY_LIMIT, TASK_MEMORY, Conf
from sharkpy.cli.main import _parser
from sharkpy.execution.spark.jvm_process import pyspark_home, start_jvm
from sharkpy.execution.spark.start import spark_conf
from tests.test_layers import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
MANIFESTS = [one for one in yaml.safe_load_all((FOLDER / "sharkpy.yaml").read_text()) if one]
VERSIONS = ("1.30", "1.37")
SET_BY_KUBERNETES = {"POD_NAME": "sharkpy-0", "POD_NAMESPACE": "tests", "POD_IP": "10.1.2.3"}
MEMORY = re.compile(r"(\d+)(Mi|Gi)")


def manifest(kind: str) -> dict[str, Any]:
    (found,) = (one for one in MANIFESTS if one["kind"] == kind)
    return dict(found)


def server() -> tuple[dict[str, Any], dict[str, Any]]:
    """Specification of the server's pod, and its container."""
    pod = manifest("Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    return pod, container


def settings() -> dict[str, str]:
    """Settings of the server's command line, with what Kubernetes puts in."""
    _, container = server()
    found = dict(one.removeprefix("--set=").split("=", 1) for one in container["args"] if one.startswith("--set="))
    return {
        key: re.sub(r"\$\((\w+)\)", lambda match: SET_BY_KUBERNETES[match[1]], value) for key, value in found.items()
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("number", range(len(MANIFESTS)))
def test_a_manifest_fits_its_schema(number: int, version: str) -> None:
    kubernetes_validate.validate(MANIFESTS[number], version, strict=True)


def test_a_wrong_manifest_does_not() -> None:
    wrong = json.loads(json.dumps(manifest("Deployment")))
    wrong["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


def test_names_lead_somewhere() -> None:
    pod, container = server()
    account = manifest("ServiceAccount")["metadata"]["name"]
    assert pod["serviceAccountName"] == account
    binding = manifest("RoleBinding")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account}]
    assert binding["roleRef"]["name"] == manifest("Role")["metadata"]["name"]
    claim = manifest("PersistentVolumeClaim")["metadata"]["name"]
    assert {"claimName": claim} in [volume.get("persistentVolumeClaim") for volume in pod["volumes"]]
    assert {one["name"] for one in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    labels = manifest("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert manifest("Service")["spec"]["selector"] == labels
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert {one["targetPort"]: one["port"] for one in manifest("Service")["spec"]["ports"]} == ports
    named = {name for one in container["args"] for name in re.findall(r"\$\((\w+)\)", one)}
    assert named <= {one["name"] for one in container["env"]} == set(SET_BY_KUBERNETES)


def test_the_server_knows_its_arguments() -> None:
    _, container = server()
    options = _parser().parse_args(container["args"])
    assert (options.command, options.port, options.auth) == ("server", 10_000, "password")
    assert options.master.startswith("k8s://")
    assert [one["containerPort"] for one in container["ports"]] == [options.port, options.web_port]
    mounts = {one["mountPath"] for one in container["volumeMounts"]}
    assert any(str(options.warehouse).startswith(f"{mount}/") for mount in mounts)
    assert str(options.password_file.parent) in mounts
    Conf(settings())


def test_the_image_has_the_whole_package() -> None:
    """The packages that are linked into ours, and the other files that the build reads."""
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text().split()
    kept = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    links = (link.resolve() for link in (ROOT / "sharkpy").iterdir() if link.is_symlink())
    linked = {link.relative_to(ROOT).parts[0] for link in links}
    assert linked | {"sharkpy", "pyproject.toml", "README.md", "LICENSE", "constraints.txt", "deploy"} == kept
    copied = [line.split()[1] for line in (FOLDER / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")]
    assert all((ROOT / one).exists() for one in copied)


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """JVM of its own: that of the suite has the resources of its own executors."""
    folder = tmp_path_factory.mktemp("jvm")
    process = start_jvm(find_java(), folder, 256 << 20, spark_conf("local[1]", folder, {}))
    try:
        yield process.gateway.jvm
    finally:
        process.stop()


@pytest.fixture
def executor(jvm: Any, tmp_path: Path) -> dict[str, Any]:
    """Pod that Spark makes for an executor."""
    conf = jvm.org.apache.spark.SparkConf(False)
    master = next(one.partition("=")[2] for one in server()[1]["args"] if one.startswith("--master="))
    for key, value in {**spark_conf(master, tmp_path, settings()), "spark.driver.port": "7078"}.items():
        conf.set(key, value)
    kubernetes = jvm.org.apache.spark.deploy.k8s.KubernetesConf
    wanted = kubernetes.createExecutorConf(conf, "1", "app-1", jvm.scala.Option.apply(None), 0)
    profiles = getattr(getattr(jvm.org.apache.spark.resource, "ResourceProfile$"), "MODULE$")
    profile = profiles.getOrCreateDefaultProfile(conf)
    manager = jvm.org.apache.spark.SecurityManager(conf, jvm.scala.Option.apply(None), None)
    builder = jvm.org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder()
    made = builder.buildFromFeatures(wanted, manager, None, profile).pod()
    as_json = jvm.io.fabric8.kubernetes.client.utils.Serialization.asJson
    pod: dict[str, Any] = json.loads(as_json(made.pod()))
    pod["spec"]["containers"] = [json.loads(as_json(made.container()))]
    return pod


def in_bytes(text: str) -> int:
    match = MEMORY.fullmatch(text)
    assert match is not None, text
    return int(match[1]) << (20 if match[2] == "Mi" else 30)


@pytest.mark.spark
def test_executors_that_spark_makes(executor: dict[str, Any]) -> None:
    for version in VERSIONS:
        kubernetes_validate.validate(executor, version, strict=True)
    (container,) = executor["spec"]["containers"]
    pod, its_driver = server()
    assert container["image"] == its_driver["image"]
    assert container["args"] == ["executor"]
    volumes = {volume["name"]: volume for volume in executor["spec"]["volumes"]}
    places = {mount["mountPath"]: volumes[mount["name"]] for mount in container["volumeMounts"]}
    claim = manifest("PersistentVolumeClaim")["metadata"]["name"]
    assert places["/data"]["persistentVolumeClaim"]["claimName"] == claim
    shared = places["/dev/shm"]["emptyDir"]
    assert shared["medium"] == "Memory"
    memory = in_bytes(container["resources"]["limits"]["memory"])
    conf = Conf(settings())
    blocks, room = conf.value(STORE_MEMORY_LIMIT), in_bytes(shared["sizeLimit"])
    tasks = int(conf["spark.executor.cores"]) * conf.value(TASK_MEMORY)
    assert blocks <= room
    assert room + tasks + (1 << 30) <= memory, "a pod that takes more than its memory is killed"
    assert {volume.get("persistentVolumeClaim", {}).get("claimName") for volume in pod["volumes"]} >= {claim}


def run_entrypoint(folder: Path, *arguments: str, **variables: str) -> list[str]:
    """Arguments with which the image's entry point starts a program; `tini` only writes them down."""
    program = folder / "tini"
    program.write_text('#!/bin/bash\nprintf "%s\\0" "$@"\n')
    program.chmod(0o755)
    environ = {"PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}", **variables}
    command = ["bash", str(FOLDER / "entrypoint.sh"), *arguments]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\0")[:-1]


def test_the_entry_point_runs_sharkpy(tmp_path: Path) -> None:
    assert run_entrypoint(tmp_path, "server", "--port=1 2") == ["-s", "--", "sharkpy", "server", "--port=1 2"]


@pytest.mark.spark
def test_the_entry_point_starts_an_executor(executor: dict[str, Any], tmp_path: Path) -> None:
    """With no more than what Spark gives its container."""
    (container,) = executor["spec"]["containers"]
    given = {one["name"]: one.get("value", f"<{one['name']}>") for one in container["env"]}
    given["SPARK_JAVA_OPT_1"] = "-Da=b c"
    words = run_entrypoint(tmp_path, *container["args"], **given)
    assert words[:3] == ["-s", "--", "java"]
    assert "-Da=b c" in words
    assert "-Xmx1g" in words or "-Xmx1024m" in words
    assert words[words.index("-cp") + 1] == f"{pyspark_home()}/jars/*"
    rest = words[words.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend") + 1 :]
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    assert options["--driver-url"] == "spark://CoarseGrainedScheduler@10.1.2.3:7078"
    assert (options["--executor-id"], options["--cores"], options["--app-id"]) == ("1", "4", "app-1")
    assert (options["--hostname"], options["--podName"]) == ("<SPARK_EXECUTOR_POD_IP>", "<SPARK_EXECUTOR_POD_NAME>")
