"""The demonstration refuses what it should, for the right reason, and leaves a sound store."""

import shlex
import subprocess
from pathlib import Path

from tests.cli.run import canonry_process, run_canonry


def test_the_demonstration_shows_accepted_and_refused_claims(tmp_path: Path) -> None:
    data = tmp_path / "saltmere"
    done = canonry_process("demo", "--keep", str(data))

    assert done.returncode == 0, done.stderr
    steps = done.stdout.split("\n\n")
    verdicts = "\n".join(steps)
    refusals = {
        part.splitlines()[0].strip(): " ".join(part.split())
        for part in verdicts.split("  refused ")[1:]
    }
    expected = {
        "Ilsa Vane rules Saltmere": "-32001",
        "A ghost haunts the lighthouse": "gate:score-reaches-threshold",
        "Odo, who is dead": "gate:actor-alive",
        "A player declares Odo alive": "gate:statement-negated",
        "At that same hour": "gate:functional-relation",
    }
    assert len(refusals) == len(expected)
    for what, why in expected.items():
        assert [text for text in refusals.values() if what in text and why in text], what
    assert '"Odo Brand is dead" is canon' in verdicts
    assert "One commit earlier he was known as alive; now he is dead." in verdicts
    assert '"Ilsa Vane carries the silver lantern" is retconned' in verdicts
    commands = [shlex.split(line) for line in done.stdout.splitlines() if "--data" in line]
    assert commands[-1][-3:] == ["inspect", "--data", str(data)]
    connect = commands[-2]
    assert connect[-4:] == ["connect", "claude-desktop", "--data", str(data)]
    tried = subprocess.run([*connect, "--dry-run"], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stderr
    assert str(data) in tried.stdout
    assert run_canonry("verify", "--data", str(data)).returncode == 0


def test_the_demonstration_does_not_run_in_a_used_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep me")
    done = run_canonry("demo", "--keep", str(tmp_path))

    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
