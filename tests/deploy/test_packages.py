"""The wheel contains all files of the server, and every description is of this version."""

import json
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from canonry import __version__
from canonry.app.load_settings import load_settings
from canonry.app.serving import principal_for
from canonry.cli.serve import serve, server_options
from canonry.server.identity import BearerVerifier
from tests.cli.run import canonry_process

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution of this checkout, and the wheel that is made from it alone."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "source", filter="data")
    source = next((folder / "source").iterdir())
    subprocess.run([*build, "-t", "wheel"], cwd=source, check=True, capture_output=True)
    return folder


def test_the_wheel_holds_every_file_of_the_package(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    package = ROOT / "src" / "canonry"
    files = (path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    expected = {f"canonry/{path.relative_to(package).as_posix()}" for path in files}

    assert expected <= names
    assert not [name for name in names if name.startswith(("tests", "bench", "docs"))]


DRAWER = "inspector/static/vendor/cytoscape"


def test_wheel_and_sdist_contain_the_graph_library_with_its_licence(built: Path) -> None:
    names = [f"{DRAWER}{end}" for end in (".min.js", ".LICENSE")]
    kept = [(ROOT / "src" / "canonry" / name).read_bytes() for name in names]
    source = next((built / "source").iterdir()) / "src" / "canonry"
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        shipped = [wheel.read(f"canonry/{name}") for name in names]

    assert shipped == [(source / name).read_bytes() for name in names] == kept
    assert b"Permission is hereby granted" in shipped[1]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_the_repository_contains_the_graph_library() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "--error-unmatch", f"src/canonry/{DRAWER}.min.js"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )

    assert tracked.returncode == 0, tracked.stderr


def test_the_graph_library_has_the_version_locked_by_npm() -> None:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    version = lock["packages"]["node_modules/cytoscape"]["version"]
    drawer = (ROOT / "src" / "canonry" / f"{DRAWER}.min.js").read_text(encoding="utf-8")

    assert f'"{version}"' in drawer


def test_an_installed_wheel_serves(built: Path, tmp_path: Path) -> None:
    wheel = next(built.glob("*.whl"))
    where = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*pip, "--target", str(where), str(wheel)], check=True, capture_output=True)
    code = (
        "import sys, canonry; assert canonry.__file__.startswith(sys.argv[1]), canonry.__file__;"
        "from canonry.cli import main; main(['tools'], prog_name='canonry')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(where)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(where), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "propose" in done.stdout


def manifest() -> Any:
    """The description of the bundle for desktop clients."""
    return json.loads((DEPLOY / "mcpb" / "manifest.json").read_text(encoding="utf-8"))


def registry() -> Any:
    """The description for registries of servers."""
    return json.loads((ROOT / "server.json").read_text(encoding="utf-8"))


def test_every_description_names_the_version_that_it_ships_with() -> None:
    bundle = tomllib.loads((DEPLOY / "mcpb" / "pyproject.toml").read_text(encoding="utf-8"))

    assert manifest()["version"] == __version__
    assert registry()["version"] == __version__
    assert [each["version"] for each in registry()["packages"]] == [__version__]
    assert bundle["project"]["version"] == __version__
    assert bundle["project"]["dependencies"] == [f"canonry[meaning]=={__version__}"]


def test_the_registry_finds_the_server_name_in_the_readme() -> None:
    entry = registry()
    namespace, _, name = entry["name"].partition("/")

    assert f"mcp-name: {entry['name']}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert ".".join(reversed(namespace.split("."))) in entry["websiteUrl"]
    assert name == "canonry"
    assert len(entry["description"]) <= 100


def started() -> dict[str, list[str]]:
    """The words behind `canonry` in everything that starts it."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    unit = (DEPLOY / "systemd" / "canonry.service").read_text(encoding="utf-8")
    command = next(line for line in dockerfile.splitlines() if line.startswith("CMD "))
    execution = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    bundle = manifest()["server"]["mcp_config"]["args"]
    arguments = registry()["packages"][0]["packageArguments"]
    return {
        "container": json.loads(command.removeprefix("CMD ")),
        "service": shlex.split(execution)[1:],
        "bundle": bundle[bundle.index("serve") :],
        "registry": ["serve", *(f"{each['name']}=x" for each in arguments if "name" in each)],
    }


def variables_of_the_image() -> dict[str, str]:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    given = [word for line in lines if line.startswith("ENV ") for word in line.split()[1:]]
    return dict(each.split("=", 1) for each in given if each.startswith("CANONRY_"))


def test_the_image_starts_with_tokens_only(tmp_path: Path) -> None:
    words = [word.replace(":8000", ":0") for word in started()["container"]]
    own = {**variables_of_the_image(), "CANONRY_DATA": str(tmp_path)}

    done = canonry_process(*words, environment=own)
    anybody = canonry_process(*words, environment={**own, "CANONRY_HTTP_PUBLIC": "true"})

    assert (done.returncode, anybody.returncode) == (2, 2)
    assert "configure bearer tokens" in done.stderr.lower()
    assert "No agent type is set" in anybody.stderr


def test_the_service_gives_no_role_without_a_token(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("0123456789abcdef" * 4)
    words = started()["service"]
    assert words == ["serve", "--config", "/etc/canonry/canonry.toml"]
    given = {"auth_key_file": tmp_path / "secret", "http": "127.0.0.1:0"}
    settings = load_settings(given, config=DEPLOY / "systemd" / "canonry.toml")
    options = server_options(settings)

    assert options.bearer is not None
    assert principal_for(settings).agent_type is None
    assert not options.allow_unprotected
    served = settings.http_address()
    assert served is not None
    assert served[0] == "127.0.0.1"
    BearerVerifier(options.bearer)


def test_compose_publishes_locally_and_asks_for_the_role() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    ports = [line.split("[", 1)[1] for line in text.splitlines() if "ports: [" in line]

    assert len(ports) > 3
    assert all(part.strip().startswith('"127.0.0.1:') for each in ports for part in each.split(","))
    assert text.count("CANONRY_AGENT_TYPE: ") == 1
    assert "CANONRY_AGENT_TYPE: ${CANONRY_AGENT_TYPE:?" in text


@pytest.mark.parametrize("where", started())
def test_every_server_start_uses_existing_options(where: str) -> None:
    words = started()[where]

    assert words[0] == "serve"
    assert serve.make_context("serve", words[1:]).params


def test_the_bundle_starts_a_file_that_it_contains() -> None:
    server = manifest()["server"]

    assert (DEPLOY / "mcpb" / server["entry_point"]).exists()
    assert server["entry_point"] in server["mcp_config"]["args"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_the_service_file_is_readable_by_systemd(tmp_path: Path) -> None:
    program = tmp_path / "canonry"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = (DEPLOY / "systemd" / "canonry.service").read_text(encoding="utf-8")
    copy = tmp_path / "canonry.service"
    copy.write_text(unit.replace("/opt/canonry/bin/canonry", str(program)), encoding="utf-8")

    done = subprocess.run(
        ["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "canonry.service" not in done.stderr
