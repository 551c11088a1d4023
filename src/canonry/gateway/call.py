"""The path of every call; no host can skip a step of it."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from canonry.canon.queries.names import at_viewpoint, item_of_arguments
from canonry.canon.session.caller import Caller, Progress, ignore_progress
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import (
    Audit,
    AuditLine,
    CallCounter,
    ClockWatch,
    Correlations,
    Pseudonyms,
)
from canonry.gateway.cache import Filling, ReplyCache, reply_name
from canonry.gateway.limits import Limits, is_heavy, measure_arguments, run_within
from canonry.gateway.offers import (
    Browsed,
    Catalogue,
    Offer,
    Serve,
    browse_page,
    build_catalogue,
    complete_value,
    offer_with_run,
)
from canonry.gateway.principal import (
    AGENT_META,
    CORRELATION_META,
    KEY_META,
    Meta,
    Principal,
    acting_principal,
    caller_for,
    default_type_of,
    identify_caller,
    may_use,
    require_claim,
    require_role,
)
from canonry.gateway.rates import Rates
from canonry.gateway.replies import (
    Result,
    batch_too_long,
    defect_result,
    refusal_result,
    unknown_result,
)
from canonry.gateway.tool import Cached, CallTool, File, Prompt, Reply, Resource, Run, Toolset
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, NotAllowed


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Settings of the path."""

    limits: Limits = field(default_factory=Limits)
    published_rates: bool = False
    """True if the server enforces the published rates of contracts."""


@dataclass(slots=True, eq=False)
class _Batch:
    """State that the inner calls of a composed call share: their number and their reply bytes."""

    room: int
    made: int = 0


@dataclass(slots=True, eq=False)
class _CallRequest:
    """The principal of a call, the receiver of its progress, and its composed call, if any.

    Calls that no client just made, such as a check for changes, are not `counted` in rates.
    """

    principal: Principal
    meta: Meta | None
    progress: Progress = ignore_progress
    batch: _Batch | None = None
    counted: bool = True


