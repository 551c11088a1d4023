"""A view that was lost is told by every backup and by doctor, and rebuilding heals it."""

import json
from pathlib import Path

import apsw
import pytest

from tests.cli.run import run_canonry

GUIDES = 130
LOST = (
    "DELETE FROM passage_stems; DELETE FROM stem_counts;"
    " INSERT INTO passages (passages) VALUES ('delete-all');"
)
"""The loss of a rebuild in versions that did not yet copy every table."""


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A store with a transcript of more turns than wait for the index."""
    turns = [{"speaker": "GM", "text": f"Guide {n} knows the ford."} for n in range(GUIDES)]
    session = tmp_path / "session.json"
    session.write_text(json.dumps({"title": "Guides", "turns": turns}), encoding="utf-8")
    folder = str(tmp_path / "data")
    done = run_canonry("import", "transcript", str(session), "--universe", "Home", "--data", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_backup_and_doctor_report_a_lost_index_and_rebuild_repairs_it(
    data: str, tmp_path: Path
) -> None:
    good = run_canonry("backup", str(tmp_path / "good"), "--data", data)
    assert (good.returncode, "WRONG" in good.stdout) == (0, False)
    db = apsw.Connection(str(Path(data) / "canon.db"))
    db.execute(LOST)
    db.close()

    reply = run_canonry("backup", str(tmp_path / "told"), "--data", data)
    assert reply.returncode == 1
    assert "WRONG  passages" in reply.stdout
    assert "canonry rebuild" in reply.stdout
    assert (tmp_path / "told" / "manifest.json").is_file()
    assert "The view passages is incomplete" in run_canonry("doctor", "--data", data).stdout

    assert run_canonry("rebuild", "--data", data).returncode == 0
    assert run_canonry("verify", "--data", data).returncode == 0
    assert run_canonry("backup", str(tmp_path / "healed"), "--data", data).returncode == 0
