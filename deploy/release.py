"""Build everything that a release publishes.

    python deploy/release.py --dist dist                     # a dry run: build, publish nothing
    python deploy/release.py --dist dist --tag v1.2.3        # refuse any other version
    python deploy/release.py --image NAME@sha256:... ...     # name the published image
    python deploy/release.py --set 1.2.3                     # write the version everywhere

The version is the one in `src/canonry/__init__.py`. The folder then holds the source distribution,
the wheel, the bundle for desktop clients (if `make clients` installed its packer), `server.json`
for registries of MCP servers, the release notes, and the SHA-256 of each file.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "canonry" / "__init__.py"
PACKER = ROOT / "tests" / "clients" / "node_modules" / ".bin" / "mcpb"
DIGEST = re.compile(r"[a-z0-9./_-]+(:[\w.-]+)?@sha256:[0-9a-f]{64}")
# Each file that names the version, with the text before it.
NAMED = {
    SOURCE: ('__version__ = "',),
    ROOT / "server.json": ('"version": "',),
    ROOT / "deploy" / "mcpb" / "manifest.json": ('"version": "',),
    ROOT / "deploy" / "mcpb" / "pyproject.toml": ('\nversion = "', '"canonry[meaning]=='),
}


def read_version() -> str:
    """Return the version of this checkout."""
    return SOURCE.read_text(encoding="utf-8").split('__version__ = "')[1].split('"')[0]


def set_version(version: str) -> None:
    """Write `version` into every file that names one."""
    for path, leads in NAMED.items():
        text = path.read_text(encoding="utf-8")
        for lead in leads:
            text = re.sub(rf'({re.escape(lead)})[^"]+"', rf'\g<1>{version}"', text)
        path.write_text(text, encoding="utf-8")


def read_notes(version: str, *, tagged: bool) -> str:
    """Return the changelog's section about `version`; a draft of it where nothing is tagged."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(
        rf"(?ms)^## \[{re.escape(version)}\].*?\n(.*?)(?=^## \[|^\[[^\]]+\]: |\Z)", text
    )
    if found is None and tagged:
        sys.exit(f"CHANGELOG.md has no section for {version}. Run: make changelog")
    if found is None:
        return _run(sys.executable, "-m", "towncrier", "build", "--draft", "--version", version)
    return found[1].strip() + "\n"


def build_packages(dist: Path) -> None:
    """Build the source distribution and the wheel; equal commits give equal bytes."""
    when = _run("git", "log", "-1", "--format=%ct") if (ROOT / ".git").exists() else ""
    clock = {"SOURCE_DATE_EPOCH": when.strip()} if when else {}
    for target in ("sdist", "wheel"):
        _run(sys.executable, "-m", "hatchling", "build", "-d", str(dist), "-t", target, **clock)


def build_bundle(dist: Path, version: str) -> Path | None:
    """Validate and pack the bundle for desktop clients; None if the packer is not installed."""
    if not PACKER.exists():
        sys.stderr.write("no bundle: its packer is missing. Run: make clients\n")
        return None
    bundle = dist / f"canonry-{version}.mcpb"
    _run(str(PACKER), "validate", "deploy/mcpb/manifest.json")
    _run(str(PACKER), "pack", "deploy/mcpb", str(bundle))
    return bundle


def describe_server(version: str, bundle: Path | None, image: str | None) -> dict[str, Any]:
    """Return `server.json` with the bundle and the image beside the package."""
    entry: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    stdio = {"type": "stdio"}
    if bundle is not None:
        source = f"{entry['repository']['url']}/releases/download/v{version}/{bundle.name}"
        entry["packages"].append(
            {
                "registryType": "mcpb",
                "identifier": source,
                "fileSha256": _sha256(bundle),
                "transport": stdio,
            }
        )
    if image is not None:
        entry["packages"].append(
            {
                "registryType": "oci",
                "identifier": image,
                "packageArguments": [{"type": "positional", "value": "serve"}],
                "transport": stdio,
            }
        )
    return entry


def build_release(dist: Path, tag: str | None, image: str | None) -> None:
    """Fill `dist`; exit with a message where the version, the tag or the image does not fit."""
    version = read_version()
    if tag not in (None, f"v{version}"):
        sys.exit(f"The tag is {tag}, but the version is {version}. Use the tag v{version}.")
    if image is not None and not DIGEST.fullmatch(image):
        sys.exit(f"The image {image!r} has no digest. Use NAME@sha256:<64 hexadecimal digits>.")
    notes = read_notes(version, tagged=tag is not None)
    dist.mkdir(parents=True, exist_ok=True)
    for former in dist.glob("canonry-*"):
        former.unlink()
    build_packages(dist)
    entry = describe_server(version, build_bundle(dist, version), image)
    (dist / "server.json").write_text(json.dumps(entry, indent=2) + "\n", encoding="utf-8")
    (dist / "notes.md").write_text(notes, encoding="utf-8")
    files = sorted(each for each in dist.iterdir() if each.name.startswith("canonry-"))
    sums = "".join(f"{_sha256(each)}  {each.name}\n" for each in files)
    (dist / "SHA256SUMS").write_text(sums, encoding="utf-8")
    sys.stdout.write(sums)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--set", metavar="VERSION", help="write this version everywhere, and stop")
    parser.add_argument("--tag", help="refuse to build unless this tag names the version")
    parser.add_argument("--image", help="the published image with its digest, for server.json")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder of the files")
    given = parser.parse_args()
    if given.set:
        set_version(given.set)
    else:
        build_release(given.dist.resolve(), given.tag, given.image)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(*command: str, **environment: str) -> str:
    """Run a command in the checkout and return its output; exit with its error if it fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
