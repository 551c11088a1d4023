"""Find erasable: what an operator may mean by a name, in whatever space it lies."""

from typing import Final

from canonry.canon.session.canon import Canon
from canonry.canon.upkeep.erase import ERASABLE
from canonry.canon.upkeep.find_mentions import find_mentions
from canonry.log.entries import THING_KINDS, Thing
from canonry.log.items.entities import Entity
from canonry.values.observations import Observation

_HEADS: Final = 500


async def find_erasable(canon: Canon, name: str) -> list[Thing]:
    """What can be erased and says the name in whole words, entities first; nothing is changed.

    What was observed of an entity stands for the entity, with which it goes.
    """
    found: list[Thing] = []
    after = None
    while heads := await canon.ledger.heads(after=after, limit=_HEADS):
        for head in heads:
            mentions = await find_mentions(canon, head.space, (name,), beside=frozenset())
            ids = [each.id for each in mentions if each.kind in ERASABLE]
            within = canon.within(head.space)
            things = list((await within.things(ids)).values())
            told = {each.entity_id for each in things if isinstance(each, Observation)}
            found += [each for each in things if not isinstance(each, Observation)]
            found += (await within.things(told.difference(ids))).values()
        after = heads[-1].space
    return sorted(found, key=_order)


def _order(thing: Thing) -> tuple[bool, str]:
    return not isinstance(thing, Entity), THING_KINDS[type(thing)]
