"""Transcripts: their lines, and the entries that they become."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from canonry.canon.judging.contents import normalise
from canonry.language.texts.sentences import CLOSING, first_sentence, sentence_starts
from canonry.language.texts.stems import terms_of
from canonry.log.entries import Entry, Made
from canonry.log.items.entities import normalised_name
from canonry.log.items.proposals import ProposalDraft, ProposalStatus, ProposalType
from canonry.log.items.scenes import (
    SceneDraft,
    SceneStatus,
    Speaker,
    StoryDraft,
    StoryStatus,
    StoryType,
    TurnDraft,
)
from canonry.log.items.sources import SnippetDraft, SourceDraft, SourceType
from canonry.values.ids import (
    CommitId,
    EntityId,
    ProposalId,
    SceneId,
    SnippetId,
    SourceId,
    SpaceId,
    StoryId,
    TurnId,
    derived_id,
)
from canonry.values.moments import Instant
from canonry.values.policy import TextLimits
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

# Transcripts as values, and how one is cut: into turns that fit, and into scenes that read well.
#
# Scenes end where a summary's span ends, because that is where the people who were there saw one
# thing end and the next begin. Short spans share a scene and very long ones are divided, so that a
# scene is a few pages: long enough to be a piece of the story, short enough to be shown whole.

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


CONFIDENCE: Final = 0.8
"""How sure a summary is: written by people who were there, and yet from memory."""

INVOLVED_MAX: Final = 12
_TOGETHER: Final = re.compile(r"(?i)^(all|everyone|everybody|group|crowd|audience|cast)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speakers:
    """Who speaks, and as whom; `ids` has the entity of each character by normalised name."""

    gm_names: frozenset[str]
    casting: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, EntityId] = field(default_factory=dict)

    def is_gm(self, speaker: str) -> bool:
        """Whether this speaker leads the game."""
        return normalised_name(speaker) in self.gm_names

    def character(self, speaker: str) -> str | None:
        """The name of the character that the speaker plays; None for many at once."""
        name = plain(speaker)
        if _TOGETHER.match(name) or not name:
            return None
        played = self.casting.get(normalised_name(name)) if self.casting else None
        if played is not None:
            return played
        return name.title() if name.isupper() and len(name) > 2 else name  # noqa: PLR2004 - GM, DM

    def speakers(self, transcripts: Iterable[Transcript]) -> Mapping[str, str]:
        """Every character's name, and the speaker behind it, in order of appearance."""
        found: dict[str, str] = {}
        for transcript in transcripts:
            for line in transcript.lines:
                for speaker in line.speakers:
                    character = self.character(speaker)
                    if character is not None:
                        found.setdefault(character, speaker)
        return found

    def entities(self, line: TranscriptLine) -> tuple[EntityId, ...]:
        """The entities that speak in the line, the game master's too."""
        names = filter(None, map(self.character, line.speakers))
        return tuple(dict.fromkeys(self.ids[normalised_name(name)] for name in names))

    def voice(self, line: TranscriptLine) -> tuple[Speaker, EntityId | None, str]:
        """Who speaks the line, and the text: many at once are named in it, as in a play."""
        if len(line.speakers) == 1 and self.is_gm(line.speakers[0]):
            return Speaker.GM, None, plain(line.text)
        speaking = self.entities(line)
        if len(line.speakers) == 1 and speaking:
            return Speaker.ENTITY, speaking[0], plain(line.text)
        return Speaker.USER, None, f"{', '.join(map(plain, line.speakers))}: {plain(line.text)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedScene:
    """A scene with everything in it, in the order in which it is written."""

    id: SceneId
    entries: tuple[Entry, ...]
    turns: int
    proposals: int
    summary: str | None
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptEntries:
    """Makes the entries of `transcript`; all ids derive from `root`."""

    transcript: Transcript
    space: SpaceId
    root: CommitId
    campaign: StoryId
    proposed_by: str
    limits: TextLimits

    @property
    def source(self) -> Evidence:
        """The reference to the document that the transcript is."""
        return Evidence(kind=EvidenceKind.SOURCE, ref=self._id("source"))

    @property
    def story(self) -> StoryId:
        """The episode."""
        return StoryId(self._id("story"))

    def opening(self) -> tuple[Entry, ...]:
        """The document, the excerpts that its summaries are, and the episode."""
        title = self.transcript.title
        source = SourceDraft(
            id=SourceId(self.source.ref),
            space=self.space,
            doc_id=title,
            title=f"Transcript of {title} and its summary",
            edition=None,
            origin=None,
            source_type=SourceType.SESSION,
            level=CanonLevel.CANON,
            said_at=self.transcript.said_at,
        )
        story = StoryDraft(
            id=self.story,
            space=self.space,
            title=title,
            story_type=StoryType.EPISODE,
            theme=None,
            premise=None,
            parent_id=self.campaign,
            start_time_ref=None,
            status=StoryStatus.PLANNED,
        )
        return (Made(thing=source), Made(thing=story), *self._snippets())

    def scenes(self, cast: Speakers) -> Iterator[PlannedScene]:
        """The scenes in order, each with its turns and then its proposals."""
        for order, stretch in enumerate(stretches_of(self.transcript), 1):
            yield self._scene(order, stretch, cast)

    def _scene(self, order: int, stretch: Stretch, cast: Speakers) -> PlannedScene:
        scene_id = self._scene_id(order)
        lines = self.transcript.lines[stretch.start : stretch.end + 1]
        speaking = dict.fromkeys(entity for line in lines for entity in cast.entities(line))
        scene = SceneDraft(
            id=scene_id,
            space=self.space,
            story_id=self.story,
            title=stretch.title,
            purpose=f"Turns {stretch.start + 1} to {stretch.end + 1} of {self.transcript.title}",
            order=order,
            location_ref=None,
            participants=tuple(speaking),
            status=SceneStatus.ACTIVE,
            said_at=self._said_at(stretch),
            source_id=SourceId(self.source.ref),
        )
        turns = list(self._turns(scene_id, stretch, cast))
        proposals = list(self._proposals(scene_id, stretch, cast, turns))
        told = [plain(self.transcript.summaries[number].text) for number in stretch.summaries]
        if stretch.within is not None:
            told = [f"This leads up to: {plain(self.transcript.summaries[stretch.within].text)}"]
        return PlannedScene(
            id=scene_id,
            entries=(
                Made(thing=scene),
                *(Made(thing=turn) for turn in turns),
                *(Made(thing=proposal) for proposal in proposals),
            ),
            turns=len(turns),
            proposals=len(proposals),
            summary=clipped(told, self.limits.summary) or None,
            said_at=scene.said_at,
        )

    def _said_at(self, stretch: Stretch) -> Instant | None:
        """When a scene began to be said: with the first line that says so, or as the session."""
        lines = self.transcript.lines[stretch.start : stretch.end + 1]
        dated = (line.said_at for line in lines if line.said_at is not None)
        return next(dated, self.transcript.said_at)

    def _turns(self, scene_id: SceneId, stretch: Stretch, cast: Speakers) -> Iterator[TurnDraft]:
        for number in range(stretch.start, stretch.end + 1):
            speaker, entity_id, text = cast.voice(self.transcript.lines[number])
            for piece_number, piece in enumerate(pieces_of(text, self.limits.turn)):
                yield TurnDraft(
                    id=self._turn_id(number, piece_number),
                    space=self.space,
                    scene_id=scene_id,
                    speaker=speaker,
                    entity_id=entity_id,
                    text=piece,
                    resolution_ref=None,
                    said_at=self.transcript.lines[number].said_at,
                )

    def _proposals(
        self, scene_id: SceneId, stretch: Stretch, cast: Speakers, turns: list[TurnDraft]
    ) -> Iterator[ProposalDraft]:
        places = {turn.id: index for index, turn in enumerate(turns)}
        for number in stretch.summaries:
            summary = self.transcript.summaries[number]
            lines = supporting(self.transcript, summary)
            speaking = Counter(
                entity for line in lines for entity in cast.entities(self.transcript.lines[line])
            )
            involved = [entity for entity, _ in speaking.most_common(INVOLVED_MAX)]
            content = {
                "title": headline(summary.text)[: self.limits.name],
                "description": clipped([plain(summary.text)], self.limits.description),
                "involved_entity_ids": involved or list(cast.ids.values())[:INVOLVED_MAX],
            }
            cited = {self._turn_id(line, 0) for line in lines}
            said_last = next((turn for turn in reversed(turns) if turn.id in cited), None)
            yield ProposalDraft(
                id=ProposalId(self._id(f"proposal:{number}")),
                space=self.space,
                scene_id=scene_id,
                turn_id=said_last.id if said_last else None,
                turn_index=places[said_last.id] if said_last else None,
                type=ProposalType.EVENT,
                content=normalise(ProposalType.EVENT, content, limits=self.limits),
                original=content,
                evidence=(self.source, self._snippet(number), *map(self._turn_evidence, lines)),
                confidence=CONFIDENCE,
                authority=Authority.SOURCE,
                proposed_by=self.proposed_by,
                status=ProposalStatus.PENDING,
            )

    def _snippets(self) -> Iterator[Entry]:
        for number, summary in enumerate(self.transcript.summaries):
            if not summary.text:
                continue
            yield Made(
                thing=SnippetDraft(
                    id=SnippetId(self._snippet(number).ref),
                    space=self.space,
                    source_id=SourceId(self.source.ref),
                    text=clipped([plain(summary.text)], self.limits.snippet),
                    page=None,
                    section=f"turns {summary.start + 1} to {summary.end + 1}",
                    index=number,
                )
            )

    def _turn_evidence(self, line: int) -> Evidence:
        return Evidence(kind=EvidenceKind.TURN, ref=self._turn_id(line, 0))

    def _snippet(self, number: int) -> Evidence:
        return Evidence(kind=EvidenceKind.SNIPPET, ref=self._id(f"snippet:{number}"))

    def _turn_id(self, line: int, piece: int) -> TurnId:
        return TurnId(self._id(f"turn:{line}:{piece}"))

    def _scene_id(self, order: int) -> SceneId:
        return SceneId(self._id(f"scene:{order}"))

    def _id(self, label: str) -> str:
        return derived_id(self.root, label)
