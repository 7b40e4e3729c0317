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

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and "secrets" not in path.parts)
TRIED = {"Caddyfile", "prometheus.yml", "alerts.yml", "cafi.yaml", ".env.example", "make-secrets.sh"}
"""Those that have been run or read by their own program; the others say that nobody has built them yet."""
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
CADDYFILE = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
MANIFESTS: dict[str, Any] = {
    one["kind"]: one
    for path in (DEPLOY / "kubernetes").glob("*.yaml")
    for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
}
POD: dict[str, Any] = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
HOME = "/var/lib/cafi"
PORT = 8080
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
        *(value for name in ("cafi.service", "cafi-backup.service") for value in unit(name)["ExecStart"]),
        shlex.join(["cafi", *SERVICES["cafi"]["command"]]),
        shlex.join(["cafi", *POD["containers"][0]["args"]]),
    ]
    for page in ("docs/operations.md", "docs/howto/deploy.md"):
        lines += re.findall(r"\bcafi (?:check|backup|eval|migrate|restore)\b[^`|\n]*", (ROOT / page).read_text("utf-8"))
    assert len(lines) > 8
    for line in lines:
        command: Any = get_command(app)
        for word in shlex.split(line)[1:]:
            if word.startswith("-"):
                assert word in {option for one in command.params for option in one.opts}, line
            elif isinstance(command, TyperGroup):
                assert word in command.commands, line
                command = command.commands[word]


def test_what_compose_names_is_there(secrets: Path) -> None:
    """Files, secrets, networks and volumes that a service uses exist or are declared, and none is declared for nobody."""
    used: dict[str, set[str]] = {"secrets": set(), "networks": set(), "volumes": set()}
    for service in SERVICES.values():
        used["secrets"] |= set(service.get("secrets", ()))
        used["networks"] |= set(service["networks"])
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists(), source
                assert volume.endswith(":ro")
            else:
                used["volumes"].add(source)
        assert set(service.get("depends_on", ())) <= SERVICES.keys()
    assert all(names == COMPOSE[kind].keys() for kind, names in used.items())
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
    for name, text in configured.items():
        service = SERVICES[name]
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
    for name in ("cafi.service", "cafi-backup.service"):
        assert unit(name)["WorkingDirectory"] == [HOME] and unit(name)["StateDirectory"] == ["cafi"]
        assert unit(name)["User"] == ["cafi"] and unit(name)["ProtectSystem"] == ["strict"]


def test_nothing_runs_with_more_rights_than_it_needs() -> None:
    """Every container has a read-only file system, no capability but the proxy's, bounds of memory without swap, and only
    the proxy is published; databases and monitoring reach nobody outside."""
    for name, service in SERVICES.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"] and service["logging"]["options"]["max-size"]
        assert service["mem_limit"] == service["memswap_limit"]
        assert ("ports" in service, "cap_add" in service) == ((True, True) if name == "proxy" else (False, False))
        assert "privileged" not in service and "network_mode" not in service
    assert {name for name, one in COMPOSE["networks"].items() if not one.get("internal")} == {"front"}
    assert {name for name, one in SERVICES.items() if "front" in one["networks"]} == {"cafi", "proxy"}
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


# --- The settings take it ---------------------------------------------------------------------------------------------


def environments() -> Iterator[Any]:
    """The variables of each way to start CAFI, and its settings."""
    compose = {
        name: str(value).replace("${SITE_HOST:?}", "cafi.example.org")
        for name, value in SERVICES["cafi"]["environment"].items()
    }
    units = dict(
        word.partition("=")[::2]
        for name in ("cafi.service", "cafi.service.d/site.conf")
        for line in unit(name)["Environment"]
        for word in shlex.split(line)
    )
    pod = {one["name"]: one["value"] for one in POD["containers"][0]["env"]}
    own = (DEPLOY / "cafi.yaml").read_text("utf-8")
    yield pytest.param(compose, own, id="compose")
    yield pytest.param(units, own, id="systemd")
    yield pytest.param(pod, MANIFESTS["ConfigMap"]["data"]["cafi.yaml"], id="kubernetes")


@pytest.mark.parametrize(("variables", "text"), list(environments()))
def test_the_settings_take_what_a_deployment_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secrets: Path, variables: dict[str, str], text: str
) -> None:
    """Each way gives settings without a fault: TLS outside, a proxy that is trusted, a secret, a limit of spending."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(SECRETS_FOLDER, str(secrets))
    file = tmp_path / "cafi.yaml"
    file.write_text(text, encoding="utf-8")
    settings = read_settings(file)
    assert SECRETS_FOLDER in variables
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
    units = [path for path in (tmp_path / "units").iterdir() if path.suffix in {".service", ".timer"}]
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
