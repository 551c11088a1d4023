"""What every test gets: asyncio, no settings from outside, and required backends that must run."""

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

REQUIRED_BACKENDS = frozenset(
    name for name in os.environ.get("CANONRY_REQUIRE_BACKENDS", "").split(",") if name
)

PROVING = {"conformance", "faults", "mongodb", "neo4j", "postgres", "toolsets"}
"""The folders whose tests prove a backend where their name has its name in it."""

# The machine decides how long an example takes, and where tests gate a change the same examples
# come again; elsewhere each run tries new ones.
settings.register_profile("canonry", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("canonry")


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, which is what the server runs on."""
    return "asyncio"


@pytest.fixture
def plain_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep payloads as they are, so that whoever looks for words in the files can find them."""
    monkeypatch.setattr("canonry.stores.sqlite.ledger.records._LEAST", sys.maxsize)


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the developer's own settings and data out of the tests, and the tests out of them."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("CANONRY_")]:
            patch.delenv(name)
        for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
            patch.setenv(name, str(home))
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        yield


def required_backend(path: Path) -> str | None:
    """The required backend that a file such as `conformance/test_sqlite.py` proves, if any."""
    if path.parent.name not in {
        "conformance",
        "faults",
        "mongodb",
        "neo4j",
        "postgres",
        "toolsets",
    }:
        return None
    words = set(path.stem.split("_"))
    return min(words & REQUIRED_BACKENDS, default=None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a backend that CANONRY_REQUIRE_BACKENDS names into a failure."""
    report = yield
    backend = required_backend(item.path)
    if backend is not None and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"CANONRY_REQUIRE_BACKENDS names {backend}, but: {reason}"
    return report
