"""Transcript files: which shapes are understood, and how they become transcripts.

Understood are a list of `{"speaker": ..., "text": ...}`, the same as `turns` of an object that may
also have a `title` and `summaries` (`{"start": 0, "end": 9, "text": ...}`, turns counted from 0),
each of which may say when it was said by `said_at`, `timestamp`, `time` or `date`,
and the CRD3 data set: `TURNS` with `NAMES` and `UTTERANCES`, and beside it `*.aligned-*.json` with
the summary's chunks and the span of turns that each is about.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from canonry.narrative.usecases.transcripts import Summary, Transcript, TranscriptLine, plain
from canonry.values.calendar_dates import read_date
from canonry.values.errors import InvalidInput
from canonry.values.json_values import decode_json
from canonry.values.policy import NAME_MAX
from canonry.values.time import Instant

GM_NAMES: Final = frozenset({"dm", "gm", "game master", "dungeon master", "narrator"})
"""Who leads the game, if nobody says."""

_CRD3_GM: Final = "MATT"

_ALIGNED: Final = ".aligned"
_TIMES: Final = ("said_at", "timestamp", "time", "date")
"""The names under which a turn or a session says when it was; the first that is there counts."""
_DAMAGE: Final = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def read_transcripts(files: Sequence[Path]) -> tuple[Transcript, ...]:
    """The transcripts in the files; a summary is found beside its transcript, or among the files.

    Raises:
        InvalidInput: `transcript.unreadable`, with the file.
    """
    aligned = [path for path in files if _ALIGNED in path.name]
    sessions = [path for path in files if _ALIGNED not in path.name]
    if not sessions:
        message = "these are summaries only; name the transcripts that they are about as well"
        raise InvalidInput("transcript.unreadable", message, path=str(files[0]))
    return tuple(_read(path, aligned) for path in sessions)


def gm_names_in(transcripts: Iterable[Transcript]) -> frozenset[str]:
    """Who leads the game, if nobody says: `GM_NAMES`, and in CRD3 the one who is spelled so."""
    lines = (line for transcript in transcripts for line in transcript.lines)
    crd3 = any(line.speakers == (_CRD3_GM,) for line in lines)
    return GM_NAMES | {_CRD3_GM.casefold()} if crd3 else GM_NAMES


def _read(path: Path, aligned: Iterable[Path]) -> Transcript:
    data = _json(path)
    try:
        transcript = _transcript(path.stem, data)
    except _DAMAGE as error:
        raise _unreadable(path, "it has none of the shapes that are understood") from error
    if not transcript.lines:
        raise _unreadable(path, "nobody says anything in it")
    beside = sorted(path.parent.glob(f"{path.stem}{_ALIGNED}*.json"))
    named = [each for each in aligned if each.name.startswith(f"{path.stem}{_ALIGNED}")]
    for summary in [*named, *beside][:1]:
        try:
            chunks = tuple(_chunk(each) for each in _json(summary))
        except _DAMAGE as error:
            raise _unreadable(summary, "its chunks have no text and alignment") from error
        transcript = replace(transcript, summaries=_in_order(chunks, len(transcript.lines)))
    return transcript


def _transcript(stem: str, data: Any) -> Transcript:
    if isinstance(data, Mapping) and "TURNS" in data:
        lines = tuple(
            TranscriptLine(
                speakers=_speakers(turn["NAMES"]), text=plain(" ".join(turn["UTTERANCES"]))
            )
            for turn in data["TURNS"]
        )
        return Transcript(title=stem, lines=lines)
    turns = data["turns"] if isinstance(data, Mapping) else data
    title = data.get("title", stem) if isinstance(data, Mapping) else stem
    summaries = data.get("summaries", ()) if isinstance(data, Mapping) else ()
    lines = tuple(
        TranscriptLine(
            speakers=_speakers(turn["speaker"]), text=_text(turn), said_at=_said_at(turn)
        )
        for turn in turns
    )
    given = tuple(
        Summary(start=int(each["start"]), end=int(each["end"]), text=_text(each))
        for each in summaries
    )
    began = _said_at(data) if isinstance(data, Mapping) else None
    return Transcript(
        title=_name(title),
        lines=lines,
        summaries=_in_order(given, len(lines)),
        said_at=began or next((line.said_at for line in lines if line.said_at is not None), None),
    )


def _speakers(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    return tuple(_name(name) for name in names)


def _said_at(value: Mapping[str, Any]) -> Instant | None:
    """When something was said, as RFC 3339, as a date in words or as a number of seconds."""
    said = next((value[name] for name in _TIMES if value.get(name) not in (None, "")), None)
    if said is None:
        return None
    read = read_date(said) if isinstance(said, str | int) else None
    if read is None:
        raise ValueError(said)
    return read.instant


def _name(value: Any) -> str:
    if not isinstance(value, str) or not plain(value):
        raise ValueError(value)
    return plain(value)[:NAME_MAX]


def _text(turn: Mapping[str, Any]) -> str:
    if not isinstance(turn["text"], str):
        raise ValueError(turn)  # noqa: TRY004 - every damage is told alike
    return turn["text"]


def _chunk(data: Mapping[str, Any]) -> Summary:
    span = data["ALIGNMENT"]
    return Summary(
        start=int(span["TURN START"]), end=int(span["TURN END"]), text=plain(data["CHUNK"])
    )


def _in_order(summaries: tuple[Summary, ...], lines: int) -> tuple[Summary, ...]:
    """Those that say something about lines that exist, in the order of the session."""
    sound = [each for each in summaries if each.text and 0 <= each.start <= each.end < lines]
    return tuple(sorted(sound, key=lambda each: (each.end, each.start)))


def _json(path: Path) -> Any:
    try:
        return decode_json(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, "it is no JSON in UTF-8") from error


def _unreadable(path: Path, why: str) -> InvalidInput:
    message = (
        f"{path} cannot be imported: {why}; `canonry import transcript --help` shows the shapes"
    )
    return InvalidInput("transcript.unreadable", message, path=str(path))
