"""The bundle for desktop clients passes the bundler that its authors wrote."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.clients.test_clients import HERE, ROOT

BUNDLER = HERE / "node_modules" / ".bin" / "mcpb"
BUNDLE = ROOT / "deploy" / "mcpb"


@pytest.mark.skipif(not BUNDLER.exists(), reason="the bundler is installed by `make clients`")
def test_the_bundle_validates_and_packs(tmp_path: Path) -> None:
    valid = subprocess.run(
        [BUNDLER, "validate", BUNDLE / "manifest.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    packed = subprocess.run(
        [BUNDLER, "pack", BUNDLE, tmp_path / "canonry.mcpb"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert valid.returncode == 0, valid.stdout + valid.stderr
    assert packed.returncode == 0, packed.stdout + packed.stderr
    with zipfile.ZipFile(tmp_path / "canonry.mcpb") as bundle:
        assert {"manifest.json", "pyproject.toml", "server.py"} <= set(bundle.namelist())
