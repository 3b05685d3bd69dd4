"""The files of deploy/ agree with each other and with the program."""

from __future__ import annotations

import re

import pytest

from recollect import __version__
from tools import chart, cli_reference
from tools.deployment import DEPLOY, compose, instructions, manifests, words

OBJECTS = {each["kind"]: each for each in manifests()}
POD = OBJECTS["Deployment"]["spec"]["template"]["spec"]
SERVE = POD["containers"][0]
GRACE_S = 20  # the default of `recollect serve --grace`
COMPOSE = compose(ADMIN_PASSWORD="a", DATABASE_PASSWORD="d")


def test_the_chart_is_up_to_date() -> None:
    assert chart.stale() == [], "run `make chart` and commit what it writes"


@pytest.mark.parametrize(
    "path", sorted((DEPLOY / "kubernetes").glob("*.yaml")), ids=lambda p: p.stem
)
def test_the_chart_with_its_defaults_is_the_manifest(path: object) -> None:
    manifest = path.read_text("utf-8")  # type: ignore[attr-defined]
    defaults = chart.values(manifest)
    template = (DEPLOY / "helm/templates" / path.name).read_text("utf-8")  # type: ignore[attr-defined]
    assert chart.rendered(template, defaults) == manifest
    for name in defaults:  # the control: another value gives another manifest
        assert chart.rendered(template, {**defaults, name: "other"}) != manifest


def test_every_default_is_in_the_values() -> None:
    lines = (DEPLOY / "helm/values.yaml").read_text("utf-8").splitlines()[1:]
    assert dict(line.split(": ") for line in lines) == chart.values(
        "\n".join(path.read_text("utf-8") for path in (DEPLOY / "kubernetes").glob("*.yaml"))
    )


def test_a_value_with_two_defaults_is_refused() -> None:
    with pytest.raises(SystemExit, match="port has two defaults: 1 and 2"):
        chart.values("a: 1  # value: port\nb: 2  # value: port\n")


def test_every_option_exists() -> None:
    known = cli_reference.page().split("### serve\n")[1].split("\n### ")[0]
    lines = {
        "Dockerfile": [*words("CMD"), *words("HEALTHCHECK")],
        "compose.yaml": COMPOSE["services"]["serve-1"]["command"],
        "deployment.yaml": SERVE["args"],
    }
    for where, line in lines.items():
        for option in (word.partition("=")[0] for word in line if word.startswith("--")):
            assert re.search(f"`{option}[ `]", known), (where, option)


def test_a_container_may_do_little() -> None:
    job = OBJECTS["Job"]["spec"]["template"]["spec"]
    for pod in (POD, job):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["automountServiceAccountToken"] is False
        limits = pod["containers"][0]["securityContext"]
        assert limits["readOnlyRootFilesystem"] is True
        assert limits["allowPrivilegeEscalation"] is False
        assert limits["capabilities"] == {"drop": ["ALL"]}
        assert {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]} == {
            "/data", "/tmp",
        }  # fmt: skip
    assert dict(instructions())["USER"] == "10001:10001"
    for name in ("migrate", "serve-1", "serve-2"):
        assert COMPOSE["services"][name]["read_only"] is True
        assert COMPOSE["services"][name]["cap_drop"] == ["ALL"]


def test_a_slow_store_restarts_nothing_and_stopping_takes_its_time() -> None:
    assert SERVE["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert SERVE["readinessProbe"]["httpGet"]["path"] == "/readyz"
    pause = SERVE["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert POD["terminationGracePeriodSeconds"] > pause + GRACE_S
    assert dict(instructions())["STOPSIGNAL"] == "SIGTERM"
    assert int(COMPOSE["services"]["serve-1"]["stop_grace_period"][:-1]) > GRACE_S


def test_objects_select_the_same_pods() -> None:
    labels = OBJECTS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    for selector in (
        OBJECTS["Deployment"]["spec"]["selector"]["matchLabels"],
        OBJECTS["Service"]["spec"]["selector"],
        OBJECTS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        OBJECTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ):
        assert selector.items() <= labels.items()
    target = OBJECTS["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == OBJECTS["Deployment"]["metadata"]["name"]
    assert (
        OBJECTS["PodDisruptionBudget"]["spec"]["minAvailable"]
        < (OBJECTS["HorizontalPodAutoscaler"]["spec"]["minReplicas"])
    )


def test_one_release_is_meant_everywhere() -> None:
    image = f"recollect:{__version__}"
    assert SERVE["image"] == COMPOSE["services"]["serve-1"]["image"] == image
    assert OBJECTS["Job"]["spec"]["template"]["spec"]["containers"][0]["image"] == image
    assert (
        SERVE["ports"][0]["containerPort"] == OBJECTS["Service"]["spec"]["ports"][0]["port"] == 7357
    )
    assert dict(instructions())["EXPOSE"] == "7357"


def test_the_service_has_the_database_and_not_the_server() -> None:
    services = COMPOSE["services"]
    for name in ("migrate", "serve-1", "serve-2"):
        assert "//recollect:d@" in services[name]["environment"]["RECOLLECT_STORE"]
    assert services["database"]["environment"] == {"POSTGRES_PASSWORD": "a"}
    job = OBJECTS["Job"]["spec"]["template"]["spec"]["containers"][0]
    assert job["env"] == SERVE["env"]
    assert services["serve-1"]["depends_on"]["migrate"]["condition"] == (
        "service_completed_successfully"
    )


def test_what_is_fetched_is_pinned() -> None:
    for kind, rest in instructions():
        if kind == "FROM":
            assert re.search(r":\d+\.\d+\.\d+", rest)
    pins = (DEPLOY / "requirements.txt").read_text("utf-8")
    assert pins.count("==") > 20
    assert "://" not in pins
