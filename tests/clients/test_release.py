"""A dry run of a release builds everything that the workflow publishes."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from canonry import __version__
from tests.clients.test_clients import HERE, ROOT

PACKER = HERE / "node_modules" / ".bin" / "mcpb"
SCRIPT = Path("deploy") / "release.py"
IMAGE = f"ghcr.io/canonry/canonry@sha256:{'0a' * 32}"


def run_release(*arguments: str | Path, root: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run the script that builds a release."""
    return subprocess.run(
        [sys.executable, root / SCRIPT, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not PACKER.exists(), reason="the packer is installed by `make clients`")
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_a_dry_run_builds_what_a_release_publishes(tmp_path: Path) -> None:
    done = run_release("--dist", tmp_path / "dist", "--image", IMAGE)
    again = run_release("--dist", tmp_path / "again", "--image", IMAGE)

    assert (done.returncode, done.stderr) == (0, "")
    assert again.returncode == 0
    dist = tmp_path / "dist"
    bundle = dist / f"canonry-{__version__}.mcpb"
    wheel = dist / f"canonry-{__version__}-py3-none-any.whl"
    built = {bundle.name, wheel.name, f"canonry-{__version__}.tar.gz"}
    assert {each.name for each in dist.iterdir()} == {
        *built,
        "SHA256SUMS",
        "notes.md",
        "server.json",
    }
    sums = dict(line.split("  ")[::-1] for line in done.stdout.splitlines())
    assert sums == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in built}
    for name in built - {bundle.name}:
        assert (dist / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    with zipfile.ZipFile(bundle) as packed:
        assert {"manifest.json", "pyproject.toml", "server.py"} <= set(packed.namelist())
    described = json.loads((dist / "server.json").read_text(encoding="utf-8"))
    package, packed_bundle, image = described["packages"]
    assert package["registryType"] == "pypi"
    assert packed_bundle["fileSha256"] == sums[bundle.name]
    assert packed_bundle["identifier"].endswith(f"/v{__version__}/{bundle.name}")
    assert image["identifier"] == IMAGE
    assert len((dist / "notes.md").read_text(encoding="utf-8")) > 100


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--tag", "v99.0.0"], f"Use the tag v{__version__}."),
        (["--image", "ghcr.io/canonry/canonry:latest"], "has no digest"),
    ],
)
def test_a_release_refuses_another_version_and_an_image_without_digest(
    arguments: list[str], error: str, tmp_path: Path
) -> None:
    done = run_release("--dist", tmp_path / "dist", *arguments)

    assert done.returncode == 1
    assert error in done.stderr
    assert not (tmp_path / "dist").exists()


def test_one_command_sets_the_version_everywhere(tmp_path: Path) -> None:
    named = ["src/canonry/__init__.py", "server.json", "deploy/mcpb/manifest.json"]
    for name in [str(SCRIPT), "deploy/mcpb/pyproject.toml", *named]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    done = run_release("--set", "7.8.9", root=tmp_path)

    assert done.returncode == 0, done.stderr
    for name in [*named, "deploy/mcpb/pyproject.toml"]:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text.count("7.8.9") == (ROOT / name).read_text(encoding="utf-8").count(__version__)
        assert __version__ not in text
