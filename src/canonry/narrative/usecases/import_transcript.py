"""Import a transcript: a universe, a story, scenes and turns, its summaries as event proposals.

The summaries are a written record of the session, so they are registered as a source and proposed
with the authority `source`: their word passes the threshold, the turns that say the same are their
evidence, and the game master can still retcon what they got wrong. Everything has an id that
follows from the transcript, so a second run adds nothing and an interrupted one is completed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Final

from canonry.canon.canonization.canonize_scene import canonize_scene
from canonry.canon.commands.universes import universe_named
from canonry.canon.judging.making import Backing, make_entity
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, the_made
from canonry.canon.session.paging import every_item, every_match
from canonry.log.entries import Entry, Made, SaidAt
from canonry.log.folding import name_key, stories_key
from canonry.log.items.entities import EntityClass, normalised_name
from canonry.log.items.proposals import ProposalStatus
from canonry.log.items.scenes import Scene, SceneStatus, Story, StoryDraft, StoryStatus, StoryType
from canonry.log.schemas.narrative import EntityType
from canonry.narrative.usecases.transcripts import (
    PlannedScene,
    Speakers,
    Transcript,
    TranscriptEntries,
    plain,
)
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.view import UpkeepProgress
from canonry.values.errors import Unavailable
from canonry.values.ids import EntityId, NewId, SpaceId, StoryId
from canonry.values.json_values import encode_json
from canonry.values.provenance import Authority

ENTRIES_PER_COMMIT: Final = 250
PLAN_VERSION: Final = 1
"""Grows when the same transcript would be cut differently; a resumed import must match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What to import, and where to; `casting` names the character that a speaker plays."""

    universe: str
    story: str
    transcripts: tuple[Transcript, ...]
    gm_names: frozenset[str]
    casting: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class TranscriptReport:
    """What became of one transcript."""

    title: str
    story_id: str
    turns: int = 0
    scenes: int = 0
    proposals: int = 0
    accepted: int = 0
    rejected: list[tuple[str, str, str]] = field(default_factory=list)
    """(proposal, rule, rationale) of each proposal that did not pass."""

    writing_seconds: float = 0.0
    judging_seconds: float = 0.0
    commits: int = 0
    commits_known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of all of them."""

    universe_id: str
    story_id: str
    entities: int
    transcripts: tuple[TranscriptReport, ...]


