"""The contract of `canonry.readmodels.ports.state.State`, put together from its parts and identity.

What entities were ever called by leads to them, whoever answers for them today.
"""

from typing import Any

from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, EntityRetconned, Made
from canonry.log.items.entities import Entity
from canonry.log.schemas.derived_schemas import schema_id_of
from canonry.log.schemas.identifiers import found_under, key_mark, look_mark, part_mark
from canonry.log.schemas.schemas import FieldSpec, IdentityRule, RegisteredSchema
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.conformance.state_entities import EntityContract
from canonry.testing.conformance.state_facts import FactContract
from canonry.testing.conformance.state_graph import GraphContract, HistoryContract
from canonry.testing.conformance.state_records import RecordsContract
from canonry.testing.conformance.state_secrets import SecretsContract
from canonry.testing.scribe import Scribe, thing_named
from canonry.testing.things import MIDDLE_EARTH, a_named, a_record, a_schema, an_entity, ident, made


def a_lamp_schema(version: str) -> RegisteredSchema:
    """A registered type: a lamp is known by its serial number, or by its room and shelf."""
    return a_schema(
        "lamp",
        version,
        id=schema_id_of(MIDDLE_EARTH, "lamp", version),
        fields=tuple(FieldSpec(name=each) for each in ("serial", "room", "shelf", "label")),
        identity=(IdentityRule(fields=("serial",)), IdentityRule(fields=("room", "shelf"))),
        names=(("label",), ("serial",)),
    )


def said(lamp: str, name: str, **fields: Any) -> Made:
    """What a record says of a lamp."""
    told = {f"properties.{field}": value for field, value in fields.items()}
    return made(a_record(lamp, name, fields=told, dates={}, schema_version="1.0"))[0]


async def found(backend: Backend, *texts: str) -> dict[str, list[str]]:
    """Who is found under each text, by id."""
    pages = await backend.canon.state.entities_identified(IdentifierQuery(keys=texts))
    return {text: [each.id for each in page.items] for text, page in pages.items()}


async def entity_named(backend: Backend, name: str) -> Entity:
    """An entity as it is now."""
    thing = await thing_named(backend.canon.state, name)
    assert isinstance(thing, Entity)
    return thing


class IdentityContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "state:identified:ever",
        because="Who knows it by a former name means it, and documents are not rewritten.",
    )
    async def test_a_former_text_still_leads_to_its_entity(self, backend: Backend) -> None:
        """Every text and every key that an entity ever bore leads to it, also after others."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("ann", entity_type="person"))
        await scribe.write(*a_named("bo", entity_type="person"))
        for n, (name, mail) in enumerate((("Ann Lee", "a@x.org"), ("Ann Ray", "b@x.org"))):
            fields = {"properties.name": name, "properties.email": mail}
            record = a_record("ann", f"{n}", fields=fields, dates={}, correction=n == 1)
            await scribe.make(record)
        ann, bo = (ident(name) for name in ("ann", "bo"))
        texts = ("ann lee", "ann ray", "a@x.org", "b@x.org", found_under(key_mark("email:a@x.org")))
        assert await found(backend, *texts) == {each: [ann] for each in texts}
        look = look_mark("person", "\u0410nn Lee")
        assert await found(backend, look) == {look: [ann]}

        kept, merged = (
            (await entity_named(backend, "bo")).id,
            (await entity_named(backend, "ann")).id,
        )
        await scribe.write(EntitiesMerged(kept=kept, merged=merged, members=(), reason=""))
        assert await found(backend, *texts) == {each: [bo] for each in texts}
        await scribe.write(EntitiesUnmerged(kept=kept, separated=merged, remaining=(), reason=""))
        assert await found(backend, *texts) == {each: [ann] for each in texts}
        await scribe.write(EntityRetconned(entity_id=merged, replaced_by=None, reason=""))
        assert await found(backend, *texts) == {}

    @requirement(
        "state:identified:signs",
        because="Programs turn an apostrophe or a hyphen into signs that nobody types.",
    )
    async def test_r6_names_are_found_in_whatever_signs_they_were_told(
        self, backend: Backend
    ) -> None:
        """A name is found under its plain signs, and a character also under each of its words."""
        scribe = Scribe(backend.canon)
        maeve, zoe, anna = "Maeve O\u2019Brien", "Anne\u2011Sophie Zoe\u0308", "Ann\u00ada  Berg"
        for name in (maeve, zoe, anna):
            await scribe.write(*a_named(name, entity_type="character"))
        await scribe.write(*a_named("O\u02bcBrien Hall", entity_type="location"))

        words = {"maeve": maeve, "obrien": maeve, "zo\u00eb": zoe, "berg": anna}
        texts = {"maeve o'brien": maeve, "anne-sophie zo\u00eb": zoe, "anna berg": anna}
        texts |= {part_mark(word): name for word, name in words.items()}
        assert await found(backend, *texts, part_mark("hall")) == {
            text: [ident(name)] for text, name in texts.items()
        }

    @requirement(
        "state:identified:keys",
        because="What makes two records one entity is for their schema to say.",
    )
    async def test_keys_by_a_registered_schema_lead_to_the_entity(self, backend: Backend) -> None:
        """The keys by the rules of the schema that read an observation lead to its entity."""
        scribe = Scribe(backend.canon)
        lamp = made(an_entity("lamp", entity_type="lamp"))[0]
        first = said("lamp", "first", serial="S-1", room="Hall", shelf="2")
        await scribe.write(*made(a_lamp_schema("1.0")), lamp, first)
        await scribe.write(said("lamp", "second", serial="S-2", room="Attic"))
        shelf = key_mark("room:hall\x1fshelf:2")
        texts = ("s-1", "s-2", shelf)
        assert await found(backend, *texts) == {each: [ident("lamp")] for each in texts}
        assert await found(backend, "hall", key_mark("room:attic\x1fshelf:2")) == {}

    @requirement(
        "state:merged:addressed",
        because="A merge that is taken back leaves what would be without it.",
    )
    async def test_what_is_said_of_a_merged_entity_stays_with_it(self, backend: Backend) -> None:
        """What is observed of a merged entity shows in its root, and goes when they part."""
        scribe = Scribe(backend.canon)
        await scribe.write(*made(a_lamp_schema("1.0")))
        for name in ("a", "b", "c"):
            lamp = made(an_entity(name, entity_type="lamp"))[0]
            await scribe.write(lamp, said(name, f"{name} born", serial=name, label=f"lamp {name}"))
        alone = {name: await entity_named(backend, name) for name in ("a", "b", "c")}
        a, b, c = (alone[name].id for name in ("a", "b", "c"))
        await scribe.write(EntitiesMerged(kept=a, merged=c, members=(), reason=""))
        await scribe.write(EntitiesMerged(kept=b, merged=a, members=(c,), reason=""))
        await scribe.write(said("a", "later", room="Attic"))
        await scribe.write(said("c", "last", shelf="9"))

        root = await entity_named(backend, "b")
        assert (root.name, root.observed.count, root.members) == (
            "lamp b",
            5,
            tuple(sorted((a, c))),
        )
        assert (root.properties["room"], root.properties["shelf"]) == ("Attic", "9")
        merged = await entity_named(backend, "a")
        assert (merged.merged_into, merged.brought, merged.sightings.count) == (b, (c,), 2)

        await scribe.write(
            EntitiesUnmerged(kept=b, separated=a, remaining=(), reason=""),
            EntitiesMerged(kept=a, merged=c, members=(), reason=""),
        )
        root = await entity_named(backend, "b")
        assert (root.own, root.snapshot, root.observed) == (
            alone["b"].own,
            alone["b"].snapshot,
            alone["b"].observed,
        )
        again = await entity_named(backend, "a")
        assert (again.name, again.members, again.brought) == ("lamp a", (c,), ())
        assert again.properties == {"serial": "c", "label": "lamp c", "room": "Attic", "shelf": "9"}

    @requirement(
        "state:entities:named-by-fields",
        because="A display name must not depend on which document came first.",
    )
    async def test_a_name_follows_from_fields_in_any_order(self, backend: Backend) -> None:
        """What a schema has read is called by its fields, in whatever order it was told."""
        scribe = Scribe(backend.canon)
        await scribe.write(*made(a_lamp_schema("1.0")))
        records = ({"serial": "S-1", "label": "Desk"}, {"serial": "S-1", "room": "Hall"})
        for name, order in (("forth", records), ("back", records[::-1])):
            await scribe.write(*made(an_entity(name, entity_type="lamp")))
            for n, fields in enumerate(order):
                await scribe.write(said(name, f"{name} {n}", **fields))
            assert (await entity_named(backend, name)).name == "Desk"
        await scribe.write(*made(an_entity("bare", entity_type="lamp")))
        await scribe.write(said("bare", "bare born", room="Hall"))
        assert (await entity_named(backend, "bare")).name == "lamp"
        bare, forth = [(await entity_named(backend, name)).id for name in ("bare", "forth")]
        await scribe.write(EntitiesMerged(kept=bare, merged=forth, members=(), reason=""))
        assert (await entity_named(backend, "bare")).name == "Desk"


class StateContract(
    EntityContract,
    FactContract,
    GraphContract,
    HistoryContract,
    IdentityContract,
    RecordsContract,
    SecretsContract,
):
    """All that a state view promises."""
