"""The alert rules do what they say, and dashboard and rules ask for nothing but what the service tells."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.docker.promtool import promtool
from tests.service.metrics.roles import Metric, roles

GRAFANA = Path(__file__).parents[2] / "docker" / "grafana"
DASHBOARD: dict[str, Any] = json.loads((GRAFANA / "dashboard.json").read_text())
RULES: list[dict[str, Any]] = YAML(typ="safe").load((GRAFANA / "rules.yml").read_text())["groups"][0]["rules"]
TESTS = Path(__file__).with_name("rules_test.yml")
COMPOSE = YAML(typ="safe").load((GRAFANA.parent / "compose.yaml").read_text())
OF_PROMETHEUS = {"up": {"job", "instance"}}
ADDED = {"instance", "job", "le"}
"""Labels that Prometheus adds, or a histogram has."""
SUFFIXES = ("_bucket", "_sum", "_count")


def every() -> dict[str, Metric]:
    return {name: metric for of in roles().values() for name, metric in of.items()}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def asked() -> list[tuple[str, str]]:
    """Each expression, by where it stands."""
    of_panels = [(f"panel {p['title']}", target["expr"]) for p in panels() for target in p["targets"]]
    return of_panels + [(f"alert {rule['alert']}", rule["expr"]) for rule in RULES]


# -- the rules -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(GRAFANA / "rules.yml", tmp_path)
    shutil.copy(TESTS, tmp_path)
    return tmp_path


@pytest.mark.process
def test_each_alert_fires_on_what_it_is_for_and_on_nothing_near_it(folder: Path) -> None:
    done = promtool("test", "rules", TESTS.name, cwd=str(folder))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", [rule["alert"] for rule in RULES])
def test_each_alert_is_tried_both_ways(alert: str) -> None:
    quiet, _, firing = YAML(typ="safe").load(TESTS.read_text())["tests"]
    assert alert in {tried["alertname"] for tried in quiet["alert_rule_test"] if not tried.get("exp_alerts")}
    assert alert in {tried["alertname"] for tried in firing["alert_rule_test"] if tried["exp_alerts"]}


@pytest.mark.process
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("max by (partition) (borrower_memory_oldest", "min by (channel) (borrower_memory_oldest"),
        ("total) >= 1", "total) >= 2"),
        ("> 0.2", "> 0.5"),
        ('mode="enabled", fallback!="no_model"', 'fallback!="no_model"'),
    ],
)
def test_a_rule_that_is_changed_is_found_out(folder: Path, was: str, becomes: str) -> None:
    text = (folder / "rules.yml").read_text()
    assert was in text
    (folder / "rules.yml").write_text(text.replace(was, becomes))
    assert promtool("test", "rules", TESTS.name, cwd=str(folder)).returncode == 1


def test_every_alert_says_what_is_wrong_and_whether_it_can_wait() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        used = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        by = re.search(r"by \(([^)]*)\)", rule["expr"])
        kept = set(re.findall(r"\w+", by[1])) if by else OF_PROMETHEUS["up"] if rule["expr"].startswith("up") else set()
        assert used <= kept, rule["alert"]


# -- what is asked for is told -------------------------------------------------------------------------------------------


def metric_of(name: str) -> Metric | None:
    told = every()
    if name in told:
        return told[name]
    base = next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)
    found = told.get(base)
    return found if found is not None and found.kind == "histogram" else None


@pytest.mark.parametrize(("where", "expression"), asked())
def test_dashboard_and_rules_ask_for_metrics_and_labels_that_there_are(where: str, expression: str) -> None:
    names = set(re.findall(r"\b(?:borrower_memory_\w+|up)\b", expression))
    assert names, where
    labels = set(ADDED)
    for name in names - OF_PROMETHEUS.keys():
        metric = metric_of(name)
        assert metric is not None, f"{where}: there is no {name}"
        labels |= set(metric.labels)
        is_counted = metric.kind in {"counter", "histogram"}
        if re.search(rf"(?:rate|increase)\({name}\b", expression):
            assert is_counted, f"{where}: {name} is no counter"
    by = {label for group in re.findall(r"by \(([^)]*)\)", expression) for label in re.findall(r"\w+", group)}
    within = set(re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)", expression))
    assert by | within <= labels, where


def test_every_metric_is_on_the_dashboard() -> None:
    """What nobody ever looks at need not be told."""
    text = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    shown = {name for name in every() if re.search(rf"\b{name}(?:{'|'.join(SUFFIXES)})?\b", text)}
    assert every().keys() - shown == set()


# -- the dashboard -------------------------------------------------------------------------------------------------------


def test_panels_have_a_place_of_their_own_and_a_name_for_each_line() -> None:
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    taken = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(taken) == len(set(taken))
    assert all(p["x"] + p["w"] <= 24 for p in places)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in panels():
        assert panel["type"] == "stat" or all(target["legendFormat"] for target in panel["targets"])
        for target in panel["targets"]:
            labels = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert all(re.search(rf"by \([^)]*\b{label}\b", target["expr"]) for label in labels - {"instance"})


def test_grafana_finds_the_dashboard_and_prometheus_where_they_are_mounted() -> None:
    mounted = dict(v.split(":")[:2] for v in COMPOSE["services"]["grafana"]["volumes"])
    read = YAML(typ="safe")
    (source,) = read.load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    (provider,) = read.load((GRAFANA / "provisioning/dashboards/borrower-memory.yml").read_text())["providers"]
    assert mounted["./grafana/provisioning"] == "/etc/grafana/provisioning"
    assert mounted["./grafana/dashboard.json"] == f"{provider['options']['path']}/dashboard.json"
    home = COMPOSE["services"]["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == mounted["./grafana/dashboard.json"]
    assert source["url"] == "http://prometheus:9090"
    used = {panel["datasource"]["uid"] for panel in panels()} | {
        target["datasource"]["uid"] for panel in panels() for target in panel["targets"]
    }
    assert used == {source["uid"]}


def test_prometheus_finds_the_rules_where_they_are_mounted() -> None:
    mounted = dict(v.split(":")[:2] for v in COMPOSE["services"]["prometheus"]["volumes"])
    (named,) = YAML(typ="safe").load((GRAFANA.parent / "prometheus.yml").read_text())["rule_files"]
    folder = Path(mounted["./prometheus.yml"]).parent
    assert mounted["./grafana/rules.yml"] == str(folder / named)
