"""Create a source: the first thing that canon can rest on, so it needs no evidence itself."""

from dataclasses import dataclass

from canonry.domain.ids import NewId, SourceId, SpaceId
from canonry.domain.log.entries import Made
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.sources import SourceDraft, SourceType
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, Receipt, commit_change
from canonry.usecases.kernel.lookup import require_universe


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


async def create_source(canon: Canon, caller: Caller, new: NewSource) -> Receipt:
    """Register the source.

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
        return Change(entries=(Made(thing=source),), reads=frozenset())

    return await commit_change(canon, caller, new.space, prepare)
