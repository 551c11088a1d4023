"""Random histories of telling, correcting, relating and merging: the tools agree with the model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.records.toolset import TRUTH
from canonry.testing.clocks import CountingIdentities, HandClock
from tests.toolsets.truth.identity_model import KEYS, Model, Person
from tests.toolsets.truth.kit import ToolDriver, make_driver

SAID = {
    "email": ("ada@x.test", "bo@x.test"),
    "phone": ("+4930100001", "+4930200002"),
    "name": ("Ada Aal", "Bo Berg"),
    "role": ("cook", "clerk"),
    "organization": ("Alpha Ltd", "Beta Ltd"),
}
GIVEN = (
    "name",
    "name",
    "name email",
    "name email",
    "email",
    "email phone",
    "name phone",
    "phone role",
)


def draw_records(names: str) -> st.SearchStrategy[dict[str, str]]:
    """Records that say just these fields."""
    return st.fixed_dictionaries({name: st.sampled_from(SAID[name]) for name in names.split()})


SOMEBODY = st.integers(min_value=0, max_value=5)
ADD = st.tuples(st.just("add"), st.sampled_from(GIVEN).flatmap(draw_records))
CORRECT = st.tuples(
    st.just("correct"),
    SOMEBODY,
    st.sampled_from([(n, v) for n, values in SAID.items() for v in values]),
)
MERGE, RELATE = [st.tuples(st.just(what), SOMEBODY, SOMEBODY) for what in ("merge", "relate")]
UNMERGE = st.tuples(st.just("unmerge"), SOMEBODY)
STEPS = st.one_of(ADD, ADD, ADD, ADD, MERGE, MERGE, CORRECT, RELATE, UNMERGE)


@dataclass
class Twin:
    """The model and the tools side by side; `ids` are those of the model's people."""

    model: Model = field(default_factory=Model)
    driver: ToolDriver = field(default_factory=make_driver)
    ids: list[str] = field(default_factory=list)
    merging: bool = True

    def id_of(self, person: Person) -> str:
        """Whom the tools know as this person."""
        return self.ids[self.model.people.index(person)]

    async def take_step(self, step: tuple[Any, ...]) -> None:
        """Let both do the same."""
        match step:
            case ("add", dict(record)):
                await self._add_record({**record, "notes": f"note {self.model.clock}"})
            case (what, *numbers) if self.model.people:
                people = [
                    self.model.people[n % len(self.model.people)] if isinstance(n, int) else n
                    for n in numbers
                ]
                await getattr(self, f"_do_{what}")(*people)
            case _:
                pass

    async def _add_record(self, record: dict[str, str]) -> None:
        person, new, doubts = self.model.add_record(record)
        reply = await self.driver.ingest({"entity_type": "person", **record})
        (entity,) = reply["entities"]
        if new:
            self.ids.append(entity["entity_id"])
        found = {each["candidate_id"] for each in reply["possible_duplicates"]}
        assert entity["created"] == new
        assert entity["entity_id"] == self.id_of(person.root)
        assert entity["canonical_name"] == self.model.name_of(person.root)
        assert found == {self.ids[each] for each in doubts}

    async def _do_alias(self, person: Person, name: str) -> None:
        person.keys["name"].add(name)
        arguments = {"user_id": self.driver.user, "entity_id": self.id_of(person), "add": [name]}
        self.driver.wait()
        await self.driver.call("edit_aliases", **arguments)

    async def _do_correct(self, person: Person, said: tuple[str, str]) -> None:
        self.model.correct_field(person, *said)
        await self.driver.correct(self.id_of(person), *said)

    async def _do_relate(self, one: Person, other: Person) -> None:
        if one.root is not other.root:
            self.model.relate_people(one, other)
            await self.driver.relate(self.id_of(one), "REFERS_TO", self.id_of(other))

    async def _do_merge(self, gone: Person, kept: Person) -> None:
        if self.merging and gone.root is gone and kept.root is not gone:
            self.model.merge_people(gone, kept)
            await self.driver.merge(self.id_of(gone), self.id_of(kept))

    async def _do_unmerge(self, gone: Person) -> None:
        if gone.root is not gone:
            self.model.unmerge_person(gone)
            self.driver.wait()
            await self.driver.call(
                "unmerge_entities", user_id=self.driver.user, entity_id=self.id_of(gone)
            )

    async def compare_all(self) -> None:
        """See that the tools tell what the model does of everybody, and that keys lead there."""
        for person in self.model.people:
            root, shown = person.root, self.model.shown_fields(person.root)
            read = await self.driver.call("get_entity_snapshot", entity_id=self.id_of(person))
            assert read["entity_id"] == self.id_of(root)
            assert read["snapshot"] == shown
            assert read["canonical_name"] == self.model.name_of(root)
            listed = await self.driver.call("list_relationships", entity_id=self.id_of(person))
            ends = {
                (self.ids.index(e["source_entity_id"]), self.ids.index(e["target_entity_id"]))
                for e in listed["relationships"]
                if e["target_entity_id"] in self.ids  # and not the company somebody works for
            }
            assert ends == self.model.edges_of(root)
        for rule in KEYS:
            for key in SAID[rule]:
                found = await self.driver.call("get_entity_by_identifier", identifier=key)
                owners = {p.root for p in self.model.people if key in p.keys[rule]}
                assert {e["id"] for e in found["entities"]} == set(map(self.id_of, owners))

    async def part_all(self) -> None:
        """Take every merge back."""
        while gone := [each for each in self.model.people if each.root is not each]:
            await self._do_unmerge(gone[0])


