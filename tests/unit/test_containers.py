"""`infra/compose.yaml` and `infra/kubernetes` hold no secret, and let a pod reach what it needs only."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from comind import __version__

_INFRA = Path(__file__).parents[2] / "infra"
_SECRETS = (
    *("PASSWORD", "SECRET", "ACCESS_KEY", "CONNECTION_URL", "BACKEND_STORE_URI", "AUTH_STRING"),
    "SIGNING",
)


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """Services of compose.yaml."""
    found: dict[str, Any] = yaml.safe_load((_INFRA / "compose.yaml").read_text())["services"]
    return found


@pytest.fixture(scope="module")
def objects() -> list[dict[str, Any]]:
    """Objects of the manifests, as they stand in their files."""
    files = sorted(path for path in _INFRA.glob("kubernetes/*/*.yaml") if path.stem != "kustomization")
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def _containers(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for each in objects:
        if each["kind"] in ("Deployment", "StatefulSet"):
            yield from each["spec"]["template"]["spec"]["containers"]


def test_compose_holds_no_secret(services: dict[str, Any]) -> None:
    """Values come from a file that is not committed; compose ends with a line where one is missing."""
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            if any(part in name for part in _SECRETS):
                assert "${" in value, name
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${SQL_PASSWORD:?")


def test_servers_of_compose_have_versions_and_health_checks(services: dict[str, Any]) -> None:
    """Each image has a tag, ours that of this version; workers wait for a healthy server."""
    images = {service["image"] for service in services.values()}
    assert images == {f"comind-worker:{__version__}", "postgres:16"}
    for name in ("postgres", "store", "prefect", "mlflow"):
        assert services[name]["healthcheck"]["test"][0] == "CMD"
    for name in ("worker", "worker-gpu"):
        assert services[name]["depends_on"] == {"prefect": {"condition": "service_healthy"}}


def test_manifests_hold_no_secret(objects: list[dict[str, Any]]) -> None:
    """Containers refer to the secret `comind`, which no manifest has."""
    assert "Secret" not in {each["kind"] for each in objects}
    for container in _containers(objects):
        for variable in container["env"]:
            if any(part in variable["name"] for part in _SECRETS):
                reference = variable.get("valueFrom", {}).get("secretKeyRef", {}).get("name")
                assert reference == "comind" or "$(SQL_PASSWORD)" in variable["value"]


def test_pods_reach_what_a_rule_names(objects: list[dict[str, Any]]) -> None:
    """Every pod is denied all by default; nodes reach Prefect and drivers, but neither database."""
    policies = {
        each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "NetworkPolicy"
    }
    everything = {"matchLabels": {"app.kubernetes.io/part-of": "comind"}}
    assert policies["default-deny"] == {
        "podSelector": everything,
        "policyTypes": ["Ingress", "Egress"],
    }
    ports = {port["port"] for rule in policies["worker"]["egress"] for port in rule["ports"]}
    assert ports == {4200, 7443}
    sources = policies["databases"]["ingress"][0]["from"][0]["podSelector"]["matchExpressions"][0]
    assert sources["values"] == ["prefect", "mlflow"]


@pytest.mark.parametrize("overlay", ["base", "gpu"])
def test_kustomize_builds(overlay: str) -> None:
    """Each overlay is whole; pods get the label that the policies select."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    command = ["kubectl", "kustomize", str(_INFRA / "kubernetes" / overlay)]
    built = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    objects = list(yaml.safe_load_all(built))
    images = {container["image"] for container in _containers(objects)}
    assert images == {f"comind-worker:{__version__}", "postgres:16"}
    for each in objects:
        if "template" in each["spec"]:
            labels = each["spec"]["template"]["metadata"]["labels"]
            assert labels["app.kubernetes.io/part-of"] == "comind"


@pytest.mark.parametrize("kind", ["docker", "kubernetes"])
def test_a_pool_has_the_image_of_this_version(kind: str) -> None:
    """Each variable of a base job template is used, and each that is used is described."""
    template = json.loads((_INFRA / "pools" / f"{kind}.json").read_text())
    variables = template["variables"]["properties"]
    assert variables["image"]["default"] == f"comind-worker:{__version__}"
    used = set(re.findall(r"\{\{ (\w+) \}\}", json.dumps(template["job_configuration"])))
    assert used == variables.keys()


def test_pods_of_a_pool_are_nodes(objects: list[dict[str, Any]]) -> None:
    """The network policies select them as they do the pods of a deployment of workers."""
    template = json.loads((_INFRA / "pools" / "kubernetes.json").read_text())
    job = template["job_configuration"]["job_manifest"]["spec"]["template"]
    (policy,) = (
        each["spec"]
        for each in objects
        if each["kind"] == "NetworkPolicy" and each["metadata"]["name"] == "worker"
    )
    assert policy["podSelector"]["matchLabels"].items() <= job["metadata"]["labels"].items()
    assert job["metadata"]["labels"]["app.kubernetes.io/part-of"] == "comind"
    assert not job["spec"]["automountServiceAccountToken"]


@pytest.mark.parametrize(
    ("name", "module", "password"),
    [
        ("prefect", "comind.servers.prefect_app", "PREFECT_SERVER_API_AUTH_STRING"),
        ("mlflow", "comind.adapters.mlflow.tracking_server", "MLFLOW_TRACKING_PASSWORD"),
    ],
)
def test_servers_require_a_password_and_know_their_names(
    name: str, module: str, password: str, services: dict[str, Any], objects: list[dict[str, Any]]
) -> None:
    """A server refuses requests for a host that it was not started with, and without its password."""
    (pod,) = (each for each in _containers(objects) if each["name"] == name)
    for command in (services[name]["command"].split(), pod["command"]):
        assert command[:4] == ["python", "-m", module, "0.0.0.0"]
        assert name in command[5:]
    assert services[name]["environment"][password].endswith(":?see the head of this file}")
    assert password in {each["name"] for each in pod["env"]}
    probe = pod["readinessProbe"]["httpGet"]  # of the pod's address, which is no name of the server
    assert probe["httpHeaders"] == [{"name": "Host", "value": "localhost"}]


def test_workers_have_the_string_of_prefect(
    services: dict[str, Any], objects: list[dict[str, Any]]
) -> None:
    """Without it Prefect's server refuses them."""
    assert "PREFECT_API_AUTH_STRING" in services["worker"]["environment"]
    workers = [each for each in _containers(objects) if each["name"] == "worker"]
    assert all("PREFECT_API_AUTH_STRING" in str(each["env"]) for each in workers)
