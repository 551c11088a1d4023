"""The entries that one transcript becomes; equal transcripts give equal ids, commit by commit."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from canonry.canon.judging.contents import normalise
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
from canonry.narrative.usecases.transcripts import (
    Stretch,
    Transcript,
    TranscriptLine,
    clipped,
    headline,
    pieces_of,
    plain,
    stretches_of,
    supporting,
)
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
from canonry.values.policy import TextLimits
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind
from canonry.values.time import Instant

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
