"""Tell evidence: for two that may be one, what was said of each that speaks for it, and where."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.account import Account
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity, family_of
from canonry.log.schemas.identifiers import KEY_MARK, fields_said, texts_in
from canonry.log.schemas.identity_keys import KeyReader, fields_asked, label_of, rule_of
from canonry.records.usecases.record_entities import Duplicate
from canonry.records.usecases.schemas_in_force import schemas_for
from canonry.values.ids import EntityId, ObservationId, SourceId
from canonry.values.observations import Observation

LOOKED_AT_MAX: Final = 50
"""So many of the newest observations of each side are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEvidence:
    """What one observation of a side says; only whose it is where that was too long ago."""

    entity_id: EntityId
    fields: Mapping[str, Any]
    observation_id: ObservationId | None = None
    source_id: SourceId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """Two that may be one, with the evidence of both."""

    pair: Duplicate
    evidence: tuple[SideEvidence, ...]


async def evidence_for(
    canon: Canon, account: Account, pairs: Sequence[Duplicate]
) -> Sequence[Doubtful]:
    """The pairs in their order, each with what speaks for it."""
    ids = {i for each in pairs for i in (each.entity_id, each.candidate_id)}
    found = await canon.within(account.space).things(ids)
    sides = {}
    entities = {i: e for i, e in found.items() if isinstance(e, Entity)}
    schemas = await schemas_for(canon, account, entities.values())
    readers = {kind: KeyReader(schema) for kind, schema in schemas.items()}
    for entity_id, entity in entities.items():
        page = await canon.state.observations_newest(
            sorted(family_of(entity)), limit=LOOKED_AT_MAX, offset=0
        )
        sides[entity_id] = _Side(
            entity=entity, keys=readers.get(entity.entity_type), seen=page.items
        )
    return [
        Doubtful(
            pair=pair,
            evidence=tuple(
                sides[i].evidence(pair.sign)
                for i in (pair.entity_id, pair.candidate_id)
                if i in sides
            ),
        )
        for pair in pairs
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One of two, with what was said of it last."""

    entity: Entity
    keys: KeyReader | None
    seen: Sequence[Observation]

    def evidence(self, sign: str) -> SideEvidence:
        """The newest observation that names it by the sign."""
        for each in self.seen:
            said = fields_said(each, self.keys)
            if sign in texts_in(self.entity.entity_type, said, self.keys):
                return SideEvidence(
                    entity_id=self.entity.id,
                    fields=self._telling(said, sign),
                    observation_id=each.id,
                    source_id=each.source_id,
                )
        return SideEvidence(entity_id=self.entity.id, fields={})

    def _telling(self, said: Mapping[str, Any], sign: str) -> Mapping[str, Any]:
        """The fields by which it does: each alone, or those of a rule together."""
        kind = self.entity.entity_type
        labels = rule_of(sign.removeprefix(KEY_MARK)).split("+")
        if self.keys is None or not sign.startswith(KEY_MARK) or len(labels) == 1:
            alone = {n: v for n, v in said.items() if sign in texts_in(kind, {n: v}, self.keys)}
            if alone or self.keys is None:
                return alone
        rules = self.keys.schema.identity
        asked = (
            a for rule in rules for a in (*rule.fields, *rule.optional) if label_of(a) in labels
        )
        names = {name for each in asked for name in fields_asked(each)}
        return {name: value for name, value in said.items() if name in names}
