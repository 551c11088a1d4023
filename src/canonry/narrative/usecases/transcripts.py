"""Transcripts: their lines, the log entries for them, and their import."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Final

from canonry.canon.canonization.canonize_scene import canonize_scene
from canonry.canon.commands.universes import universe_named
from canonry.canon.judging.contents import normalise_content
from canonry.canon.judging.known_items import Backing, make_entity
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, first_made
from canonry.canon.session.paging import every_item, every_match
from canonry.language.texts.sentences import CLOSING, first_sentence, sentence_starts
from canonry.language.texts.stems import terms_of
from canonry.log.entries import Entry, Made, SaidAt
from canonry.log.folding import name_key, stories_key
from canonry.log.items.entities import EntityClass, normalised_name
from canonry.log.items.proposals import ProposalDraft, ProposalStatus, ProposalType
from canonry.log.items.scenes import (
    Scene,
    SceneDraft,
    SceneStatus,
    Speaker,
    Story,
    StoryDraft,
    StoryStatus,
    StoryType,
    TurnDraft,
)
from canonry.log.items.sources import SnippetDraft, SourceDraft, SourceType
from canonry.log.schemas.narrative import EntityType
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.view import MaintenanceProgress
from canonry.values.errors import Unavailable
from canonry.values.ids import (
    CommitId,
    EntityId,
    NewId,
    ProposalId,
    SceneId,
    SnippetId,
    SourceId,
    SpaceId,
    StoryId,
    TurnId,
    derived_id,
)
from canonry.values.json_values import encode_json
from canonry.values.moments import Instant
from canonry.values.policy import TextLimits
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

# Transcripts as values, and how one is divided into scenes. Scenes end with the span of a summary,
# because its author saw a new part begin there. Short spans share a scene and very long ones are
# divided. A scene therefore has a few pages: a part of the story that can be shown completely.

SCENE_TURNS: Final = 40
"""A scene continues until it has this many turns."""

SCENE_TURNS_MAX: Final = 250
"""A longer stretch is divided into equal parts."""

PLAIN_SCENE_TURNS: Final = 100
"""The turns of a scene if no summary shows where to divide."""

EVIDENCE_MAX: Final = 24  # a reader checks a few turns, not a whole scene
_TITLE_LENGTH: Final = 90
_WORD_LENGTH: Final = 4
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptLine:
    """One utterance of one or several speakers, with its date if it is known."""

    speakers: tuple[str, ...]
    text: str
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary of the lines `start` to `end`, both included."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The lines of one session in order, its date, and summaries of parts of it."""

    title: str
    lines: tuple[TranscriptLine, ...]
    summaries: tuple[Summary, ...] = ()
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSpan:
    """The lines of one scene, `start` to `end` both included, with the summaries that end there.

    `within` is the summary of a divided longer span, in all parts but its last.
    """

    title: str
    start: int
    end: int
    summaries: tuple[int, ...]
    within: int | None = None


def scene_spans(transcript: Transcript) -> tuple[SceneSpan, ...]:
    """Return the scenes of a transcript; every line belongs to exactly one."""
    last = len(transcript.lines) - 1
    ends = sorted({min(each.end, last) for each in transcript.summaries if each.text})
    if not ends:
        ends = list(range(PLAIN_SCENE_TURNS - 1, last, PLAIN_SCENE_TURNS))
    spans: list[tuple[int, int]] = []
    start = 0
    for end in ends:
        if end - start + 1 >= SCENE_TURNS:
            spans.extend(_divide_span(start, end))
            start = end + 1
    if start <= last:
        short = last - start + 1 < SCENE_TURNS // 2 and spans
        spans[-1:] = [(spans[-1][0], last)] if short else [*spans[-1:], *_divide_span(start, last)]
    return tuple(_make_span(transcript, start, end) for start, end in spans)


