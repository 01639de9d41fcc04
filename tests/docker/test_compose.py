"""The compose file and Prometheus' configuration: they parse, fit each other, and start what there is to start."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from service import settings
from service.__main__ import commands
from service.settings import PREFIX, Settings
from tests.docker.dockerfile import instructions
from tests.docker.promtool import promtool
from tests.together import broker

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE = YAML(typ="safe").load((DOCKER / "compose.yaml").read_text())
PROMETHEUS = YAML(typ="safe").load((DOCKER / "prometheus.yml").read_text())
SERVICES: Mapping[str, Any] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "borrower-memory"}
PROCESSES = {"serve", "writer", "proposer", "sweeper"}
"""The roles that run until they are stopped (DESIGN 16)."""
REQUIRED = {"POSTGRES_PASSWORD": "0123456789abcdef", "BORROWER_MEMORY_SECRET_KEYS": "a" * 43}
CHECK_SECONDS = 120


def interpolated(text: str, given: Mapping[str, str]) -> str:
    """As compose does it, for the forms that we use: `${NAME:?why}` and `${NAME:-default}`."""

    def value(found: re.Match[str]) -> str:
        name, how, rest = found.groups()
        if name in given:
            return given[name]
        assert how == "-", f"{name} is required: {rest}"
        return rest

    return re.sub(r"\$\{([A-Z_]+):([?-])([^}]*)\}", value, text)


def settings_of(service: Mapping[str, Any]) -> Settings:
    told = {name: interpolated(value, REQUIRED) for name, value in service["environment"].items()}
    return settings.load(told | image_environment())


def image_environment() -> dict[str, str]:
    told = [one for one in instructions((DOCKER / "Dockerfile").read_text()) if one.word == "ENV"]
    pairs = [pair.partition("=") for one in told for pair in one.words]
    return {name: value for name, _, value in pairs if name.startswith(PREFIX)}


# -- it parses -----------------------------------------------------------------------------------------------------------


def checked(file: Path) -> subprocess.CompletedProcess[str]:
    """By the specification's own schema, which the checker brings along."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=CHECK_SECONDS, check=False)


@pytest.mark.process
def test_the_compose_file_is_one_by_the_specifications_schema(tmp_path: Path) -> None:
    done = checked(DOCKER / "compose.yaml")
    assert done.returncode == 0, done.stdout
    broken = tmp_path / "compose.yaml"
    broken.write_text((DOCKER / "compose.yaml").read_text().replace("stop_grace_period", "stop_grace"))
    assert checked(broken).returncode == 1


@pytest.mark.process
def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    shutil.copy(DOCKER / "grafana/rules.yml", tmp_path)
    for text, code in (
        ((DOCKER / "prometheus.yml").read_text(), 0),
        ((DOCKER / "prometheus.yml").read_text().replace("refresh_interval", "refresh"), 1),
    ):
        file = tmp_path / "prometheus.yml"
        file.write_text(text)
        done = promtool("check", "config", str(file))
        assert done.returncode == code, done.stdout + done.stderr


# -- it fits -------------------------------------------------------------------------------------------------------------


def test_every_role_there_is_has_a_service_and_no_service_has_another() -> None:
    told = [service["command"] for service in OURS.values()]
    assert sorted(word for (word,) in told) == sorted({"migrate", *PROCESSES & commands.commands.keys()})
    assert SERVICES["writer"]["deploy"]["replicas"] == 2
    assert SERVICES.keys() - OURS.keys() == {"kafka", "postgres", "prometheus", "grafana"}


def test_all_of_ours_are_one_image_of_this_checkout_with_the_same_settings() -> None:
    for service in OURS.values():
        assert service["build"] == {"context": "..", "dockerfile": "docker/Dockerfile"}
        assert service["environment"] == OURS["migrate"]["environment"]
        assert (service["init"], service["read_only"], service["cap_drop"]) == (True, True, ["ALL"])
    loaded = settings_of(OURS["api"])
    assert loaded.uses_kafka
    assert loaded.database.postgres_dsn is not None
    assert f"@postgres:5432/{SERVICES['postgres']['environment']['POSTGRES_DB']}" in loaded.database.postgres_dsn
    assert loaded.kafka_bootstrap_servers == ("kafka:9092",)
    assert loaded.secret_keys is not None


def test_what_is_secret_is_asked_for_and_stands_nowhere() -> None:
    for name in REQUIRED:
        without = {key: value for key, value in REQUIRED.items() if key != name}
        with pytest.raises(AssertionError, match=f"{name} is required"):
            interpolated((DOCKER / "compose.yaml").read_text(), without)
    assert (DOCKER.parent / ".gitignore").read_text().splitlines().count("docker/.env") == 1


