"""What an installation brings along: every file of every distribution that Canonry needs."""

from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.meta.test_dependencies import PROJECT
from tests.meta.tree import PACKAGE

MEGABYTE = 1_000_000
MOST = 250
"""Megabytes; what Python compiles for itself, with pip or when it first runs, is not shipped."""


def needed(requirement: str) -> Iterator[Distribution]:
    """The distributions behind a requirement on this machine."""
    asked = [(Requirement(requirement), "")]
    while asked:
        one, extra = asked.pop()
        if one.marker is not None and not one.marker.evaluate({"extra": extra}):
            continue
        found = distribution(one.name)
        yield found
        for line in found.requires or ():
            asked += [(Requirement(line), each) for each in ("", *one.extras)]


def shipped(found: Distribution) -> int:
    """The bytes of the files that a distribution consists of."""
    files = (Path(str(file.locate())) for file in found.files or () if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in files if path.exists())


def test_the_default_installation_stays_light() -> None:
    own = sum(path.stat().st_size for path in PACKAGE.rglob("*") if path.suffix != ".pyc")
    sizes = {"canonry": own}
    for requirement in PROJECT["project"]["dependencies"]:
        for found in needed(requirement):
            sizes[found.name] = sizes.get(found.name) or shipped(found)

    total = sum(sizes.values()) / MEGABYTE
    heaviest = sorted(sizes.items(), key=lambda item: -item[1])[:10]
    told = ", ".join(f"{name} {size / MEGABYTE:.1f}" for name, size in heaviest)
    assert sizes["numpy"] > 10 * MEGABYTE, "this counts nothing"
    assert total <= MOST, f"{total:.0f} MB: {told}"
