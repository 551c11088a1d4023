"""Transcripts as values, and how one is cut: into turns that fit, and into scenes that read well.

Scenes end where a summary's span ends, because that is where the people who were there saw one
thing end and the next begin. Short spans share a scene and very long ones are divided, so that a
scene is a few pages: long enough to be a piece of the story, short enough to be shown whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from canonry.language.texts.sentences import CLOSING, first_sentence, sentence_starts
from canonry.language.texts.words import terms_of
from canonry.values.time import Instant

SCENE_TURNS: Final = 40
"""A scene goes on until it has so many turns."""

SCENE_TURNS_MAX: Final = 250
"""A longer stretch is divided into equal parts."""

PLAIN_SCENE_TURNS: Final = 100
"""How many turns a scene has where no summary says where to cut."""

EVIDENCE_MAX: Final = 24
_TITLE_LENGTH: Final = 90
_WORD_LENGTH: Final = 4
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptLine:
    """One utterance, by one or several speakers, and when it was said if that is known."""

    speakers: tuple[str, ...]
    text: str
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What somebody wrote about the lines `start` to `end`, both included."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was said in one session, in order, when it began, and summaries of stretches of it."""

    title: str
    lines: tuple[TranscriptLine, ...]
    summaries: tuple[Summary, ...] = ()
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The lines of one scene, `start` to `end` both included, with the summaries that end in it.

    `within` is the summary of a longer span that was divided, in all parts but its last.
    """

    title: str
    start: int
    end: int
    summaries: tuple[int, ...]
    within: int | None = None


def stretches_of(transcript: Transcript) -> tuple[Stretch, ...]:
    """The scenes of a transcript; every line lies in exactly one."""
    last = len(transcript.lines) - 1
    ends = sorted({min(each.end, last) for each in transcript.summaries if each.text})
    if not ends:
        ends = list(range(PLAIN_SCENE_TURNS - 1, last, PLAIN_SCENE_TURNS))
    spans: list[tuple[int, int]] = []
    start = 0
    for end in ends:
        if end - start + 1 >= SCENE_TURNS:
            spans.extend(_divided(start, end))
            start = end + 1
    if start <= last:
        short = last - start + 1 < SCENE_TURNS // 2 and spans
        spans[-1:] = [(spans[-1][0], last)] if short else [*spans[-1:], *_divided(start, last)]
    return tuple(_stretch(transcript, start, end) for start, end in spans)


def _divided(start: int, end: int) -> list[tuple[int, int]]:
    length = end - start + 1
    parts = -(-length // SCENE_TURNS_MAX)
    borders = [start + length * part // parts for part in range(parts + 1)]
    return [(low, high - 1) for low, high in pairwise(borders)]


def _stretch(transcript: Transcript, start: int, end: int) -> Stretch:
    last = len(transcript.lines) - 1
    told = tuple(
        number
        for number, each in enumerate(transcript.summaries)
        if each.text and start <= min(each.end, last) <= end
    )
    within = None
    title = f"{transcript.title}, turns {start + 1} to {end + 1}"
    if told:
        title = headline(transcript.summaries[told[0]].text)
    else:
        around = (
            number
            for number, each in enumerate(transcript.summaries)
            if each.text and each.start <= end < each.end
        )
        within = next(around, None)
    if within is not None:
        title = f"Before: {headline(transcript.summaries[within].text)}"
    return Stretch(title=title, start=start, end=end, summaries=told, within=within)


def headline(text: str) -> str:
    """The first sentence of `text`, shortened at a word where it is long."""
    sentence = first_sentence(plain(text).lstrip("\"'[(")).rstrip(CLOSING)
    if len(sentence) <= _TITLE_LENGTH:
        return sentence
    return f"{sentence[:_TITLE_LENGTH].rsplit(' ', 1)[0].rstrip(',;:')} …"


def plain(text: str) -> str:
    """The text in one line, without what cannot be stored."""
    return _SPACE.sub(" ", text.replace("\x00", "")).strip()


def pieces_of(text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most `limit` characters, cut between sentences where possible."""
    rest = text
    while len(rest) > limit:
        window = rest[:limit]
        borders = sentence_starts(window)
        cut = borders[-1] if borders else window.rfind(" ") + 1 or limit
        yield rest[:cut].rstrip()
        rest = rest[cut:].lstrip()
    if rest:
        yield rest


def supporting(transcript: Transcript, summary: Summary) -> tuple[int, ...]:
    """The lines in the summary's span that share the most words with it, in order.

    A span may have hundreds of lines; who asks why an event is true wants those that say it.
    """
    wanted = {term for term in terms_of(summary.text) if len(term) >= _WORD_LENGTH}
    last = len(transcript.lines) - 1
    span = range(max(0, summary.start), min(summary.end, last) + 1)
    shared = {
        line: len(wanted.intersection(terms_of(transcript.lines[line].text))) for line in span
    }
    best = sorted((line for line in span if shared[line]), key=lambda line: (-shared[line], line))
    return tuple(sorted(best[:EVIDENCE_MAX])) or tuple(span[-1:])


def clipped(texts: Sequence[str], limit: int) -> str:
    """The texts one after the other, cut between sentences."""
    return next(pieces_of(" ".join(texts), limit), "")
