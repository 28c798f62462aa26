"""deploy/ agrees with the code: its metrics, settings and commands exist."""

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from plait import cli
from plait.runtime.settings import Settings
from plait.telemetry.catalogue import METRICS

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
NAMES = {name for metric in METRICS for name in metric.series}
LABELS = {label for metric in METRICS for label in metric.labels} | {"instance", "le"}
USED = re.compile(r"\bplait_[a-z_]+")


def dashboard() -> list[str]:
    """The queries of all panels."""
    made = json.loads((DEPLOY / "grafana/plait.json").read_text())
    return [target["expr"] for panel in made["panels"] for target in panel.get("targets", [])]


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def test_the_dashboard_asks_for_every_metric_and_for_no_other() -> None:
    used = {name for query in dashboard() for name in USED.findall(query)}
    assert used - NAMES == set()
    shown = {metric.name for metric in METRICS if used & set(metric.series)}
    assert {metric.name for metric in METRICS} - shown == set()


def test_panels_do_not_lie_on_each_other_and_have_titles() -> None:
    made = json.loads((DEPLOY / "grafana/plait.json").read_text())
    taken: set[tuple[int, int]] = set()
    for panel in made["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert panel["title"]
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])


def test_queries_group_only_by_labels_that_there_are() -> None:
    for query in [*dashboard(), *(rule["expr"] for rule in rules())]:
        for names in re.findall(r"\bby \(([^)]*)\)", query):
            assert {name.strip() for name in names.split(",")} <= LABELS, query


def test_what_the_installation_tells_is_never_added_up_over_instances() -> None:
    """Every API and the leader tell it: a sum would count it twice."""
    shared = {metric.name for metric in METRICS if metric.told_by == "installation"}
    for query in [*dashboard(), *(rule["expr"] for rule in rules())]:
        for grouped, inside in re.findall(r"\bsum(?: by \(([^)]*)\))? \(+(?:rate|increase)?\(?(plait_[a-z_]+)", query):
            assert inside not in shared or "instance" in grouped, query


def test_every_alert_is_of_metrics_that_exist_and_says_what_to_do() -> None:
    assert len(rules()) > 10
    for rule in rules():
        used = set(USED.findall(rule["expr"]))
        assert used, rule["alert"]
        assert used <= NAMES, rule["alert"]
        assert set(rule["annotations"]) == {"summary", "remedy"}
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
    tested = yaml.safe_load((DEPLOY / "prometheus/alerts_test.yml").read_text())
    series = {name for test in tested["tests"] for one in test["input_series"] for name in USED.findall(one["series"])}
    assert {name for rule in rules() for name in USED.findall(rule["expr"])} <= series, "each is tried by promtool"


def test_the_rules_hold_as_promtool_says() -> None:
    tool = shutil.which("promtool") or ROOT / ".promtool/usr/bin/promtool"
    if not Path(tool).exists():
        pytest.skip("promtool is missing: scripts/promtool fetches it")
    directory = DEPLOY / "prometheus"
    for command in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
        ran = subprocess.run([tool, *command], cwd=directory, capture_output=True, text=True, timeout=600)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_container_starts_with_a_password_that_everybody_knows() -> None:
    """Grafana's would be `admin`; `:?` keeps compose from starting without one."""
    services = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())["services"]
    assert services["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"] == "${GRAFANA_PASSWORD:?}"
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in f"{name} {value}":
                assert re.search(r"\$\{[A-Z_]+PASSWORD:\?\}", value), name


def test_units_and_containers_start_commands_and_name_settings_that_there_are() -> None:
    settings = {f"PLAIT_{name.upper()}" for name in Settings.model_fields} | {"PLAIT_APP"}
    commands = {command.name for command in cli.app.registered_commands}
    compose = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())
    started = []
    for service in compose["services"].values():
        environment = {name for name in service.get("environment", {}) if not name.startswith("GF_")}
        assert environment <= settings | {"POSTGRES_PASSWORD", "POSTGRES_DB"}
        started += [service["command"][0]] if "command" in service else []
    units = sorted((DEPLOY / "systemd").glob("*.service"))
    assert units
    for path in units:
        unit = configparser.ConfigParser(strict=True, interpolation=None)
        unit.optionxform = str  # type: ignore[assignment,method-assign]  # keys as they are written
        unit.read(path)
        assert set(unit.sections()) == {"Unit", "Service", "Install"}
        assert set(re.findall(r"PLAIT_[A-Z_]+", unit["Service"]["ExecStart"])) <= settings
        started.append(unit["Service"]["ExecStart"].split()[1])
    assert set(started) <= commands
    assert {"worker", "leader", "api"} <= set(started)
