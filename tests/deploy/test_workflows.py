"""The workflows name targets and files that exist, and only a tag publishes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PUBLISHING = ("gh-action-pypi-publish", "gh release create", "deploy-pages", "publisher")


def jobs_of(workflow: Path) -> dict[str, Any]:
    """Return the jobs of a workflow by their names."""
    jobs: dict[str, Any] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return jobs


def commands_of(job: dict[str, Any]) -> list[str]:
    """Return what the steps of a job run or use."""
    return [str(step.get("run") or step.get("uses")) for step in job.get("steps", ())]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_makes_only_existing_targets(workflow: Path) -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    commands = [each for job in jobs_of(workflow).values() for each in commands_of(job)]
    made = {
        word
        for command in commands
        for words in re.findall(r"\bmake ((?:[a-z-]+ ?)+)", command)
        for word in words.split()
    }

    assert made <= targets
    assert all((ROOT / name).is_file() for name in re.findall(r"bash (\S+)", "\n".join(commands)))


def test_only_a_tag_publishes() -> None:
    jobs = jobs_of(ROOT / ".github" / "workflows" / "release.yml")
    publishing = {
        name
        for name, job in jobs.items()
        if any(word in command for command in commands_of(job) for word in PUBLISHING)
    }

    assert publishing == {"package", "page", "registry", "site"}
    assert {jobs[name].get("if") for name in publishing} == {
        "startsWith(github.ref, 'refs/tags/v')"
    }


def test_the_benchmark_runs_every_night() -> None:
    text = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")

    assert re.search(r'cron: "\d+ \d+ \* \* \*"', text)
    assert "make bench" in text