class Gateway:
    """Serves toolsets over one canon: identify, authorize, limit, validate, run, reply, audit."""

    def __init__(
        self,
        canon: Canon,
        toolsets: Iterable[Toolset],
        *,
        settings: GatewaySettings | None = None,
        audit: Audit | None = None,
    ) -> None:
        """Compile every schema.

        Raises:
            BrokenInvariant: `toolset.ambiguous`, if two items have the same name.
        """
        settings = settings or GatewaySettings()
        self.canon = canon
        self.audit = (audit or Audit()).watch_services(canon.outside)
        salt = canon.identities.new_salt()
        self._pseudonyms = Pseudonyms(salt)
        self._correlations = Correlations(salt)
        self.catalogue: Catalogue = build_catalogue(toolsets, settings.limits)
        self._seconds = canon.clock.monotonic
        self._deadline = settings.limits.seconds
        self._rates = Rates(
            self.catalogue,
            self._seconds,
            per_minute=settings.limits.per_minute,
            published=settings.published_rates,
        )
        self._cache = ReplyCache(canon.ledger, self._seconds)
        self._clock_watch = ClockWatch(canon.clock, canon.ledger, self.audit)

    def for_toolset(self, toolset: str) -> "Gateway":
        """Return a gateway for one toolset that shares the cache, the rates and the metrics."""
        narrowed = copy(self)
        narrowed.catalogue = self.catalogue.only_toolset(toolset)
        return narrowed

    def with_word_search(self) -> "Gateway":
        """Return a gateway whose searches use words alone and wait for no model."""
        hasty = copy(self)
        hasty.canon = self.canon.revise_service(RecallServices, recall=None, reranking=None)
        return hasty

    async def call(
        self,
        name: str,
        arguments: object,
        principal: Principal,
        meta: Meta | None = None,
        progress: Progress = ignore_progress,
    ) -> Result:
        """Call the tool `name`; every failure is a result, only cancellation is raised.

        None means no arguments. The tool refuses any other value that is no mapping.
        """
        offer = self.catalogue.find_tool(name)
        if offer is None:
            return self._unknown_item("tool", name)
        return await self._serve(offer, arguments, _CallRequest(principal, meta, progress))

    async def run_as_tool(
        self, name: str, run: Run, arguments: Mapping[str, Any], principal: Principal
    ) -> Result:
        """Return the result of `run` as a call of the tool `name`; its text is empty.

        For hosts that render the reply, or need more than the arguments can express.
        """
        offer = self.catalogue.find_tool(name)
        if offer is None:
            return self._unknown_item("tool", name)
        return await self._serve(
            offer_with_run(offer, run), arguments, _CallRequest(principal, None)
        )

    async def read_resource(
        self, uri: str, principal: Principal, meta: Meta | None = None, *, counted: bool = True
    ) -> tuple[Resource | None, Result]:
        """Read the resource `uri`; the result's text is its content, or the error's JSON.

        A check for changes is not `counted` in rates.
        """
        found = self.catalogue.find_resource(uri)
        if found is None:
            return None, self._unknown_item("resource", uri)
        offer, variables = found
        asking = _CallRequest(principal, meta, counted=counted)
        return offer.item, await self._serve(offer, variables, asking)

    def offers_for(
        self, offers: Iterable[Offer[Any]], principal: Principal, meta: Meta | None = None
    ) -> list[Offer[Any]]:
        """Return the `offers` that the caller may use; all of them if each call names its agent."""
        if principal.trusted and not (meta and AGENT_META in meta):
            return list(offers)
        return [each for each in offers if self._may_use(each, principal, meta)]

    def _may_use(self, offer: Offer[Any], principal: Principal, meta: Meta | None) -> bool:
        toolset, roles = offer.toolset, offer.item.roles
        try:
            caller = caller_for(toolset, offer.item.name, roles, principal, meta)
        except CanonryError:
            return False
        return may_use(toolset, roles, caller.actor.agent_type)

    async def browse_resources(
        self,
        cursor: str | None,
        principal: Principal,
        meta: Meta | None = None,
        *,
        counted: bool = True,
    ) -> Browsed | Result:
        """Return a page of the resources that the caller may read, or the error.

        Raises:
            InvalidInput: `input.invalid`, if the cursor is not from this server.
        """
        every = self.catalogue.resources.values()
        offers = [each for each in every if self._may_use(each, principal, meta)]
        serve = self._server_for(_CallRequest(principal, meta, counted=counted))
        return await browse_page(offers, serve, cursor)

    async def complete_value(
        self, named: str, variable: str, word: str, principal: Principal, meta: Meta | None = None
    ) -> tuple[Sequence[str], int] | Result:
        """Return values for a variable of a resource's template, or for an argument of a prompt."""
        offer: Offer[Any] | None = self.catalogue.prompts.get(named)
        offer = offer or self.catalogue.resources.get(tuple(named.split("/")))
        if offer is None or not self._may_use(offer, principal, meta):
            return (), 0
        return await complete_value(
            offer, self._server_for(_CallRequest(principal, meta)), variable, word
        )

    def _server_for(self, asking: _CallRequest) -> Serve:
        def serve(offer: Offer[Any], arguments: Mapping[str, Any]) -> Awaitable[Result]:
            return self._serve(offer, arguments, asking)

        return serve

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None,
        principal: Principal,
        meta: Meta | None = None,
    ) -> tuple[Prompt | None, Result]:
        """Render the prompt `name`; the result's text is the user message, or the error's JSON."""
        offer = self.catalogue.prompts.get(name)
        if offer is None:
            return None, self._unknown_item("prompt", name)
        asking = _CallRequest(principal, meta)
        return offer.item, await self._serve(offer, arguments, asking)

    def seconds_until_served(self, principal: Principal) -> float:
        """Return the seconds until the published rates have room for a call; 0 if they have."""
        return self._rates.seconds_until(self.catalogue.toolsets, principal)

    async def is_ready(self) -> bool:
        """Return whether the store answers."""
        try:
            await run_within(self._deadline, self._cache.drop_stale())
        except CanonryError:
            return False
        return True

    async def clock_fault(self) -> str | None:
        """Return the code that every write gets while the clock is wrong; None if it is right."""
        try:
            return await run_within(self._deadline, self._clock_watch.find_fault())
        except CanonryError:  # readiness reports a store that does not answer
            return None

    async def _serve(self, offer: Offer[Any], arguments: object, asking: _CallRequest) -> Result:
        """Run the path, for tools, composed tools, resources and prompts alike."""
        toolset, name, limits = offer.toolset, offer.item.name, offer.limits
        line, started = AuditLine(kind=offer.kind, name=name), self._seconds()
        line.correlation = self._correlations.correlation_of(
            (asking.meta or {}).get(CORRELATION_META)
        )
        caller: Caller | None = None
        self.audit.metrics.in_flight += 1
        try:
            caller = identify_caller(
                acting_principal(toolset, offer.item.roles, asking.principal),
                asking.meta,
                tool=name,
                default_type=default_type_of(toolset, asking.principal),
                masters=toolset.masters,
                progress=asking.progress,
            )
            line.caller = self._pseudonyms.pseudonym_of(caller)
            if caller.actor.agent_type in toolset.agent_types:  # any other text may be personal
                line.agent_type = caller.actor.agent_type
            require_role(toolset, name, offer.item.roles, caller)
            given = {} if arguments is None else _require_object(arguments)
            if not offer.read_only:  # in a read, an authority is a filter, not a claim
                require_claim(given, caller)
            if asking.counted:
                self._rates.admit_call(offer, asking.principal)
            if is_heavy(given):  # other calls run meanwhile
                line.size, checked = await asyncio.to_thread(_check_arguments, offer, given)
            else:
                line.size, checked = _check_arguments(offer, given)
            if caller.idempotency_key is not None:
                caller = caller.with_arguments(checked)
            if offer.cached is None or not offer.times.isdisjoint(checked):
                work = self._make_reply(offer, caller, checked, asking)
            else:
                work = self._cached_or_made(
                    offer, caller, checked, asking, policy=offer.cached, line=line
                )
            made = await run_within(limits.seconds, work, writes=not offer.read_only)
            return _limit_reply(made, offer, asking.batch)
        except CanonryError as error:
            return self._refuse_call(error, toolset, caller, line)
        except Exception as error:  # noqa: BLE001 - no unexpected exception leaves the gateway
            return self._report_defect(error, toolset, line)
        except BaseException:
            line.code = "cancelled"
            raise
        finally:
            self.audit.metrics.in_flight -= 1
            self.canon.find_service(CallCounter).count_call(self.canon, line)
            self.audit.record_call(line, self._seconds() - started)

    async def _cached_or_made(
        self,
        offer: Offer[Any],
        caller: Caller,
        arguments: dict[str, Any],
        asking: _CallRequest,
        *,
        policy: Cached,
        line: AuditLine,
    ) -> Result:
        """Return the cached reply, or make it now."""
        found = await self._cache.find_reply(reply_name(offer, caller, arguments))
        if not isinstance(found, Filling):
            self.audit.metrics.cache_hits += 1
            line.cached = True
            return found
        self.audit.metrics.cache_misses += 1
        try:
            result = await self._make_reply(offer, caller, arguments, asking)
            self._cache.keep_reply(found, policy, arguments, result)
        finally:
            self._cache.abandon_filling(found)
        return result

    async def _make_reply(
        self, offer: Offer[Any], caller: Caller, arguments: dict[str, Any], asking: _CallRequest
    ) -> Result:
        """Make the reply now."""
        batch = asking.batch
        if offer.compose is None:
            if batch is not None and batch.room <= 0:  # no client would get the progress
                raise batch_too_long(offer.limits.reply)
            canon = self.canon.for_viewer(caller.viewer)
            if not offer.times.isdisjoint(arguments):
                location = await item_of_arguments(canon, caller, arguments)
                canon = await at_viewpoint(canon, caller, arguments, location)
                arguments = {n: e for n, e in arguments.items() if n not in offer.times}
            return offer.result_of(await offer.run(canon, caller, arguments))
        if batch is not None:
            message = (
                f"'{offer.item.name}' makes calls and cannot be part of one. Call it by itself."
            )
            raise InvalidInput("call.nested", message, path="")
        return offer.result_of(await offer.compose(self._inner_call(offer, asking), arguments))

    def _inner_call(self, outer: Offer[Any], asking: _CallRequest) -> CallTool:
        """Return the function by which a composed tool calls others, on the whole path."""
        batch = _Batch(room=outer.limits.reply)

        async def call(name: str, arguments: Mapping[str, Any]) -> Reply:
            batch.made += 1
            meta = asking.meta
            if meta and isinstance(key := meta.get(KEY_META), str):
                meta = {**meta, KEY_META: f"{key}#{batch.made}"}
            offer = self.catalogue.find_tool(name)
            if offer is None:
                return self._unknown_item("tool", name).body
            inner = replace(asking, meta=meta, batch=batch)
            return (await self._serve(offer, arguments, inner)).body

        return call

    def _unknown_item(self, kind: str, name: str) -> Result:
        event = "call" if kind == "tool" else kind
        self.audit.record_call(AuditLine(kind=event, name="(unknown)", code=f"{kind}.unknown"), 0.0)
        offered = {"tool": self.catalogue.tools, "prompt": self.catalogue.prompts}
        return unknown_result(kind, name, offered.get(kind, ()))

    def _refuse_call(
        self, error: CanonryError, toolset: Toolset, caller: Caller | None, line: AuditLine
    ) -> Result:
        if isinstance(error, BrokenInvariant):
            return self._report_defect(error, toolset, line)
        line.code, line.denied = error.code, isinstance(error, NotAllowed)
        line.trace = self.canon.identities.new_id() if toolset.traced else ""
        return refusal_result(error, toolset, line.name, caller, line.trace)

    def _report_defect(self, error: Exception, toolset: Toolset, line: AuditLine) -> Result:
        line.code = error.code if isinstance(error, CanonryError) else "internal"
        line.incident = self.canon.identities.new_id()
        self.audit.record_incident(line.incident, error)
        return defect_result(line.incident, toolset, line.name)


def _check_arguments(offer: Offer[Any], given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the size of the arguments, and the arguments with defaults filled in."""
    return measure_arguments(given, offer.limits), offer.check(given)


def _require_object(arguments: object) -> dict[str, Any]:
    if not isinstance(arguments, Mapping):
        raise InvalidInput(
            "input.invalid", "The arguments of a call must be a JSON object.", path=""
        )
    return dict(arguments)


def _limit_reply(result: Result, offer: Offer[Any], batch: _Batch | None) -> Result:
    """Return the result, or an error if a read's reply is too long; writes always pass."""
    body, limit = result.body, offer.limits.reply
    size = len(body.data) if isinstance(body, File) else len(result.text)
    if offer.read_only:
        if size > limit:
            message = (
                f"The reply has more than {limit} characters. Ask for less: set a lower limit, "
                "or leave out optional parts."
            )
            raise InvalidInput("limits.reply", message, path="", limit=limit)
        if batch is not None and size > batch.room:
            raise batch_too_long(limit)
    if batch is not None:
        batch.room -= size
    return result