def test_the_secrets_that_the_readme_makes_are_taken(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on the PATH")
    (tmp_path / "docker").mkdir()
    made = re.search(r"^printf .*?docker/\.env$", (DOCKER / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert made is not None
    subprocess.run(["sh", "-ec", made[0]], cwd=tmp_path, check=True, capture_output=True, timeout=CHECK_SECONDS)
    lines = (tmp_path / "docker/.env").read_text().splitlines()
    given = {name: value for name, _, value in (line.partition("=") for line in lines)}
    assert given.keys() == REQUIRED.keys()
    told = {name: interpolated(value, given) for name, value in OURS["api"]["environment"].items()}
    assert settings.load(told).secret_keys is not None


def test_nothing_of_ours_begins_before_the_tables_and_topics_are_there() -> None:
    ready = {"kafka": {"condition": "service_healthy"}, "postgres": {"condition": "service_healthy"}}
    assert OURS["migrate"]["depends_on"] == ready
    for name, service in OURS.items():
        if name != "migrate":
            assert service["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
            assert service["restart"] == "unless-stopped"
    for name in ready:
        assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


def test_each_is_asked_on_the_port_that_it_answers_on_by_its_container_and_by_prometheus() -> None:
    loaded = settings_of(OURS["api"])
    (image,) = [one for one in instructions((DOCKER / "Dockerfile").read_text()) if one.word == "HEALTHCHECK"]
    jobs = {job["job_name"]: job["dns_sd_configs"][0] for job in PROMETHEUS["scrape_configs"]}
    assert jobs.keys() == OURS.keys() - {"migrate"}
    for name, job in jobs.items():
        port = loaded.port if OURS[name]["command"] == ["serve"] else loaded.metrics_port
        assert (job["names"], job["port"]) == ([name], port)
        asked = " ".join(OURS[name].get("healthcheck", {}).get("test", [image.text]))
        assert f"('127.0.0.1', {port}, timeout=4)" in asked
    assert OURS["api"]["ports"] == [f"127.0.0.1:{loaded.port}:{loaded.port}"]


def test_nothing_is_published_beyond_loopback() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_kafka_is_the_version_that_is_tested_and_every_image_has_one() -> None:
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{broker.version()}"
    for name in SERVICES.keys() - OURS.keys():
        assert re.fullmatch(r"[a-z/]+:v?\d[\w.-]*", SERVICES[name]["image"])


def test_what_is_kept_is_kept_in_volumes() -> None:
    used = {v.partition(":")[0] for s in SERVICES.values() for v in s.get("volumes", []) if not v.startswith(".")}
    assert used == COMPOSE["volumes"].keys() == {"kafka", "postgres", "prometheus"}


# -- Kafka starts with it ------------------------------------------------------------------------------------------------


def kafka_run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kafka_run", broker.KAFKA / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.process
@pytest.mark.timeout(900)
def test_a_real_broker_starts_with_these_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its image reads them: `KAFKA_LOG_DIRS` is `log.dirs`. Ports and folders are this machine's."""
    given = SERVICES["kafka"]["environment"]
    assert len(given["CLUSTER_ID"]) == 22
    run = kafka_run()
    try:
        run.check()
    except run.Unavailable as reason:
        if os.environ.get("CI", "").lower() not in {"", "0", "false"}:
            pytest.fail(f"CI requires a real Kafka broker: {reason}")
        pytest.skip(f"no Kafka broker: {reason}")
    clients, controllers = run.free_ports(2)
    here = {
        "PLAINTEXT://:9092": f"PLAINTEXT://127.0.0.1:{clients}",
        "CONTROLLER://:9093": f"CONTROLLER://127.0.0.1:{controllers}",
        "kafka:9092": f"127.0.0.1:{clients}",
        "kafka:9093": f"127.0.0.1:{controllers}",
        "/var/lib/kafka/data": str(tmp_path / "data"),
    }
    text = ""
    for name, value in given.items():
        for there, ours in here.items():
            value = value.replace(there, ours)
        if name.startswith("KAFKA_"):
            text += f"{name.removeprefix('KAFKA_').lower().replace('_', '.')}={value}\n"
    assert "kafka:" not in text
    monkeypatch.setattr(run, "settings", lambda *_: [text])
    (properties,) = run.prepare(tmp_path, 1)
    node = broker.Process(properties)
    brokers = broker.Brokers(f"127.0.0.1:{clients}", "compose", {1: node})
    try:
        node.start()
        brokers.wait_until_up()
        assert brokers.members() == {1}
    finally:
        brokers.close()
