"""The files in deploy/: what they name is there, and they agree with each other and with the settings."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import pytest
import yaml
from pydantic import BaseModel
from sqlalchemy.engine import make_url
from typer.core import TyperGroup
from typer.main import get_command

from bots.cli import app
from bots.cli.backup import VARIABLE
from bots.paths import data_root
from bots.settings import SECRETS_FOLDER, CafiSettings, read_settings
from tests.compose_files import composed

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and "secrets" not in path.parts)
TRIED = {
    *("Caddyfile", "prometheus.yml", "prometheus.workers.yml", "alerts.yml", "cafi.yaml", ".env.example"),
    "make-secrets.sh",
}
"""Those that have been run or read by their own program; the others say that nobody has built them yet."""
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
CADDYFILE = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
COMPOSE, MANY = composed("compose.yaml"), composed("compose.yaml", "compose.workers.yaml")
"""One process, and many."""
SERVICES: dict[str, Any] = COMPOSE["services"]
MANIFESTS: dict[str, Any] = {
    one["kind"]: one
    for path in (DEPLOY / "kubernetes").glob("*.yaml")
    for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
}
POD: dict[str, Any] = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
OF_WORKERS: dict[str, Any] = {
    f"{one['kind']} {one['metadata']['name']}": one
    for path in (DEPLOY / "kubernetes" / "workers").glob("*.yaml")
    for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
}
MANY_PODS: dict[str, dict[str, Any]] = {
    name: one["spec"]["template"]["spec"] for name, one in OF_WORKERS.items() if "template" in one["spec"]
}
HOME = "/var/lib/cafi"
PORT, FIGURES = 8080, 8090
ACCOUNT = 10001


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in os.environ if one.upper().startswith(("CAFI_", "OPENAI_"))]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the script makes; run twice."""
    folder = tmp_path_factory.mktemp("deploy") / "secrets"
    for _ in range(2):
        subprocess.run([DEPLOY / "make-secrets.sh", folder], check=True, capture_output=True)
    return folder


def unit(name: str) -> dict[str, list[str]]:
    """What a unit sets, by key; a key may stand several times."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "systemd" / name).read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def is_setting(name: str) -> bool:
    """Whether a variable of this name sets something."""
    model: Any = CafiSettings
    for part in name.removeprefix("CAFI_").lower().split("__"):
        if isinstance(model, type) and issubclass(model, BaseModel) and part in model.model_fields:
            wanted = model.model_fields[part].annotation
            model = next((one for one in (wanted, *get_args(wanted)) if isinstance(one, type)), None)
        elif model is not dict:
            return False
    return True


# --- What is named is there -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_a_file_can_be_read_and_says_whether_anybody_has_tried_it(path: Path) -> None:
    """YAML and JSON can be parsed, and what nobody has built or started says so in its first lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".yaml", ".yml"}:
        assert list(yaml.safe_load_all(text))
    if path.suffix == ".json":
        assert json.loads(text)
    if path.name not in TRIED and path.suffix != ".dockerignore":
        assert re.search(r"Not (built|started|applied|loaded|used) by us yet|Not started by us", text[:400])


def test_every_variable_that_is_named_is_a_setting() -> None:
    """Each CAFI_ variable or secret file in deploy/ and on its pages sets something that the settings know."""
    pages = [ROOT / "docs" / "operations.md", ROOT / "docs" / "howto" / "deploy.md"]
    named = {
        name for path in (*FILES, *pages) for name in re.findall(r"\bCAFI_[A-Z0-9_]*[A-Z0-9]", path.read_text("utf-8"))
    }
    assert len(named) > 8
    assert [name for name in sorted(named - {SECRETS_FOLDER, VARIABLE}) if not is_setting(name)] == []