def _divide_span(start: int, end: int) -> list[tuple[int, int]]:
    length = end - start + 1
    parts = -(-length // SCENE_TURNS_MAX)
    borders = [start + length * part // parts for part in range(parts + 1)]
    return [(low, high - 1) for low, high in pairwise(borders)]


def _make_span(transcript: Transcript, start: int, end: int) -> SceneSpan:
    last = len(transcript.lines) - 1
    summary_numbers = tuple(
        number
        for number, each in enumerate(transcript.summaries)
        if each.text and start <= min(each.end, last) <= end
    )
    within = None
    title = f"{transcript.title}, turns {start + 1} to {end + 1}"
    if summary_numbers:
        title = headline_of(transcript.summaries[summary_numbers[0]].text)
    else:
        around = (
            number
            for number, each in enumerate(transcript.summaries)
            if each.text and each.start <= end < each.end
        )
        within = next(around, None)
    if within is not None:
        title = f"Before: {headline_of(transcript.summaries[within].text)}"
    return SceneSpan(title=title, start=start, end=end, summaries=summary_numbers, within=within)


def headline_of(text: str) -> str:
    """Return the first sentence of `text`, shortened at a word if it is long."""
    sentence = first_sentence(plain_text(text).lstrip("\"'[(")).rstrip(CLOSING)
    if len(sentence) <= _TITLE_LENGTH:
        return sentence
    return f"{sentence[:_TITLE_LENGTH].rsplit(' ', 1)[0].rstrip(',;:')} …"


def plain_text(text: str) -> str:
    """Return the text in one line, without characters that cannot be stored."""
    return _SPACE.sub(" ", text.replace("\x00", "")).strip()


def pieces_of(text: str, limit: int) -> Iterator[str]:
    """Yield pieces of at most `limit` characters, cut between sentences if possible."""
    rest = text
    while len(rest) > limit:
        window = rest[:limit]
        borders = sentence_starts(window)
        cut = borders[-1] if borders else window.rfind(" ") + 1 or limit
        yield rest[:cut].rstrip()
        rest = rest[cut:].lstrip()
    if rest:
        yield rest


def supporting_lines(transcript: Transcript, summary: Summary) -> tuple[int, ...]:
    """Return the lines of the summary's span that share the most words with it, in order.

    A span may have hundreds of lines; an explanation should cite those that support it.
    """
    wanted = {term for term in terms_of(summary.text) if len(term) >= _WORD_LENGTH}
    last = len(transcript.lines) - 1
    span = range(max(0, summary.start), min(summary.end, last) + 1)
    shared = {
        line: len(wanted.intersection(terms_of(transcript.lines[line].text))) for line in span
    }
    best = sorted((line for line in span if shared[line]), key=lambda line: (-shared[line], line))
    return tuple(sorted(best[:EVIDENCE_MAX])) or tuple(span[-1:])


def clip_texts(texts: Sequence[str], limit: int) -> str:
    """Join the texts, and shorten them between sentences."""
    return next(pieces_of(" ".join(texts), limit), "")


CONFIDENCE: Final = 0.8
"""The confidence of a summary: its authors were present, but wrote from memory."""

INVOLVED_MAX: Final = 12  # the minor characters of a scene are not its subject
_TOGETHER: Final = re.compile(r"(?i)^(all|everyone|everybody|group|crowd|audience|cast)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speakers:
    """The speakers and their characters; `ids` maps normalised names to entities."""

    gm_names: frozenset[str]
    casting: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, EntityId] = field(default_factory=dict)

    def is_gm(self, speaker: str) -> bool:
        """Return whether this speaker leads the game."""
        return normalised_name(speaker) in self.gm_names

    def character_of(self, speaker: str) -> str | None:
        """Return the character that the speaker plays; None: many speakers at once."""
        name = plain_text(speaker)
        if _TOGETHER.match(name) or not name:
            return None
        played = self.casting.get(normalised_name(name)) if self.casting else None
        if played is not None:
            return played
        return name.title() if name.isupper() and len(name) > 2 else name  # noqa: PLR2004 - GM, DM

    def speakers_of(self, transcripts: Iterable[Transcript]) -> Mapping[str, str]:
        """Map every character's name to its speaker, in order of appearance."""
        found: dict[str, str] = {}
        for transcript in transcripts:
            for line in transcript.lines:
                for speaker in line.speakers:
                    character = self.character_of(speaker)
                    if character is not None:
                        found.setdefault(character, speaker)
        return found

    def speaking_entities(self, line: TranscriptLine) -> tuple[EntityId, ...]:
        """Return the entities that speak in the line, the game master's too."""
        names = filter(None, map(self.character_of, line.speakers))
        return tuple(dict.fromkeys(self.ids[normalised_name(name)] for name in names))

    def voice_of(self, line: TranscriptLine) -> tuple[Speaker, EntityId | None, str]:
        """Return the speaker and text of the line; several speakers are named in the text."""
        if len(line.speakers) == 1 and self.is_gm(line.speakers[0]):
            return Speaker.GM, None, plain_text(line.text)
        speaking = self.speaking_entities(line)
        if len(line.speakers) == 1 and speaking:
            return Speaker.ENTITY, speaking[0], plain_text(line.text)
        return (
            Speaker.USER,
            None,
            f"{', '.join(map(plain_text, line.speakers))}: {plain_text(line.text)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedScene:
    """A scene with its content, in the order of writing."""

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
        """The reference to the transcript as a document."""
        return Evidence(kind=EvidenceKind.SOURCE, ref=self._derive_id("source"))

    @property
    def story(self) -> StoryId:
        """The id of the episode."""
        return StoryId(self._derive_id("story"))

    def opening_entries(self) -> tuple[Entry, ...]:
        """Return the entries for the document, its summaries as excerpts, and the episode."""
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
        return (Made(thing=source), Made(thing=story), *self._make_snippets())

    def plan_scenes(self, cast: Speakers) -> Iterator[PlannedScene]:
        """Yield the scenes in order, each with its turns and then its proposals."""
        for order, span in enumerate(scene_spans(self.transcript), 1):
            yield self._plan_scene(order, span, cast)

    def _plan_scene(self, order: int, span: SceneSpan, cast: Speakers) -> PlannedScene:
        scene_id = SceneId(self._derive_id(f"scene:{order}"))
        lines = self.transcript.lines[span.start : span.end + 1]
        speaking = dict.fromkeys(
            entity for line in lines for entity in cast.speaking_entities(line)
        )
        scene = SceneDraft(
            id=scene_id,
            space=self.space,
            story_id=self.story,
            title=span.title,
            purpose=f"Turns {span.start + 1} to {span.end + 1} of {self.transcript.title}",
            order=order,
            location_ref=None,
            participants=tuple(speaking),
            status=SceneStatus.ACTIVE,
            said_at=self._said_at(span),
            source_id=SourceId(self.source.ref),
        )
        turns = list(self._make_turns(scene_id, span, cast))
        proposals = list(self._make_proposals(scene_id, span, cast, turns))
        summaries = [
            plain_text(self.transcript.summaries[number].text) for number in span.summaries
        ]
        if span.within is not None:
            summaries = [
                f"This leads up to: {plain_text(self.transcript.summaries[span.within].text)}"
            ]
        return PlannedScene(
            id=scene_id,
            entries=(
                Made(thing=scene),
                *(Made(thing=turn) for turn in turns),
                *(Made(thing=proposal) for proposal in proposals),
            ),
            turns=len(turns),
            proposals=len(proposals),
            summary=clip_texts(summaries, self.limits.summary) or None,
            said_at=scene.said_at,
        )

    def _said_at(self, span: SceneSpan) -> Instant | None:
        """Return the date of a scene: that of its first dated line, or of the session."""
        lines = self.transcript.lines[span.start : span.end + 1]
        dated = (line.said_at for line in lines if line.said_at is not None)
        return next(dated, self.transcript.said_at)

    def _make_turns(
        self, scene_id: SceneId, span: SceneSpan, cast: Speakers
    ) -> Iterator[TurnDraft]:
        for number in range(span.start, span.end + 1):
            speaker, entity_id, text = cast.voice_of(self.transcript.lines[number])
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

    def _make_proposals(
        self, scene_id: SceneId, span: SceneSpan, cast: Speakers, turns: list[TurnDraft]
    ) -> Iterator[ProposalDraft]:
        turn_indexes = {turn.id: index for index, turn in enumerate(turns)}
        for number in span.summaries:
            summary = self.transcript.summaries[number]
            lines = supporting_lines(self.transcript, summary)
            speaking = Counter(
                entity
                for line in lines
                for entity in cast.speaking_entities(self.transcript.lines[line])
            )
            involved = [entity for entity, _ in speaking.most_common(INVOLVED_MAX)]
            content = {
                "title": headline_of(summary.text)[: self.limits.name],
                "description": clip_texts([plain_text(summary.text)], self.limits.description),
                "involved_entity_ids": involved or list(cast.ids.values())[:INVOLVED_MAX],
            }
            cited = [self._turn_id(line, 0) for line in lines]
            words = (Evidence(kind=EvidenceKind.TURN, ref=turn_id) for turn_id in cited)
            said_last = next((turn for turn in reversed(turns) if turn.id in cited), None)
            yield ProposalDraft(
                id=ProposalId(self._derive_id(f"proposal:{number}")),
                space=self.space,
                scene_id=scene_id,
                turn_id=said_last.id if said_last else None,
                turn_index=turn_indexes[said_last.id] if said_last else None,
                type=ProposalType.EVENT,
                content=normalise_content(ProposalType.EVENT, content, limits=self.limits),
                original=content,
                evidence=(self.source, self._cite_snippet(number), *words),
                confidence=CONFIDENCE,
                authority=Authority.SOURCE,
                proposed_by=self.proposed_by,
                status=ProposalStatus.PENDING,
            )

    def _make_snippets(self) -> Iterator[Entry]:
        for number, summary in enumerate(self.transcript.summaries):
            if not summary.text:
                continue
            yield Made(
                thing=SnippetDraft(
                    id=SnippetId(self._cite_snippet(number).ref),
                    space=self.space,
                    source_id=SourceId(self.source.ref),
                    text=clip_texts([plain_text(summary.text)], self.limits.snippet),
                    page=None,
                    section=f"turns {summary.start + 1} to {summary.end + 1}",
                    index=number,
                )
            )

    def _cite_snippet(self, number: int) -> Evidence:
        return Evidence(kind=EvidenceKind.SNIPPET, ref=self._derive_id(f"snippet:{number}"))

    def _turn_id(self, line: int, piece: int) -> TurnId:
        return TurnId(self._derive_id(f"turn:{line}:{piece}"))

    def _derive_id(self, label: str) -> str:
        return derived_id(self.root, label)


# Import a transcript: a universe, a story, scenes and turns, and its summaries as event proposals.
# The summaries are a written record of the session. They become a source and are proposed with the
# authority `source`, which passes the threshold; the matching turns are their evidence, and the
# game master can still retcon mistakes. All ids derive from the transcript, so that a second run
# adds nothing and an interrupted one is completed.

ENTRIES_PER_COMMIT: Final = 250
PLAN_VERSION: Final = 1
"""Increase it when transcripts are divided differently; a resumed import must match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """The transcripts to import and their universe; `casting` maps speakers to characters."""

    universe: str
    story: str
    transcripts: tuple[Transcript, ...]
    gm_names: frozenset[str]
    casting: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class TranscriptReport:
    """The result of one transcript."""

    title: str
    story_id: str
    turns: int = 0
    scenes: int = 0
    proposals: int = 0
    accepted: int = 0
    rejected: list[tuple[str, str, str]] = field(default_factory=list)
    """(proposal, rule, rationale) of each proposal that was not accepted."""

    writing_seconds: float = 0.0
    judging_seconds: float = 0.0
    commits: int = 0
    commits_known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The results of all transcripts."""

    universe_id: str
    story_id: str
    entities: int
    transcripts: tuple[TranscriptReport, ...]


async def import_transcripts(
    canon: Canon, caller: Caller, request: ImportRequest, report_progress: MaintenanceProgress
) -> ImportReport:
    """Import all missing entries, then canonize the scenes that are still open.

    Raises:
        CanonryError: of any of its writes; run it again to continue.
    """
    description = f"The world of {request.universe}, as it was told at the table."
    space = await universe_named(canon, caller, request.universe, description=description)
    campaign = await _require_campaign(canon, caller, space, request.story)
    cast = Speakers(gm_names=request.gm_names, casting=request.casting)
    plans = [
        _make_plan(canon, caller, space, request, each, campaign=campaign)
        for each in request.transcripts
    ]
    for plan in plans:
        await _write_entries(canon, plan.caller, space, "opening", plan.entries.opening_entries())
    ids = await _require_characters(canon, caller, space, cast, plans)
    cast = replace(cast, ids=ids)
    progress = _Progress(
        report=report_progress, total=sum(len(each.lines) for each in request.transcripts)
    )
    reports = [await _import_one(canon, caller, plan, cast, progress) for plan in plans]
    return ImportReport(
        universe_id=space, story_id=campaign, entities=len(ids), transcripts=tuple(reports)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A transcript in progress; `caller` has the idempotency key of the import."""

    transcript: Transcript
    entries: TranscriptEntries
    caller: Caller


@dataclass(slots=True, kw_only=True)
class _Progress:
    report: MaintenanceProgress
    total: int
    done: int = 0

    def count_turns(self, turns: int) -> None:
        self.done = min(self.total, self.done + turns)
        self.report(self.done, self.total)


def _make_plan(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    request: ImportRequest,
    transcript: Transcript,
    *,
    campaign: StoryId,
) -> _Plan:
    limits = canon.policy.limits
    identity = encode_json(
        [
            PLAN_VERSION,
            campaign,
            transcript.title,
            [[line.speakers, line.text] for line in transcript.lines],
            [[each.start, each.end, each.text] for each in transcript.summaries],
            sorted(request.gm_names),
            sorted(request.casting.items()),
            [limits.turn, limits.description, limits.name, limits.summary, limits.snippet],
        ]
    )
    digest = sha256(identity).hexdigest()
    known = replace(caller, idempotency_key=digest)
    entries = TranscriptEntries(
        transcript=transcript,
        space=space,
        root=known.commit_id(space, canon.identities.new_id),
        campaign=campaign,
        proposed_by=caller.actor.agent_id,
        limits=limits,
    )
    return _Plan(transcript=transcript, entries=entries, caller=known)


async def _require_campaign(canon: Canon, caller: Caller, space: SpaceId, title: str) -> StoryId:
    """Return the campaign of that title; create it if there is none."""

    async def prepare_change(new_id: NewId) -> Change:
        known = await _find_campaign(canon, space, title)
        if known is not None:
            return Change(entries=(), reads=frozenset())
        story = StoryDraft(
            id=StoryId(new_id("story")),
            space=space,
            title=title,
            story_type=StoryType.CAMPAIGN,
            theme=None,
            premise=None,
            parent_id=None,
            start_time_ref=None,
            status=StoryStatus.ACTIVE,
        )
        return Change(entries=(Made(thing=story),), reads=frozenset((stories_key(space),)))

    receipt = await commit_change(canon, caller, space, prepare_change)
    if receipt.entries:
        return first_made(receipt, StoryDraft).id
    found = await _find_campaign(canon, space, title)
    if found is None:
        message = "The campaign was removed during the import. Run the import again."
        raise Unavailable("import.campaign-gone", message)
    return found.id


async def _find_campaign(canon: Canon, space: SpaceId, title: str) -> Story | None:
    async for story in every_item(partial(canon.state.stories, space)):
        if story.parent_id is None and normalised_name(story.title) == normalised_name(title):
            return story
    return None


async def _require_characters(
    canon: Canon, caller: Caller, space: SpaceId, cast: Speakers, plans: Sequence[_Plan]
) -> Mapping[str, EntityId]:
    """Map normalised names to the characters' entities; create missing ones."""
    speakers = cast.speakers_of(plan.transcript for plan in plans)
    heard = [(plan, frozenset(cast.speakers_of((plan.transcript,)))) for plan in plans]

    async def prepare_change(new_id: NewId) -> Change[Mapping[str, EntityId]]:
        ids: dict[str, EntityId] = {}
        entries: list[Entry] = []
        for number, (name, speaker) in enumerate(speakers.items()):
            known = await canon.state.entities_named(space, EntityType.CHARACTER, name)
            instances = [each for each in known if each.entity_class is EntityClass.INSTANCE]
            if instances:
                ids[normalised_name(name)] = instances[0].merged_into or instances[0].id
                continue
            present = [plan for plan, names in heard if name in names]
            role = "Leads the game" if cast.is_gm(speaker) else "Speaks"
            labelled = lambda label, number=number: new_id(f"{number}:{label}")  # noqa: E731
            entity_id, made = make_entity(
                labelled,
                Backing(
                    space=space,
                    authority=Authority.SOURCE,
                    confidence=1.0,
                    evidence=tuple(plan.entries.source for plan in present),
                ),
                entity_class=EntityClass.INSTANCE,
                entity_type=EntityType.CHARACTER,
                name=name,
                description=f"{role} in {', '.join(p.transcript.title for p in present)}.",
                properties={"speaker": plain_text(speaker)},
            )
            ids[normalised_name(name)] = entity_id
            entries.extend(made)
        reads = frozenset(name_key(EntityType.CHARACTER, name) for name in speakers)
        return Change(entries=tuple(entries), reads=reads, found=ids)

    # Characters are found by name and need no key: existing ones are not created again.
    named = replace(caller, idempotency_key=None)
    return (await commit_change(canon, named, space, prepare_change)).require_found()


async def _import_one(
    canon: Canon, caller: Caller, plan: _Plan, cast: Speakers, progress: _Progress
) -> TranscriptReport:
    entries, space = plan.entries, plan.entries.space
    report = TranscriptReport(title=plan.transcript.title, story_id=entries.story)
    started = canon.clock.monotonic()
    scenes: list[PlannedScene] = []
    waiting: list[Entry] = []
    for scene in entries.plan_scenes(cast):
        scenes.append(scene)
        report.turns += scene.turns
        waiting.extend(scene.entries)
        while len(waiting) >= ENTRIES_PER_COMMIT:
            batch, waiting = waiting[:ENTRIES_PER_COMMIT], waiting[ENTRIES_PER_COMMIT:]
            await _write_next(canon, plan, report, batch)
            progress.count_turns(len(batch))
    if waiting:
        await _write_next(canon, plan, report, waiting)
    progress.count_turns(len(waiting))
    await _date_scenes(canon, caller, space, scenes)
    report.scenes = len(scenes)
    report.writing_seconds = canon.clock.monotonic() - started
    started = canon.clock.monotonic()
    await _canonize_scenes(canon, caller, space, scenes, report)
    report.judging_seconds = canon.clock.monotonic() - started
    return report


async def _date_scenes(
    canon: Canon, caller: Caller, space: SpaceId, scenes: Sequence[PlannedScene]
) -> None:
    """Set the dates of scenes that an earlier import made without them."""
    wanted = {scene.id: scene.said_at for scene in scenes if scene.said_at is not None}
    if not wanted:
        return
    entries = [
        SaidAt(thing_id=found.id, said_at=wanted[found.id])
        for found in (await canon.space_scope(space).items_by_id(wanted)).values()
        if isinstance(found, Scene) and found.said_at != wanted[found.id]
    ]
    if not entries:
        return

    async def prepare_change(_: NewId) -> Change:
        return Change(entries=tuple(entries), reads=frozenset())

    await commit_change(canon, replace(caller, idempotency_key=None), space, prepare_change)


async def _write_next(
    canon: Canon, plan: _Plan, report: TranscriptReport, batch: Sequence[Entry]
) -> None:
    number = report.commits + report.commits_known
    if await _write_entries(canon, plan.caller, plan.entries.space, str(number), batch):
        report.commits_known += 1
    else:
        report.commits += 1


async def _write_entries(
    canon: Canon, caller: Caller, space: SpaceId, label: str, entries: Sequence[Entry]
) -> bool:
    """Write the entries in one commit, unless an earlier run did; return whether one did."""

    async def prepare_change(new_id: NewId) -> Change:
        del new_id  # the ids derive from the transcript
        return Change(entries=tuple(entries), reads=frozenset())

    keyed = replace(caller, idempotency_key=f"{caller.idempotency_key}:{label}")
    return (await commit_change(canon, keyed, space, prepare_change)).replayed


async def _canonize_scenes(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    scenes: Sequence[PlannedScene],
    report: TranscriptReport,
) -> None:
    """Canonize open scenes in order, and count the decisions on their proposals."""
    for scene in scenes:
        found = await canon.space_scope(space).find_item(scene.id)
        if isinstance(found, Scene) and found.status is not SceneStatus.COMPLETED:
            await canonize_scene(canon, caller, scene.id, summary=scene.summary)
        query = ProposalQuery(spaces=frozenset((space,)), scene_id=scene.id)
        async for proposal in every_match(canon.documents.proposals, query):
            report.proposals += 1
            if proposal.status is ProposalStatus.ACCEPTED:
                report.accepted += 1
            elif proposal.decision is not None:
                decision = proposal.decision
                report.rejected.append((proposal.id, decision.rule, decision.rationale))