ADA = {"name": "Ada Aal"}
FIRST, SECOND = [{**ADA, "email": mail} for mail in SAID["email"]]
COOK, CLERK = ("role", "cook"), ("role", "clerk")
THIRD = {**ADA, "phone": "+4930300003"}
PHONES = [
    ("add", {"email": mail, "phone": phone})
    for mail, phone in zip(SAID["email"], SAID["phone"], strict=True)
]
THREE = [("add", {"email": mail}) for mail in SAID["email"]] + [("add", {"phone": "+4930100001"})]


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=3, max_size=20))
@example([("add", ADA), ("add", FIRST), ("add", SECOND), ("add", ADA), ("add", ADA)])
@example([("add", FIRST), ("add", SECOND), ("merge", 0, 1), ("add", ADA), ("add", FIRST)])
@example(
    [*THREE, ("merge", 2, 1), ("merge", 1, 0), ("unmerge", 2), ("merge", 2, 0), ("unmerge", 1)]
)
@example(
    [*THREE[:2], ("correct", 0, CLERK), ("merge", 0, 1), ("correct", 1, COOK), ("correct", 0, COOK)]
)
@example([("add", FIRST), ("add", SECOND), *PHONES, ("add", ADA), ("add", THIRD)])
def test_the_tools_agree_with_the_model(steps: list[tuple[Any, ...]]) -> None:
    async def live() -> None:
        twin = Twin()
        for step in steps:
            await twin.take_step(step)
        await twin.compare_all()
        await twin.part_all()
        await twin.compare_all()

    asyncio.run(live())


EMPLOYED = st.tuples(st.just("add"), draw_records("name email organization"))
ALIAS = st.tuples(st.just("alias"), SOMEBODY, st.sampled_from(("Annie", *SAID["name"])))
HISTORIES = st.lists(st.one_of(STEPS, EMPLOYED, ALIAS), min_size=3, max_size=12)


@asynccontextmanager
async def a_canon(engine: str) -> AsyncIterator[ToolDriver]:
    """A driver whose canon lies in memory or on disk."""
    if engine == "memory":
        yield make_driver()
        return
    clock = HandClock()
    with TemporaryDirectory() as folder:
        store = await open_embedded(Path(folder), clock=clock, identities=CountingIdentities())
        try:
            yield ToolDriver(canon=store.canon, gateway=Gateway(store.canon, (TRUTH,)), clock=clock)
        finally:
            await store.close()


async def unmerged_and_never_merged(steps: list[tuple[Any, ...]], engine: str) -> None:
    """Live through the steps with merges and without, take them back, and compare everything.

    A step is left out where it would be another one without the merge: a record that fits both
    sides is addressed to neither of them alone.
    """
    async with a_canon(engine) as one, a_canon("memory") as other:
        merged, plain = Twin(driver=one), Twin(driver=other, merging=False)
        for step in steps:
            if means_alike(step, merged.model, plain.model):
                await merged.take_step(step)
                await plain.take_step(step)
        await merged.part_all()
        assert merged.ids == plain.ids
        assert await read_account(merged.driver) == await read_account(plain.driver)


def means_alike(step: tuple[Any, ...], merged: Model, plain: Model) -> bool:
    """Return whether a step means the same people, with a merge and without it."""
    match step:
        case ("add", dict(record)):
            (one, _, _), (other, _, _) = (
                deepcopy(m).add_record(dict(record)) for m in (merged, plain)
            )
            return one.birth == other.birth
        case ("relate", int(one), int(other)) if merged.people:
            count = len(merged.people)
            return merged.people[one % count].root is not merged.people[other % count].root
        case _:
            return True


async def read_account(driver: ToolDriver) -> object:
    """All that the tools tell of an account, without when and by which observation."""
    listed = await driver.call("retrieve_entities", limit=1000)
    reported: dict[str, object] = {}
    for entity in listed["entities"]:
        read = await driver.call("get_entity_snapshot", entity_id=entity["id"])
        edges = await driver.call("list_relationships", entity_id=entity["id"])
        ends = ("relationship_type", "source_entity_id", "target_entity_id")
        reported[entity["id"]] = (
            {n: sorted(v) if isinstance(v, list) else v for n, v in read["snapshot"].items()},
            (read["canonical_name"], read["merged_entity_ids"]),
            [(each["key"], each.get("rule"), each["status"]) for each in read["keys"]],
            sorted(tuple(each[end] for end in ends) for each in edges["relationships"]),
        )
    pairs = (await driver.call("list_possible_duplicates"))["pairs"]
    reported["pairs"] = sorted((e["entity_id"], e["candidate_id"], e["reason"]) for e in pairs)
    return reported


@settings(max_examples=40, deadline=None)
@given(HISTORIES)
@example([("add", FIRST), ("add", SECOND), ("merge", 0, 1), ("alias", 0, "Annie")])
def test_unmerging_leaves_the_state_without_the_merge(steps: list[tuple[Any, ...]]) -> None:
    asyncio.run(unmerged_and_never_merged(steps, "memory"))


@settings(max_examples=10, deadline=None)
@given(HISTORIES)
@example([("add", FIRST), ("add", SECOND), ("merge", 0, 1), ("alias", 0, "Annie")])
def test_a_store_on_disk_unmerges_like_memory(steps: list[tuple[Any, ...]]) -> None:
    asyncio.run(unmerged_and_never_merged(steps, "sqlite"))