def test_every_cafi_command_is_one_that_there_is() -> None:
    """Units, containers and pages call commands of `cafi` that exist, with options that those commands have."""
    lines = [
        *(value for path in (DEPLOY / "systemd").glob("*.service") for value in unit(path.name)["ExecStart"]),
        *(shlex.join(["cafi", *MANY["services"][one]["command"]]) for one in ("cafi", "worker", "migrate")),
        *(shlex.join(["cafi", *one["containers"][0]["args"]]) for one in (POD, *MANY_PODS.values())),
    ]
    for page in ("docs/operations.md", "docs/howto/deploy.md"):
        lines += re.findall(r"\bcafi (?:check|backup|eval|migrate|restore)\b[^`|\n]*", (ROOT / page).read_text("utf-8"))
    assert len(lines) > 15
    for line in lines:
        command: Any = get_command(app)
        for word in shlex.split(line)[1:]:
            if word.startswith("-"):
                assert word in {option for one in command.params for option in one.opts}, line
            elif isinstance(command, TyperGroup):
                assert word in command.commands, line
                command = command.commands[word]


@pytest.mark.parametrize("project", [COMPOSE, MANY], ids=["one", "many"])
def test_what_compose_names_is_there(project: dict[str, Any], secrets: Path) -> None:
    """Files, secrets, networks and volumes that a service uses exist or are declared, and none is declared for nobody."""
    used: dict[str, set[str]] = {"secrets": set(), "networks": set(), "volumes": set()}
    for service in project["services"].values():
        used["secrets"] |= set(service.get("secrets", ()))
        used["networks"] |= set(service["networks"])
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists(), source
                assert volume.endswith(":ro")
            else:
                used["volumes"].add(source)
        assert set(service.get("depends_on", ())) <= project["services"].keys()
    assert all(names == project[kind].keys() for kind, names in used.items())
    assert {Path(one["file"]).name for one in COMPOSE["secrets"].values()} == {one.name for one in secrets.iterdir()}
    build = SERVICES["cafi"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Containerfile"
    assert f"--tag {SERVICES['cafi']['image']} " in CONTAINERFILE
    variables = set(re.findall(r"\$\{(\w+):\?\}", (DEPLOY / "compose.yaml").read_text("utf-8")))
    assert variables == set(re.findall(r"^(\w+)=", (DEPLOY / ".env.example").read_text("utf-8"), re.M))
    assert set(re.findall(r"\{\$(\w+)\}", CADDYFILE)) == SERVICES["proxy"]["environment"].keys()


def test_what_a_container_reads_is_mounted_where_it_looks() -> None:
    """Each path that a command, a configuration or a provisioning file names lies in something that is mounted there."""
    configured = {
        "cafi": shlex.join(SERVICES["cafi"]["command"]),
        "prometheus": shlex.join(SERVICES["prometheus"]["command"])
        + (DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"),
        "grafana": (DEPLOY / "grafana" / "provisioning" / "dashboards" / "cafi.yaml").read_text("utf-8"),
    }
    workers = shlex.join(MANY["services"]["prometheus"]["command"])
    workers += (DEPLOY / "prometheus" / "prometheus.workers.yml").read_text("utf-8")
    read = [(SERVICES[name], text) for name, text in configured.items()]
    read += [(MANY["services"]["prometheus"], workers)]
    read += [(MANY["services"][one], shlex.join(MANY["services"][one]["command"])) for one in ("worker", "migrate")]
    for service, text in read:
        mounted = [volume.split(":")[1] for volume in service["volumes"]]
        mounted += [f"/run/secrets/{one}" for one in service.get("secrets", ())]
        paths = re.findall(r"(?<![\w:/])/(?:etc|run|prometheus)[\w./-]*", text)
        assert paths
        assert [path for path in paths if not any(Path(path).is_relative_to(one) for one in mounted)] == []


def test_the_image_is_made_of_what_there_is() -> None:
    """The image copies what the wheel is made of and no more, installs extras that exist, and hashes are required."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    copied = {one for line in re.findall(r"^COPY (?!--)(.+) \S+$", CONTAINERFILE, re.M) for one in line.split()}
    wheel = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"])
    assert copied == wheel | {"requirements.lock", "pyproject.toml", "LICENSE"}
    assert all((ROOT / one).exists() for one in copied)
    let_in = re.findall(r"^!(.+)", (DEPLOY / "Containerfile.dockerignore").read_text("utf-8"), re.M)
    assert set(let_in) == copied
    extras = re.search(r'"cafi\[(.+)\]"', CONTAINERFILE)
    assert extras is not None
    assert set(extras[1].split(",")) <= project["project"]["optional-dependencies"].keys()
    assert "--require-hashes" in CONTAINERFILE
    first, last = CONTAINERFILE.split("\nFROM ")[1:]
    assert first.split(" ")[0] == last.split("\n")[0], "a virtual environment belongs to one Python"
    assert "hatchling" not in last and "uninstall" in last


# --- It agrees --------------------------------------------------------------------------------------------------------


def test_ports_agree() -> None:
    """CAFI listens where health checks, proxy, probes and policies look for it; Prometheus asks a port that is served."""
    health = f"http://127.0.0.1:{PORT}/health"
    assert f"CAFI_WEB__PORT={PORT}" in CONTAINERFILE and f"\nEXPOSE {PORT}\n" in CONTAINERFILE
    assert health in CONTAINERFILE and health in SERVICES["cafi"]["healthcheck"]["test"][-1]
    assert set(re.findall(r"reverse_proxy (\w+:\d+)", CADDYFILE)) == {f"cafi:{PORT}", "grafana:3000"}
    assert set(re.findall(r"dynamic a (.+)", CADDYFILE)) == {f"cafi {PORT}"}
    ports = {one["name"]: one["containerPort"] for one in POD["containers"][0]["ports"]}
    assert ports == {"web": PORT}
    assert MANIFESTS["Service"]["spec"]["ports"][0]["targetPort"] == "web"
    assert MANIFESTS["NetworkPolicy"]["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": PORT}]
    scrape = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))["scrape_configs"][0]
    host, _, port = scrape["static_configs"][0]["targets"][0].partition(":")
    assert host in SERVICES and f"\n:{port} {{\n" in CADDYFILE
    assert not any(port in published for published in SERVICES["proxy"]["ports"])
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text("utf-8"))
    assert urlsplit(source["datasources"][0]["url"]).hostname in SERVICES


def test_many_processes_are_asked_for_figures_where_they_serve_them() -> None:
    """Prometheus, checks and probes ask each process at its health.port, which no proxy reaches and nobody publishes."""
    services = MANY["services"]
    many = {name for name, one in services.items() if one["image"] == "cafi:local"}
    assert many == {"migrate", "cafi", "worker"}
    for name in many:
        assert services[name]["environment"]["CAFI_HEALTH__PORT"] == str(FIGURES)
    scrape = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.workers.yml").read_text("utf-8"))["scrape_configs"]
    assert [one["job_name"] for one in scrape] == ["cafi"]
    (asked,) = scrape[0]["dns_sd_configs"]
    assert (set(asked["names"]), asked["port"]) == ({"cafi", "worker"}, FIGURES)
    assert scrape[0]["authorization"] == {"credentials_file": "/run/secrets/CAFI_WEB__OPERATOR_TOKEN"}
    at = {name for name, one in services.items() if "figures" in one["networks"]}
    assert at == {"cafi", "worker", "prometheus"}, "the proxy would come from an address that is not trusted"
    assert f":{FIGURES}/readyz" in services["worker"]["healthcheck"]["test"][-1]
    one = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
    many_asked = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.workers.yml").read_text("utf-8"))
    assert one["global"] == many_asked["global"] and one["rule_files"] == many_asked["rule_files"]


def test_a_worker_is_what_the_one_process_is_but_for_what_it_does() -> None:
    """Containers and pods of many have account, rights, secrets and bounds of the one, and start after `migrate` has ended."""
    services, own = (
        MANY["services"],
        {"command", "environment", "networks", "depends_on", "healthcheck", "deploy", "build"},
    )
    for name in ("migrate", "worker"):
        differs = own | ({"restart"} if name == "migrate" else set())
        assert {key: value for key, value in services[name].items() if key not in differs} == {
            key: value for key, value in SERVICES["cafi"].items() if key not in differs
        }
        assert services[name]["environment"] == services["cafi"]["environment"]
    assert SERVICES["cafi"]["environment"].items() < services["cafi"]["environment"].items()
    for name in ("cafi", "worker"):
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert services[name]["deploy"]["replicas"] > 1
    for pod in MANY_PODS.values():
        for key in ("securityContext", "automountServiceAccountToken", "enableServiceLinks"):
            assert pod[key] == POD[key]
        container, its = pod["containers"][0], POD["containers"][0]
        for key in ("image", "securityContext", "volumeMounts"):
            assert container[key] == its[key]
        assert container["resources"]["limits"] == its["resources"]["limits"]


def test_accounts_and_the_one_writable_folder_agree() -> None:
    """Image, compose file, manifests and units run CAFI under one account, with one folder in which it may write."""
    assert f"\nUSER {ACCOUNT}:{ACCOUNT}\n" in CONTAINERFILE and f"--uid {ACCOUNT} " in CONTAINERFILE
    assert SERVICES["cafi"]["user"] == f"{ACCOUNT}:{ACCOUNT}"
    context = POD["securityContext"]
    assert {context[one] for one in ("runAsUser", "runAsGroup", "fsGroup")} == {ACCOUNT} and context["runAsNonRoot"]
    assert f"\nWORKDIR {HOME}\nVOLUME {HOME}\n" in CONTAINERFILE and f"HOME={HOME} " in CONTAINERFILE
    assert [one for one in SERVICES["cafi"]["volumes"] if not one.endswith(":ro")] == [f"state:{HOME}"]
    mounts = {one["mountPath"]: one for one in POD["containers"][0]["volumeMounts"]}
    assert {path for path, one in mounts.items() if not one.get("readOnly")} == {HOME, "/tmp"}  # noqa: S108 in a container
    assert {one["name"] for one in mounts.values()} == {one["name"] for one in POD["volumes"]}
    for name in ("cafi.service", "cafi-worker@.service", "cafi-migrate.service", "cafi-backup.service"):
        assert unit(name)["WorkingDirectory"] == [HOME] and unit(name)["StateDirectory"] == ["cafi"]
        assert unit(name)["User"] == ["cafi"] and unit(name)["ProtectSystem"] == ["strict"]


def test_a_worker_as_a_unit_is_as_closed_as_the_receiver() -> None:
    """What the unit of the one process may not do, those of workers and of their preparation may not; they stop together."""
    own = {"Description", "Documentation", "ExecStart", "Environment", "WantedBy", "After", "Conflicts", "PartOf"}
    once = {"Type", "Restart", "RestartSec", "TimeoutStopSec"}
    first, worker, migrate = (unit(f"{one}.service") for one in ("cafi", "cafi-worker@", "cafi-migrate"))
    assert {key: worker[key] for key in worker if key not in own} == {
        key: first[key] for key in first if key not in own
    }
    assert {key: migrate[key] for key in migrate if key not in own | once} == {
        key: first[key] for key in first if key not in own | once
    }
    for one in (first, worker):
        assert one["Conflicts"] == ["cafi-migrate.service"] and "cafi-migrate.service" in one["After"][0]
        assert one["PartOf"] == ["cafi.target"]
    assert worker["WantedBy"] == ["cafi.target"] and unit("cafi.target")["Wants"] == ["cafi.service"]


@pytest.mark.parametrize("project", [COMPOSE, MANY], ids=["one", "many"])
def test_nothing_runs_with_more_rights_than_it_needs(project: dict[str, Any]) -> None:
    """Every container has a read-only file system, no capability but the proxy's, bounds of memory without swap, and only
    the proxy is published; databases and monitoring reach nobody outside."""
    for name, service in project["services"].items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"] and service["logging"]["options"]["max-size"]
        assert service["mem_limit"] == service["memswap_limit"]
        assert ("ports" in service, "cap_add" in service) == ((True, True) if name == "proxy" else (False, False))
        assert "privileged" not in service and "network_mode" not in service
    assert {name for name, one in project["networks"].items() if not one.get("internal")} == {"front"}
    reached = {name for name, one in project["services"].items() if "front" in one["networks"]}
    assert reached - {"worker"} == {"cafi", "proxy"}
    container = POD["containers"][0]["securityContext"]
    assert container["readOnlyRootFilesystem"] and not container["allowPrivilegeEscalation"]
    assert container["capabilities"] == {"drop": ["ALL"]} and not POD["automountServiceAccountToken"]
    spec = MANIFESTS["Deployment"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_manifests_name_each_other() -> None:
    """Service, policy and Deployment mean the same pods, and the volumes and the host are those that are declared."""
    labels = MANIFESTS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    selected = [
        MANIFESTS["Deployment"]["spec"]["selector"]["matchLabels"],
        MANIFESTS["Service"]["spec"]["selector"],
        MANIFESTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ]
    assert selected == [labels] * 3
    volumes = {one["name"]: one for one in POD["volumes"]}
    assert volumes["settings"]["configMap"]["name"] == MANIFESTS["ConfigMap"]["metadata"]["name"]
    assert volumes["secrets"]["secret"]["secretName"] == MANIFESTS["Secret"]["metadata"]["name"]
    claim = MANIFESTS["PersistentVolumeClaim"]["metadata"]["name"]
    assert volumes["state"]["persistentVolumeClaim"]["claimName"] == claim
    assert {one["metadata"].get("namespace", "cafi") for one in MANIFESTS.values()} == {"cafi"}
    assert set(MANIFESTS["Secret"]["stringData"].values()) == {""}
    mounts = {one["name"]: one["mountPath"] for one in POD["containers"][0]["volumeMounts"]}
    assert POD["containers"][0]["env"] == [{"name": SECRETS_FOLDER, "value": mounts["secrets"]}]
    rule = MANIFESTS["Ingress"]["spec"]["rules"][0]
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == MANIFESTS["Service"]["metadata"]["name"]
    settings = yaml.safe_load(MANIFESTS["ConfigMap"]["data"]["cafi.yaml"])
    assert urlsplit(settings["web"]["public_url"]).hostname == rule["host"]
    assert MANIFESTS["Ingress"]["spec"]["tls"][0]["hosts"] == [rule["host"]]
    own = yaml.safe_load((DEPLOY / "cafi.yaml").read_text("utf-8"))
    assert {key: value for key, value in settings.items() if key != "web"} == own


def test_manifests_of_workers_name_each_other() -> None:
    """Receivers are the pods that the service means and workers are not; each Deployment is rolled, watched where it tells
    how it is, and has time for its turns; all are in the policy, and the inbox's key is a file of the secret."""
    service = MANIFESTS["Service"]["spec"]["selector"]
    for name, replaced in (("cafi", True), ("cafi-worker", False)):
        spec, labels = OF_WORKERS[f"Deployment {name}"]["spec"], {"app.kubernetes.io/name": name}
        assert spec["selector"]["matchLabels"] == labels and (service == labels) is replaced
        assert spec["strategy"]["type"] == "RollingUpdate" and spec["replicas"] > 1
        budget = OF_WORKERS[f"PodDisruptionBudget {name}"]["spec"]
        assert budget == {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
        pod, container = spec["template"]["spec"], spec["template"]["spec"]["containers"][0]
        assert pod["terminationGracePeriodSeconds"] >= 15 + 5
        ports = {one["name"]: one["containerPort"] for one in container["ports"]}
        assert ports == ({"web": PORT} if replaced else {}) | {"figures": FIGURES}
        for probe, path in (("startup", "/healthz"), ("liveness", "/healthz"), ("readiness", "/readyz")):
            asked = container[f"{probe}Probe"]["httpGet"]
            assert (asked["path"], asked["port"]) == (path, "web" if replaced else "figures")
            assert ("httpHeaders" in asked) is replaced, "the page answers to its own name, health.port to any"
    policy = OF_WORKERS["NetworkPolicy cafi-many"]["spec"]
    assert policy["ingress"][0]["ports"] == [{"protocol": "TCP", "port": FIGURES}]
    assert policy["egress"] == MANIFESTS["NetworkPolicy"]["spec"]["egress"]
    assert {name.split(" ")[0] for name in MANY_PODS} == {"Deployment", "Job"} and len(MANY_PODS) == 3
    for name, pod in MANY_PODS.items():
        labels = OF_WORKERS[name]["spec"]["template"]["metadata"]["labels"]
        assert policy["podSelector"]["matchLabels"].items() <= labels.items()
        given = {one["name"]: one["value"] for one in pod["containers"][0]["env"]}
        mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
        key = Path(given["CAFI_SESSIONS__INBOX_KEY_FILE"])
        assert str(key.parent) == mounts["secrets"] == given[SECRETS_FOLDER]
        assert key.name in MANIFESTS["Secret"]["stringData"] and given["CAFI_QUEUE"] == "workers"
        volumes = {one["name"]: one for one in pod["volumes"]}
        assert volumes["secrets"] == {one["name"]: one for one in POD["volumes"]}["secrets"]
        assert "emptyDir" in volumes["state"]
    rule, theirs = OF_WORKERS["Ingress cafi-operator"]["spec"]["rules"][0], MANIFESTS["Ingress"]["spec"]["rules"][0]
    assert rule["host"] == theirs["host"] and [one["path"] for one in rule["http"]["paths"]] == ["/operator"]
    assert {one["metadata"]["namespace"] for one in OF_WORKERS.values()} == {"cafi"}


# --- The settings take it ---------------------------------------------------------------------------------------------


def environments() -> Iterator[Any]:
    """The variables of each way to start CAFI, its settings, and who answers."""
    compose, many = (
        {name: str(value).replace("${SITE_HOST:?}", "cafi.example.org") for name, value in one["environment"].items()}
        for one in (SERVICES["cafi"], MANY["services"]["worker"])
    )
    units = dict(
        word.partition("=")[::2]
        for name in ("cafi.service", "cafi.service.d/site.conf")
        for line in unit(name)["Environment"]
        for word in shlex.split(line)
    )
    pod = {one["name"]: one["value"] for one in POD["containers"][0]["env"]}
    own, mapped = (DEPLOY / "cafi.yaml").read_text("utf-8"), MANIFESTS["ConfigMap"]["data"]["cafi.yaml"]
    yield pytest.param(compose, own, "process", id="compose")
    yield pytest.param(many, own, "workers", id="compose, many")
    yield pytest.param(units, own, "process", id="systemd")
    worker = {"CAFI_HEALTH__PORT": unit("cafi-worker@.service")["Environment"][-1].partition("=")[2].replace("%i", "1")}
    yield pytest.param(units | worker, f"queue: workers\n{own}", "workers", id="systemd, many")
    yield pytest.param(pod, mapped, "process", id="kubernetes")
    for name, one in MANY_PODS.items():
        given = {each["name"]: each["value"] for each in one["containers"][0]["env"]}
        yield pytest.param(given, mapped, "workers", id=f"kubernetes, {name}")


@pytest.mark.parametrize(("variables", "text", "queue"), list(environments()))
def test_the_settings_take_what_a_deployment_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secrets: Path, variables: dict[str, str], text: str, queue: str
) -> None:
    """Each way gives settings without a fault: TLS outside, a proxy that is trusted, a secret, a limit of spending."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    folder = shutil.copytree(secrets, tmp_path / "secrets")
    if "CAFI_SESSIONS__INBOX_KEY_FILE" in variables:  # it lies beside the secrets, and is none of the settings
        (folder / Path(variables["CAFI_SESSIONS__INBOX_KEY_FILE"]).name).write_text("0" * 64)
    monkeypatch.setenv(SECRETS_FOLDER, str(folder))
    file = tmp_path / "cafi.yaml"
    file.write_text(text, encoding="utf-8")
    settings = read_settings(file)
    assert SECRETS_FOLDER in variables and settings.queue == queue
    assert (settings.health.port is not None) is ("CAFI_HEALTH__PORT" in variables)
    assert settings.web.secure and settings.web.trusted_proxies and settings.spending.tokens_a_day
    assert settings.sessions.secret is not None and len(settings.sessions.secret.get_secret_value()) == 64
    assert settings.web.operator_token is not None
    assert settings.models.api_key is None and settings.telegram.token is None
    assert (data_root() / "config" / "crisis" / f"{settings.crisis.country}.yaml").is_file()


def test_the_proxy_that_is_trusted_is_the_one_in_front() -> None:
    """In compose CAFI believes one address, which is the proxy's and lies in the network that both share."""
    address = SERVICES["proxy"]["networks"]["front"]["ipv4_address"]
    assert json.loads(SERVICES["cafi"]["environment"]["CAFI_WEB__TRUSTED_PROXIES"]) == [address]
    assert ip_address(address) in ip_network(COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"])


def test_the_script_makes_secrets_once_and_for_this_account_alone(secrets: Path) -> None:
    """The address of the database has the password that the server gets, and its folder is closed to others."""
    url = make_url((secrets / "CAFI_STORAGE__URL").read_text())
    server = SERVICES["db"]["environment"]
    assert (url.host, url.username, url.database) == ("db", server["POSTGRES_USER"], server["POSTGRES_DB"])
    assert url.password == (secrets / "db_password").read_text()
    assert secrets.stat().st_mode & 0o777 == 0o700
    made = [(secrets / one).read_text() for one in ("db_password", "grafana_password", "CAFI_SESSIONS__SECRET")]
    assert len(set(made)) == 3 and all(re.fullmatch("[0-9a-f]{64}", one) for one in made)
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert "/deploy/secrets/" in ignored and ".env" in ignored


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_systemd_reads_the_units_without_a_word(tmp_path: Path) -> None:
    """systemd's own reader finds nothing in the units, with a program in place of the one that is not installed here."""
    shutil.copytree(DEPLOY / "systemd", tmp_path / "units")
    for path in (tmp_path / "units").glob("*.service"):
        path.write_text(path.read_text("utf-8").replace("/opt/cafi/.venv/bin/cafi", "/bin/true"), encoding="utf-8")
    units = [path for path in (tmp_path / "units").iterdir() if path.suffix in {".service", ".timer", ".target"}]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert {path.stem for path in units if path.suffix == ".timer"} <= {path.stem for path in units}


def test_credentials_are_loaded_under_the_name_by_which_they_are_read() -> None:
    """A unit's credentials are called as it names them, and the example's are files in the folder that CAFI is told."""
    backup = unit("cafi-backup.service")
    assert [one.split(":")[0] for one in backup["LoadCredentialEncrypted"]] == ["passphrase"]
    assert "--passphrase-file %d/passphrase" in backup["ExecStart"][0]
    site = unit("cafi.service.d/site.conf")
    assert f"{SECRETS_FOLDER}=%d" in site["Environment"]
    for one in site["LoadCredentialEncrypted"]:
        name, _, path = one.partition(":")
        assert Path(path).name == f"{name}.cred" and is_setting(name)
