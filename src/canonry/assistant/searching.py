"""Searching: what is found by words and meaning, in one space or in several, as a reply."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from typing import Final

from canonry.assistant.desk import Desk, Wanted, known_at, wanted
from canonry.assistant.everywhere import MORE, SPACES_MAX, placed
from canonry.assistant.recording import fields_saying, records_saying
from canonry.assistant.reviewing import WAITING
from canonry.assistant.rows import Row, filled, fitted, rows_of
from canonry.canon.canonization.proposals import ProposalQuery, list_proposals
from canonry.gateway.tool import Arguments, Reply
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.proposals import Ask
from canonry.recall.usecases.find_passages import (
    LOOK_MISSING,
    MEANING_BEHIND,
    MEANING_MISSING,
    WORDS_MISSING,
)
from canonry.recall.usecases.find_things import FoundKind, FoundThings, ThingSearch, find_things
from canonry.recall.usecases.recall import RecallServices

_OTHER_WORDS: Final = "other words, other kinds, or tell it"


async def looked_for(
    desks: Sequence[Desk], arguments: Arguments, kinds: frozenset[FoundKind], entity: Entity | None
) -> Reply:
    """What is found by words and meaning, the strongest of all spaces first."""
    page, text, many = wanted(arguments), arguments["text"], len(desks) > 1
    results: list[FoundThings] = []
    for desk in desks:
        search = ThingSearch(
            space=desk.space.id,
            text=text,
            kinds=kinds or frozenset(FoundKind),
            about=frozenset() if entity is None else family_of(entity),
            entity_type=arguments.get("type"),
            at=await desk.time(arguments, "at"),
            known_at=known_at(arguments),
            taken_back=True,
            limit=page.offset + page.limit + 1,
        )
        result = await find_things(desk.canon, search)
        if desk.is_account and FoundKind.ENTITY in search.kinds and search.known_at is None:
            result = replace(result, found=await _with_records(desk, search, result.found))
        results.append(result)
    ordered = ([(-strength, n, e) for e, strength in r.found] for n, r in enumerate(results))
    found = [(desks[n], each) for _, n, each in merge(*ordered, key=lambda one: one[:2])]
    shown = found[page.offset : page.offset + page.limit]
    reply = fitted(await found_rows(desks, shown, page, text), page, len(found))
    reply.pop("total")  # of a search nobody counts all that is alike
    if searched := searched_in(results):
        reply["searched"] = searched
    if any(each.truncated for each in results):
        reply["more"] = "not everything was looked through; name kinds or about"
    elif many and len(desks) == SPACES_MAX:
        reply["more"] = MORE
    if not shown:
        reply["hint"] = f"{nothing_found(desks[0], results)}; {await _elsewhere(desks[0])}"
    return reply


def nothing_found(desk: Desk, results: Sequence[FoundThings]) -> str:
    """What is said where nothing was found: that nothing is known, or that it is too early."""
    behind = max((each.behind for each in results), default=0)
    if behind:
        built = f"the index of meaning is still being built, {behind} commits are left"
        return f"nothing by its words; {built}: ask again"
    lacks = any(MEANING_MISSING in each.degraded for each in results)
    if lacks and desk.canon.service(RecallServices).recall is not None:
        return "nothing by its words; the index of meaning does not answer yet: ask again"
    return "nothing is known of it here"


async def found_rows(
    desks: Sequence[Desk], found: Sequence[tuple[Desk, Thing]], page: Wanted, text: str = ""
) -> list[Row]:
    """The rows of what was found, in its order, each with its space where there are several."""
    rows: dict[str, Row] = {}
    for desk in desks:
        things = [thing for at, thing in found if at is desk]
        said: Mapping[str, Mapping[str, str]] = {}
        if desk.is_account and text:
            said = await fields_saying(desk, text, [e for e in things if isinstance(e, Entity)])
        for row in await rows_of(desk, things, full=page.full):
            rows[row["id"]] = placed(_matched(row, said.get(row["id"], {})), desk, desks)
    return [rows[thing.id] for _, thing in found]


def _matched(row: Row, said: Mapping[str, str]) -> Row:
    """The row with those fields that say what was looked for, unless it says them already."""
    told = f"{row.get('name')} {row.get('says')}"
    return filled({**row, "matched": {n: each for n, each in said.items() if each not in told}})


async def _with_records(
    desk: Desk, search: ThingSearch, found: Sequence[tuple[Thing, float]]
) -> Sequence[tuple[Thing, float]]:
    """What was found, and then those records whose fields say it that no index has."""
    if len(found) >= search.limit:
        return found
    known = {thing.id: (thing, strength) for thing, strength in found}
    for each in await records_saying(desk, search.text, search.limit):
        kind = search.entity_type in {None, each.entity_type}
        if kind and (not search.about or each.id in search.about):
            known.setdefault(each.id, (each, 0.0))
    return list(known.values())[: search.limit]


def searched_by(degraded: Iterable[str], behind: int = 0) -> str:
    """By what was searched, where that is not by all there is."""
    lacks = frozenset(degraded)
    if lacks >= {WORDS_MISSING, MEANING_MISSING}:
        return "names only"
    if MEANING_MISSING in lacks:
        return "words only"
    if WORDS_MISSING in lacks:
        return "meaning only"
    if MEANING_BEHIND in lacks:
        newest = f"the newest {behind} commits" if behind else "the newest commits"
        return f"words; {newest} not by meaning yet"
    return "without the second look" if LOOK_MISSING in lacks else ""


def searched_in(results: Sequence[FoundThings]) -> str:
    """The same of several searches."""
    behind = max((each.behind for each in results), default=0)
    return searched_by((name for each in results for name in each.degraded), behind)


async def _elsewhere(desk: Desk) -> str:
    """Where to look, or what to do, after a search without a hit."""
    if not desk.space.told:
        return _OTHER_WORDS
    query = ProposalQuery(types=WAITING, asks=frozenset({Ask.PENDING, Ask.NEEDS_REVIEW}), limit=1)
    waiting = await list_proposals(desk.canon, desk.caller, query, universe_id=desk.space.id)
    return f"{waiting.total} proposed, see review" if waiting.total else _OTHER_WORDS
