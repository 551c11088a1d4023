"""Reread facts of older stores, whose entries carry no statements, and end what follows."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from canonry.canon.judging.slices import Lookup, Slice, SliceView
from canonry.canon.judging.standing_statements import reading_of
from canonry.canon.judging.wider_audiences import end_entries
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, extend_slice
from canonry.canon.session.paging import every_item, every_match
from canonry.log.commits import ORIGIN
from canonry.log.entries import Entry, FactRead
from canonry.log.fold_commit import Changes, ids_of
from canonry.log.folding import item_key
from canonry.log.items.facts import Fact, Relation
from canonry.log.observations import limit_audience
from canonry.readmodels.ports.state import FactQuery
from canonry.values.audience import viewer_of
from canonry.values.fields import with_changes
from canonry.values.ids import NewId, Space
from canonry.values.json_values import decode_json
from canonry.values.provenance import CanonLevel

_WITH_STATEMENTS: Final = 4  # the first encoding version whose facts have statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """The facts of a space that were read again, and pairs of an ended item and its successor."""

    space: Space
    facts: Sequence[Fact]
    ends: Sequence[tuple[Fact | Relation, Fact | Relation]]


def unread_note(count: int) -> str:
    """Return what to tell an operator about facts that wait to be reread."""
    return f"{count} facts of an older version are not compared with new claims."


async def count_unread(canon: Canon) -> int:
    """Return how many facts carry no statements, in spaces that an older version began."""
    count = 0
    async for space in _story_spaces(canon):
        for first in await canon.ledger.read_sealed(space.id, after=ORIGIN, limit=1):
            (_, version, *_), *_ = decode_json(first.body)["entries"]
            if version >= _WITH_STATEMENTS:
                return count  # spaces come in the order of their age
            count += len(await _unread_facts(canon, space))
    return count


async def reread_facts(canon: Canon, caller: Caller, *, dry: bool) -> Sequence[Reread]:
    """Read the words of older facts with the present reader, one commit a space.

    With `dry`, write nothing and return what a call would change.

    Raises:
        Unavailable: as `commit_change`.
    """
    found: list[Reread] = []
    async for space in _story_spaces(canon):
        prepare = partial(_reread_space, canon, space)
        if dry:
            done = (await prepare(str)).found
        else:
            done = (await commit_change(canon, caller, space.id, prepare)).require_found()
        found += [done] if done.facts else []
    return found


async def _story_spaces(canon: Canon) -> AsyncIterator[Space]:
    """Yield the spaces in which facts are stated."""
    async for space in every_item(partial(canon.state.spaces, kind=None, parent=None)):
        if space.may_have_stories:
            yield space


async def _unread_facts(canon: Canon, space: Space) -> list[Fact]:
    query = FactQuery(spaces=frozenset((space.id,)))
    every = every_match(canon.with_all_secrets.state.facts, query)
    return [fact async for fact in every if fact.reader is None]


async def _reread_space(canon: Canon, space: Space, _: NewId) -> Change[Reread]:
    """Return the statements of the unread facts of a space, and the ends that follow."""
    facts, policy = await _unread_facts(canon, space), canon.policy
    known = Slice(space=space.id).with_items((), facts)

    def view_of(known: Slice, fact: Fact, wanted: set[Lookup]) -> SliceView:
        view = SliceView(known, policy, viewer_of(fact.audience))
        view.wanted = wanted
        return view

    def read_facts(known: Slice) -> tuple[Collection[Lookup], Sequence[FactRead]]:
        wanted: set[Lookup] = set()
        views = [view_of(known, one, wanted) for one in facts]
        return wanted, [
            reading_of(one.id, one.statement, one.properties, one.involved, view)
            for one, view in zip(facts, views, strict=True)
        ]

    known, readings = await extend_slice(canon, known, read_facts)
    read_now: Mapping[str, Fact] = {
        one.id: with_changes(one, reader=each.reader, statements=each.statements)
        for one, each in zip(facts, readings, strict=True)
    }

    def find_ends(known: Slice) -> tuple[Collection[Lookup], Mapping[str, Entry]]:
        wanted, found = set[Lookup](), dict[str, Entry]()
        now = known.with_changes(Changes(items=read_now, touched=frozenset()))
        for one in read_now.values():
            view = view_of(now, one, wanted)
            if one.level is CanonLevel.CANON:
                for entry in limit_audience(end_entries(one, view, lined=()), one.audience):
                    found.setdefault(ids_of(entry)[0], entry)
        return wanted, found

    known, ends = await extend_slice(canon, known, find_ends)
    items = {**known.items, **read_now}
    successors = {i: getattr(each, "superseded_by", None) or "" for i, each in ends.items()}
    pairs = ((items[old], items.get(successor)) for old, successor in successors.items())
    ended_pairs = [
        (old, successor)
        for old, successor in pairs
        if isinstance(old, Fact | Relation) and isinstance(successor, Fact | Relation)
    ]
    return Change(
        entries=(*readings, *ends.values()),
        reads=frozenset(map(item_key, items)),
        found=Reread(space=space, facts=facts, ends=ended_pairs),
        narrowed=True,
    )
