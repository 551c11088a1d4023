"""The examples are what they say: settings that load, and a session that can be imported."""

import json
from pathlib import Path

from canonry.app.load_settings import load_settings
from canonry.values.provenance import Authority
from tests.cli.run import run_canonry

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_example_settings_are_in_force() -> None:
    settings = load_settings(config=EXAMPLES / "canonry.toml", environment={})

    assert settings.agent_type == ("CanonKeeper",)
    assert settings.policy.scoring.weights[Authority.PLAYER] == 0.8
    assert settings.policy.context.tokens == 6000


def test_the_example_session_becomes_canon(tmp_path: Path) -> None:
    session = EXAMPLES / "session.json"
    done = run_canonry(
        *("import", "transcript", str(session), "--universe", "Saltmere", "--json"),
        *("--data", str(tmp_path / "data")),
    )
    (report,) = json.loads(done.stdout)["transcripts"]

    assert (report["turns"], report["accepted"], report["rejected"]) == (10, 3, [])