async def import_transcripts(
    canon: Canon, caller: Caller, request: ImportRequest, told: UpkeepProgress
) -> ImportReport:
    """Import everything that is not there yet, then canonize the scenes that are still open.

    Raises:
        CanonryError: as the writes that it consists of; run it again to go on.
    """
    description = f"The world of {request.universe}, as it was told at the table."
    space = await universe_named(canon, caller, request.universe, description=description)
    campaign = await _campaign(canon, caller, space, request.story)
    cast = Speakers(gm_names=request.gm_names, casting=request.casting)
    plans = [
        _plan(canon, caller, space, request, each, campaign=campaign)
        for each in request.transcripts
    ]
    for plan in plans:
        await _commit(canon, plan.caller, space, "opening", plan.entries.opening())
    ids = await _characters(canon, caller, space, cast, plans)
    cast = replace(cast, ids=ids)
    progress = _Progress(told=told, total=sum(len(each.lines) for each in request.transcripts))
    reports = [await _import_one(canon, caller, plan, cast, progress) for plan in plans]
    return ImportReport(
        universe_id=space, story_id=campaign, entities=len(ids), transcripts=tuple(reports)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A transcript on its way; `caller` carries the key under which a retry is known."""

    transcript: Transcript
    entries: TranscriptEntries
    caller: Caller


@dataclass(slots=True, kw_only=True)
class _Progress:
    told: UpkeepProgress
    total: int
    done: int = 0

    def more(self, turns: int) -> None:
        self.done = min(self.total, self.done + turns)
        self.told(self.done, self.total)


def _plan(
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
        root=known.commit_id(space, canon.identities.fresh),
        campaign=campaign,
        proposed_by=caller.actor.agent_id,
        limits=limits,
    )
    return _Plan(transcript=transcript, entries=entries, caller=known)


async def _campaign(canon: Canon, caller: Caller, space: SpaceId, title: str) -> StoryId:
    """The campaign of that title; made if there is none."""

    async def prepare(new_id: NewId) -> Change:
        known = await _story(canon, space, title)
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

    receipt = await commit_change(canon, caller, space, prepare)
    if receipt.entries:
        return the_made(receipt, StoryDraft).id
    found = await _story(canon, space, title)
    if found is None:
        message = "the campaign went away while it was looked for; run the import again"
        raise Unavailable("import.campaign-gone", message)
    return found.id


async def _story(canon: Canon, space: SpaceId, title: str) -> Story | None:
    async for story in every_item(partial(canon.state.stories, space)):
        if story.parent_id is None and normalised_name(story.title) == normalised_name(title):
            return story
    return None


async def _characters(
    canon: Canon, caller: Caller, space: SpaceId, cast: Speakers, plans: Sequence[_Plan]
) -> Mapping[str, EntityId]:
    """The entity of every character by normalised name; those that are missing are made."""
    speakers = cast.speakers(plan.transcript for plan in plans)
    heard = [(plan, frozenset(cast.speakers((plan.transcript,)))) for plan in plans]

    async def prepare(new_id: NewId) -> Change[Mapping[str, EntityId]]:
        ids: dict[str, EntityId] = {}
        entries: list[Entry] = []
        for number, (name, speaker) in enumerate(speakers.items()):
            known = await canon.state.entities_named(space, EntityType.CHARACTER, name)
            instances = [each for each in known if each.entity_class is EntityClass.INSTANCE]
            if instances:
                ids[normalised_name(name)] = instances[0].merged_into or instances[0].id
                continue
            present = [plan for plan, names in heard if name in names]
            labelled = lambda label, number=number: new_id(f"{number}:{label}")  # noqa: E731
            entity_id, made = make_entity(
                labelled,
                _backing(space, present),
                entity_class=EntityClass.INSTANCE,
                entity_type=EntityType.CHARACTER,
                name=name,
                description=_description(cast, speaker, present),
                properties={"speaker": plain(speaker)},
            )
            ids[normalised_name(name)] = entity_id
            entries.extend(made)
        reads = frozenset(name_key(EntityType.CHARACTER, name) for name in speakers)
        return Change(entries=tuple(entries), reads=reads, found=ids)

    # Found by their names, they need no key: whoever is there already is not made again.
    named = replace(caller, idempotency_key=None)
    return (await commit_change(canon, named, space, prepare)).prepared()


def _backing(space: SpaceId, present: Sequence[_Plan]) -> Backing:
    return Backing(
        space=space,
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=tuple(plan.entries.source for plan in present),
    )


def _description(cast: Speakers, speaker: str, present: Sequence[_Plan]) -> str:
    titles = ", ".join(plan.transcript.title for plan in present)
    return f"{'Leads the game' if cast.is_gm(speaker) else 'Speaks'} in {titles}."


async def _import_one(
    canon: Canon, caller: Caller, plan: _Plan, cast: Speakers, progress: _Progress
) -> TranscriptReport:
    entries, space = plan.entries, plan.entries.space
    report = TranscriptReport(title=plan.transcript.title, story_id=entries.story)
    started = canon.clock.monotonic()
    scenes: list[PlannedScene] = []
    waiting: list[Entry] = []
    for scene in entries.scenes(cast):
        scenes.append(scene)
        report.turns += scene.turns
        waiting.extend(scene.entries)
        while len(waiting) >= ENTRIES_PER_COMMIT:
            batch, waiting = waiting[:ENTRIES_PER_COMMIT], waiting[ENTRIES_PER_COMMIT:]
            await _next(canon, plan, report, batch)
            progress.more(len(batch))
    if waiting:
        await _next(canon, plan, report, waiting)
    progress.more(len(waiting))
    await _date(canon, caller, space, scenes)
    report.scenes = len(scenes)
    report.writing_seconds = canon.clock.monotonic() - started
    started = canon.clock.monotonic()
    await _canonize(canon, caller, space, scenes, report)
    report.judging_seconds = canon.clock.monotonic() - started
    return report


async def _date(
    canon: Canon, caller: Caller, space: SpaceId, scenes: Sequence[PlannedScene]
) -> None:
    """Tell when scenes were played that an import without their times has made."""
    wanted = {scene.id: scene.said_at for scene in scenes if scene.said_at is not None}
    if not wanted:
        return
    entries = [
        SaidAt(thing_id=found.id, said_at=wanted[found.id])
        for found in (await canon.within(space).things(wanted)).values()
        if isinstance(found, Scene) and found.said_at != wanted[found.id]
    ]
    if not entries:
        return

    async def prepare(_: NewId) -> Change:
        return Change(entries=tuple(entries), reads=frozenset())

    await commit_change(canon, replace(caller, idempotency_key=None), space, prepare)


async def _next(
    canon: Canon, plan: _Plan, report: TranscriptReport, batch: Sequence[Entry]
) -> None:
    number = report.commits + report.commits_known
    if await _commit(canon, plan.caller, plan.entries.space, str(number), batch):
        report.commits_known += 1
    else:
        report.commits += 1


async def _commit(
    canon: Canon, caller: Caller, space: SpaceId, label: str, entries: Sequence[Entry]
) -> bool:
    """Write the entries in one commit, unless an earlier run has; whether one had."""

    async def prepare(new_id: NewId) -> Change:
        del new_id  # the ids follow from the transcript
        return Change(entries=tuple(entries), reads=frozenset())

    keyed = replace(caller, idempotency_key=f"{caller.idempotency_key}:{label}")
    return (await commit_change(canon, keyed, space, prepare)).replayed


async def _canonize(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    scenes: Sequence[PlannedScene],
    report: TranscriptReport,
) -> None:
    """Canonize what is still open, in order, and count how every proposal was decided."""
    for scene in scenes:
        found = await canon.within(space).thing(scene.id)
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
