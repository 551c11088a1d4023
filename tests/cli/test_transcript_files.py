"""Transcript files: the shapes that are understood, and how a damaged file is reported."""

import json
from pathlib import Path
from typing import Any

import pytest

from canonry.cli.imports import gm_names_in, read_transcripts
from canonry.values.errors import InvalidInput
from canonry.values.moments import parse_instant

CRD3 = Path(__file__).parents[3] / "shared" / "data" / "crd3"


def a_file(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_plain_list_is_understood(tmp_path: Path) -> None:
    path = a_file(tmp_path, "home.json", [{"speaker": "GM", "text": "It rains."}])
    (transcript,) = read_transcripts([path])

    assert transcript.title == "home"
    assert transcript.lines[0].speakers == ("GM",)
    assert transcript.lines[0].text == "It rains."
    assert "matt" not in gm_names_in([transcript])


def test_an_object_may_have_a_title_and_summaries(tmp_path: Path) -> None:
    data = {
        "title": "Session 1",
        "turns": [{"speaker": ["Ann", "Ben"], "text": "Run!"}, {"speaker": "GM", "text": "No."}],
        "summaries": [{"start": 0, "end": 1, "text": "They run."}],
    }
    (transcript,) = read_transcripts([a_file(tmp_path, "home.json", data)])

    assert transcript.title == "Session 1"
    assert transcript.lines[0].speakers == ("Ann", "Ben")
    assert transcript.summaries[0].text == "They run."


def test_a_session_and_its_turns_may_have_times(tmp_path: Path) -> None:
    turns = [
        {"speaker": "GM", "text": "It rains.", "timestamp": "2023-05-08T20:00:00Z"},
        {"speaker": "Ann", "text": "Still?", "time": 1683576060},
        {"speaker": "GM", "text": "Still.", "time": ""},
    ]
    dated = a_file(tmp_path, "dated.json", {"date": "8 May 2023", "turns": turns})
    plain = a_file(tmp_path, "plain.json", turns)
    (first, second) = read_transcripts([dated, plain])

    assert first.said_at == parse_instant("2023-05-08T00:00:00Z")
    assert second.said_at == parse_instant("2023-05-08T20:00:00Z")
    assert [line.said_at for line in first.lines] == [
        parse_instant("2023-05-08T20:00:00Z"),
        parse_instant("2023-05-08T20:01:00Z"),
        None,
    ]


@pytest.mark.parametrize("when", ["soon", 3.5, ["2023"]])
def test_an_unreadable_time_is_refused(when: Any, tmp_path: Path) -> None:
    path = a_file(tmp_path, "odd.json", [{"speaker": "GM", "text": "x", "date": when}])

    with pytest.raises(InvalidInput):
        read_transcripts([path])


def test_a_summary_file_is_found_beside_its_transcript(tmp_path: Path) -> None:
    turns = {"TURNS": [{"NAMES": ["MATT"], "UTTERANCES": ["Hello", "there."], "NUMBER": 0}]}
    chunks = [{"CHUNK": "Matt greets.", "ALIGNMENT": {"TURN START": 0, "TURN END": 0}}]
    path = a_file(tmp_path, "C1.json", turns)
    a_file(tmp_path, "C1.aligned-4.json", chunks)
    (transcript,) = read_transcripts([path])

    assert transcript.lines[0].text == "Hello there."
    assert "matt" in gm_names_in([transcript])
    assert transcript.summaries[0].text == "Matt greets."


@pytest.mark.parametrize(
    "data",
    [{}, [], 3, [{"text": "x"}], [{"speaker": "", "text": "x"}], {"turns": 3}, [{"speaker": 1}]],
)
def test_another_shape_is_refused_with_the_file(data: Any, tmp_path: Path) -> None:
    path = a_file(tmp_path, "odd.json", data)
    with pytest.raises(InvalidInput, match=r"odd\.json") as caught:
        read_transcripts([path])

    assert caught.value.code == "transcript.unreadable"


def test_invalid_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="not JSON"):
        read_transcripts([path])


@pytest.mark.skipif(not CRD3.is_dir(), reason="the shared data folder is absent")
def test_the_episodes_are_read_completely() -> None:
    transcripts = read_transcripts([CRD3 / "C1E001.json", CRD3 / "C1E002.json"])

    assert [len(each.lines) for each in transcripts] == [2160, 2882]
    assert [len(each.summaries) for each in transcripts] == [51, 30]
