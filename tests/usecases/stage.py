"""A stage: a universe with a story and a scene, in which a test proposes and canonizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from canonry.app.compose import compose_memory
from canonry.canon.canonization.canonize_scene import CanonizationReport, canonize_scene
from canonry.canon.canonization.decide_proposals import Judged, ProposalVerdict
from canonry.canon.judging.contents import normalise_content
from canonry.canon.judging.known_items import Backing, make_entity
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import reading_of
from canonry.canon.judging.state_tags import TagsChanged, TagWriter, change_tags
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import apply_rule
from canonry.log.entries import Born, FactRead
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import FactDraft, Relation
from canonry.log.items.proposals import ProposalStatus, ProposalType
from canonry.log.schemas.narrative import EntityType
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe, a_caller
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_proposal,
    a_relation,
    a_scene,
    a_source,
    a_story,
    a_turn,
    some_evidence,
    uuid_of,
)
from canonry.values.ids import EntityId, SceneId, TurnId
from canonry.values.moments import DAY, NOW, Instant, Moment
from canonry.values.policy import Policy
from canonry.values.provenance import Authority, Evidence, EvidenceKind

ACCEPTED, REJECTED = ProposalStatus.ACCEPTED, ProposalStatus.REJECTED
PENDING = ProposalStatus.PENDING


def world_day(number: int) -> Instant:
    """The world's own days."""
    return Instant(number * DAY)


def day_text(number: int) -> str:
    """The same as proposals write it: a day of January 1970."""
    return f"1970-01-{number + 1:02d}T00:00:00Z"


def id_of(name: str) -> str:
    """The id of the entity that was declared under `name`."""
    return str(uuid_of(f"{name}/entity"))


@dataclass
class Stage:
    """Writes items by name; the current scene is called `scene`."""

    canon: Canon
    scribe: Scribe
    count: int = 0
    names: dict[str, str] = field(default_factory=dict)

    async def make(self, *items: Born) -> None:
        """Bring items into being with one commit."""
        await self.scribe.make_items(*items)
        for one in items:
            if isinstance(one, FactDraft):
                await self.scribe.write_entries(await self._read_fact(one))

    async def _read_fact(self, fact: FactDraft) -> FactRead:
        """The statements of a fact, as the product writes them with a new fact."""

        def read(view: SliceView) -> FactRead:
            return reading_of(fact.id, fact.statement, fact.properties, fact.involved, view)

        found, _ = await apply_rule(self.canon, fact.space, read)
        return found

    async def entity(
        self,
        name: str,
        kind: EntityType = EntityType.CHARACTER,
        *tags: str,
        authority: Authority = Authority.GM,
        at: Instant | None = None,
        entity_class: EntityClass = EntityClass.INSTANCE,
    ) -> str:
        """A canon entity with the id that `id_of` gives."""
        _, entries = make_entity(
            lambda label: uuid_of(f"{name}/{label}"),
            make_backing(authority),
            entity_class=entity_class,
            entity_type=kind,
            name=name,
            description="",
            properties={},
            state_tags=tags,
            observed_at=at,
        )
        await self.scribe.write_entries(*entries)
        return id_of(name)

    async def tag(
        self, name: str, tag: str, *, authority: Authority = Authority.GM, at: Instant | None = None
    ) -> None:
        """A change of state written by the canon keeper."""
        entity = await self.find_item(id_of(name))
        assert isinstance(entity, Entity)

        def change(view: SliceView) -> TagsChanged:
            new_id = lambda label: uuid_of(f"{name}/{tag}/{label}")  # noqa: E731
            pen = TagWriter(view, new_id, make_backing(authority), entity)
            moment = Moment(at=at, position=NOW.position)
            return change_tags(pen, add=(tag,), remove=(), moment=moment)

        entries = (await apply_rule(self.canon, entity.space, change))[0].entries
        await self.scribe.write_entries(*entries)

    async def scene(self, name: str = "scene", order: int = 1, **changes: Any) -> str:
        """A scene with one turn, which is called `<name>/turn`."""
        await self.make(
            a_scene(name, order=order, **changes),
            a_turn(f"{name}/turn", name),
        )
        return str(uuid_of(name))

    async def propose(
        self,
        kind: str,
        content: Mapping[str, Any],
        *,
        authority: Authority = Authority.PLAYER,
        confidence: float = 0.9,
        scene: str = "scene",
        name: str = "",
        cited: tuple[Evidence, ...] | None = None,
        **changes: Any,
    ) -> str:
        """A pending proposal; the id of it."""
        self.count += 1
        called = name or f"proposal {self.count}"
        turn = TurnId(uuid_of(f"{scene}/turn"))
        proposal = replace(
            a_proposal(called, scene),
            type=ProposalType(kind),
            content=normalise_content(ProposalType(kind), content),
            evidence=some_evidence(f"{scene}/turn") if cited is None else cited,
            authority=authority,
            confidence=confidence,
            turn_id=turn,
            turn_index=0,
        )
        await self.make(replace(proposal, **changes))
        return str(uuid_of(called))

    async def canonize(self, scene: str = "scene", **options: Any) -> CanonizationReport:
        """Canonize a scene as the canon keeper."""
        return await canonize_scene(self.canon, a_caller(), SceneId(uuid_of(scene)), **options)

    async def verdict(self, kind: str, content: Mapping[str, Any], **more: Any) -> ProposalVerdict:
        """The verdict on a single proposal."""
        proposal = await self.propose(kind, content, **more)
        report = await self.canonize(more.get("scene", "scene"))
        return verdict_on(report, proposal)

    async def find_item(self, item_id: str | None) -> Any:
        """Return the item with this id."""
        assert item_id is not None
        return (await self.canon.state.items_by_id((item_id,))).get(item_id)


def verdict_on(report: Judged, proposal: str) -> ProposalVerdict:
    """The verdict on one of the proposals."""
    return next(one for one in report.verdicts if one.proposal_id == proposal)


def make_backing(authority: Authority = Authority.GM) -> Backing:
    """Return the backing of items that are written directly."""
    return Backing(
        space=MIDDLE_EARTH,
        authority=authority,
        confidence=1.0,
        evidence=(Evidence(kind=EvidenceKind.SOURCE, ref=uuid_of("source")),),
    )


def a_relation_of(name: str, rel_type: str, start: str, end: str, **changes: Any) -> Relation:
    """A canon relation between entities that `id_of` names."""
    ends = {"from_id": EntityId(id_of(start)), "to_id": EntityId(id_of(end))}
    return replace(a_relation(name, start, end), rel_type=rel_type, **{**ends, **changes})


async def a_stage(policy: Policy | None = None) -> Stage:
    """A universe with a source, a story, and an active scene."""
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities(), policy=policy)
    stage = Stage(canon=canon, scribe=Scribe(canon))
    await stage.scribe.open_spaces("space")
    await stage.make(a_source(), a_story())
    await stage.scene()
    return stage


async def a_peopled_stage() -> Stage:
    """Frodo and Gollum, the Shire and Mordor."""
    stage = await a_stage()
    await stage.entity("Frodo")
    await stage.entity("Gollum")
    await stage.entity("Shire", EntityType.LOCATION)
    await stage.entity("Mordor", EntityType.LOCATION)
    return stage
