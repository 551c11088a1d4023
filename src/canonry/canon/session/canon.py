"""The canon as use cases see it: the ports of a store, and services of packages above."""

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from canonry.canon.ports.files import DocumentReader
from canonry.canon.session.caller import Caller
from canonry.canon.session.sight import Seeing, Sight, SpaceKinds
from canonry.log.entries import Entry
from canonry.log.ports.ledger import Ledger
from canonry.log.ports.world import Clock, Identities
from canonry.models.outside_services import OutsideServices
from canonry.readmodels.ports.documents import Catalog, Documents, Places
from canonry.readmodels.ports.state import Spaces, State
from canonry.readmodels.ports.text import Text
from canonry.values.audience import ALL_SEEING, EVERYBODY, Audience, Viewer
from canonry.values.fields import revised
from canonry.values.ids import SpaceId
from canonry.values.policy import Policy

S = TypeVar("S")


class Services:
    """Finds a service by its type; makes the default of a type that nobody has put in.

    Copies made with `put` share every other service, so that counts and caches stay the same.
    """

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        """Start without any service."""
        self._by_type: dict[type, Any] = {}

    def get(self, kind: type[S]) -> S:
        """The service of this type; `kind()` becomes it where there is none."""
        found = self._by_type.get(kind)
        if found is None:
            found = self._by_type.setdefault(kind, kind())
        service: S = found
        return service

    async def close(self) -> None:
        """Close each service that can be closed."""
        for service in self._by_type.values():
            if (close := getattr(service, "close", None)) is not None:
                await close()

    def put(self, service: Any, kind: type | None = None) -> "Services":
        """A copy with this service, found by `kind`, which is its own type by default."""
        copied = Services()
        copied._by_type.update(self._by_type)
        copied._by_type[kind or type(service)] = service
        return copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Canon:
    """The ports of a store, and the services that packages above the canon keep with it.

    A package declares its services as one dataclass whose fields have defaults, and reads them by
    `canon.service(WorldServices)`. `store` is the whole that a narrowed canon is of, and `seeing`
    who it was narrowed for. Answer a caller through `seen_by` or `within`; `state` by itself gives
    what lies in any space.
    """

    ledger: Ledger
    state: State
    documents: Documents
    text: Text
    catalog: Catalog
    places: Places
    clock: Clock
    identities: Identities
    policy: Policy
    reader: DocumentReader
    space_kinds: SpaceKinds = field(default_factory=SpaceKinds)
    services: Services = field(default_factory=Services)
    outside: OutsideServices = field(default_factory=OutsideServices)
    store: "Canon | None" = None
    seeing: Seeing | None = None

    def service(self, kind: type[S]) -> S:
        """The service of this type that was put in, or its default."""
        return self.services.get(kind)

    def with_service(self, service: Any, kind: type | None = None) -> "Canon":
        """The same canon with a service, found by `kind`, which is its own type by default."""
        return revised(self, services=self.services.put(service, kind))

    def revise_service(self, kind: type[S], **changes: Any) -> "Canon":
        """The same canon, where fields of the service of this type are changed."""
        return self.with_service(replace(cast("Any", self.service(kind)), **changes), kind)

    @property
    def store_of_all(self) -> "Canon":
        """The canon as it is stored, whoever it was handed out for."""
        return self.store or self

    def for_viewer(self, viewer: Viewer) -> "Canon":
        """The canon as one viewer sees it: whoever answers a call of theirs is handed no other."""
        return self._seen(Seeing(self.store_of_all.state, self.space_kinds, viewer))

    @property
    def whole(self) -> "Canon":
        """The canon with all that anybody may see, for an operator's work of any length."""
        state = self.store_of_all.state
        return self._seen(Seeing(state, self.space_kinds, ALL_SEEING, lasting=True))

    @property
    def judged(self) -> "Canon":
        """The canon with all that anybody may see, veils and all: what verdicts rest on."""
        return self._seen(Seeing(self.store_of_all.state, self.space_kinds, ALL_SEEING, raw=True))

    def _seen(self, seeing: Seeing) -> "Canon":
        store = self.store_of_all
        return revised(
            self,
            state=seeing.of(store.state),
            documents=seeing.of(store.documents),
            text=seeing.of(store.text),
            places=seeing.of(store.places),
            store=store,
            seeing=seeing,
        )

    def tells(self, entry: Entry) -> bool:
        """Whether whoever the canon was handed out for may know of an entry."""
        audience: Audience = getattr(entry, "audience", EVERYBODY)
        return self.seeing is None or self.seeing.viewer.sees(audience)

    async def told(self, found: Any) -> Any:
        """What a use case has made out itself, as it is to whoever the canon was handed out for."""
        return found if self.seeing is None else await self.seeing.told(found)

    async def reach(self, spaces: Spaces) -> Spaces:
        """What a query of these spaces covers for whoever the canon was handed out for."""
        return spaces if self.seeing is None else await self.seeing.reach(spaces)

    def seen_by(self, caller: Caller) -> Sight:
        """Lookups that know of nothing that the caller may not see.

        A caller to whom nobody has granted anything in particular sees every space but accounts,
        and the own account.
        """
        return Sight(state=self.state, kinds=self.space_kinds, spaces=caller.spaces, caller=caller)

    def within(self, *spaces: SpaceId) -> Sight:
        """Lookups that know of nothing beyond these spaces, which the caller was found to see."""
        return self.covering(frozenset(spaces))

    def covering(self, spaces: Spaces) -> Sight:
        """The same for the spaces that a query covers."""
        return Sight(state=self.state, kinds=self.space_kinds, spaces=spaces)
