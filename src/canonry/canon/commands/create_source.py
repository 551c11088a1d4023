"""Create a source: the first thing that canon can rest on, so it needs no evidence itself."""

from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require_universe
from canonry.log.entries import Made
from canonry.log.items.sources import SourceDraft, SourceType
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.values.audience import Audience
from canonry.values.ids import NewId, SourceId, SpaceId
from canonry.values.provenance import CanonLevel

PAGES_MAX: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """A document by its title and edition; `doc_id` is the caller's own name for it."""

    space: SpaceId
    doc_id: str
    title: str
    edition: str | None
    origin: str | None
    source_type: SourceType
    level: CanonLevel
    audience: Audience | None = None


async def create_source(canon: Canon, caller: Caller, new: NewSource) -> Receipt:
    """Register the source; that the caller's name for it is taken earns a warning.

    Raises:
        NotFound: `universe.unknown`.
    """
    await require_universe(canon, caller, new.space)

    async def prepare(new_id: NewId) -> Change:
        source = SourceDraft(
            id=SourceId(new_id("source")),
            space=new.space,
            doc_id=new.doc_id,
            title=new.title,
            edition=new.edition,
            origin=new.origin,
            source_type=new.source_type,
            level=new.level,
        )
        same = await _named(canon, new)
        told = (f"sources with this doc_id exist already: {', '.join(same)}",) if same else ()
        entries = (Made(thing=source),)
        return Change(entries=entries, reads=frozenset(), warnings=told, audience=new.audience)

    return await commit_change(canon, caller, new.space, prepare)


async def _named(canon: Canon, new: NewSource) -> list[SourceId]:
    """The sources that go by this name, among the first thousands of the universe."""
    found: list[SourceId] = []
    for number in range(PAGES_MAX):
        page = await canon.state.sources(new.space, limit=PAGE_MAX, offset=number * PAGE_MAX)
        found.extend(each.id for each in page.items if each.doc_id == new.doc_id)
        if (number + 1) * PAGE_MAX >= page.total:
            break
    return found
