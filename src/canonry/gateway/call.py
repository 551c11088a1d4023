"""The path that every call takes; no host can skip a step of it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from canonry.domain.errors import BrokenInvariant, CanonryError, InvalidInput
from canonry.gateway.audit import Audit, Record
from canonry.gateway.authority import authorize, require_claim
from canonry.gateway.cache import Filling, ReplyCache, reply_name
from canonry.gateway.catalogue import Catalogue, ToolOffer, catalogue
from canonry.gateway.limits import Limits, Rate, is_heavy, measure, require_readable, within
from canonry.gateway.principal import KEY_META, Meta, Principal, identify
from canonry.gateway.replies import Outcome, broken, refused, replied, unknown
from canonry.gateway.text import shown
from canonry.gateway.tool import CallTool, Prompt, Reply, Resource, Tool, Toolset
from canonry.usecases.kernel.caller import Caller, Progress, no_progress
from canonry.usecases.kernel.canon import Canon


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """What an operator may decide about the path."""

    limits: Limits = field(default_factory=Limits)
    unknown_properties: bool = False
    contract_only: bool = False
    published_rates: bool = False
    """Whether the calls a minute that a contract publishes for its tools are enforced."""


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
            BrokenInvariant: `toolset.ambiguous`, if two things bear the same name.
        """
        settings = settings or GatewaySettings()
        self.canon = canon
        self.audit = audit or Audit()
        self.catalogue: Catalogue = catalogue(
            toolsets,
            contract_only=settings.contract_only,
            unknown_properties=settings.unknown_properties,
        )
        self._limits = settings.limits
        self._seconds = canon.clock.monotonic
        per_minute = self._limits.per_minute
        self._rate = Rate(per_minute, self._seconds) if per_minute else None
        self._tool_rates = {
            name: Rate(offer.tool.per_minute, self._seconds)
            for name, offer in self.catalogue.tools.items()
            if settings.published_rates and offer.tool.per_minute is not None
        }
        self._cache = ReplyCache(canon.ledger, self._seconds)

    def only(self, toolset: str) -> "Gateway":
        """The same gateway as far as it serves one toolset; cache, rate and metrics are shared."""
        narrowed = copy(self)
        narrowed.catalogue = self.catalogue.only(toolset)
        return narrowed

    async def call(
        self,
        name: str,
        arguments: object,
        principal: Principal,
        meta: Meta | None = None,
        progress: Progress = no_progress,
    ) -> Outcome:
        """Call the tool `name`; every failure is an outcome, only cancellation is raised.

        None says that the call has no arguments; anything but a mapping is refused by the tool.
        """
        offer = self.catalogue.find_tool(name)
        if offer is None:
            self.audit.record(Record(kind="call", name="(unknown)", code="tool.unknown"), 0.0)
            return unknown("tool", name)
        tool, toolset, name = offer.tool, offer.toolset, offer.tool.name
        record, started = Record(kind="call", name=name), self._seconds()
        caller: Caller | None = None
        self.audit.begin()
        try:
            caller = self._identify(toolset, principal, meta, name, progress)
            self._authorize(toolset, name, tool.roles, caller, record)
            given = _object(arguments)
            if not tool.read_only:  # there an authority is a filter, not a claim
                require_claim(given, caller)
            self._admit(caller, tool)
            if is_heavy(given):  # others are served meanwhile
                checked = await asyncio.to_thread(self._checked, given, record, offer)
            else:
                checked = self._checked(given, record, offer)
            if tool.compose is not None:
                call = self._inner_call(principal, meta, progress)
                seconds = (tool.limits or self._limits).seconds
                return replied(await within(seconds, _compose(tool, call, checked)))
            if caller.idempotency_key is not None:
                caller = caller.asking(checked)
            return await self._run(offer, caller, checked, record)
        except CanonryError as error:
            return self._refused(error, toolset, caller, record)
        except Exception as error:  # noqa: BLE001 - the fence: nothing unexpected gets out
            return self._broken(error, toolset, record)
        except BaseException:
            record.code = "cancelled"
            raise
        finally:
            self.audit.end(record, self._seconds() - started)

    async def read_resource(
        self, uri: str, principal: Principal, meta: Meta | None = None
    ) -> tuple[Resource | None, Outcome]:
        """Read the resource `uri`; the outcome's text is its content, or the error's JSON."""
        found = self.catalogue.find_resource(uri)
        if found is None:
            return None, unknown("resource", uri)
        offer, variables = found
        resource = offer.resource

        async def read(caller: Caller) -> str:
            return await resource.read(self.canon, caller, variables)

        record = Record(kind="resource", name=resource.name)
        return resource, await self._text(
            offer.toolset,
            principal,
            meta,
            record=record,
            roles=resource.roles,
            given=variables,
            work=read,
        )

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None,
        principal: Principal,
        meta: Meta | None = None,
    ) -> tuple[Prompt | None, Outcome]:
        """Render the prompt `name`; the outcome's text is the user message, or the error's JSON."""
        offer = self.catalogue.prompts.get(name)
        if offer is None:
            return None, unknown("prompt", name)
        prompt, given = offer.prompt, dict(arguments or {})

        async def render(_: Caller) -> str:
            offer.check(given)
            return prompt.render(given)

        record = Record(kind="prompt", name=name)
        return prompt, await self._text(
            offer.toolset,
            principal,
            meta,
            record=record,
            roles=prompt.roles,
            given=given,
            work=render,
        )

    async def ready(self) -> bool:
        """Whether the records answer."""
        try:
            await within(self._limits.seconds, self._cache.refresh())
        except CanonryError:
            return False
        return True

    def _authorize(
        self, toolset: Toolset, name: str, roles: frozenset[str], caller: Caller, record: Record
    ) -> None:
        if caller.actor.agent_type in toolset.agent_types:  # any other word may be personal
            record.agent_type = caller.actor.agent_type
        authorize(toolset, name, roles, caller)

    def _identify(
        self,
        toolset: Toolset,
        principal: Principal,
        meta: Meta | None,
        name: str,
        progress: Progress = no_progress,
    ) -> Caller:
        default = toolset.default_agent_type
        return identify(principal, meta, tool=name, default_type=default, progress=progress)

    def _checked(self, given: dict[str, Any], record: Record, offer: ToolOffer) -> dict[str, Any]:
        record.size = measure(given, offer.tool.limits or self._limits)
        return offer.check(given)

    def _admit(self, caller: Caller, tool: Tool | None = None) -> None:
        if self._rate is not None:
            self._rate.admit(caller.actor.agent_id)
        if tool is not None and tool.name in self._tool_rates:
            self._tool_rates[tool.name].admit(caller.actor.user or caller.actor.agent_id)

    async def _run(
        self, offer: ToolOffer, caller: Caller, arguments: dict[str, Any], record: Record
    ) -> Outcome:
        tool, metrics = offer.tool, self.audit.metrics
        limits = tool.limits or self._limits
        seconds = limits.seconds
        if tool.cached is None:
            outcome = replied(await within(seconds, _work(tool, self.canon, caller, arguments)))
            if tool.read_only:  # what was written must not be told as refused
                require_readable(outcome.text, limits)
            return outcome
        found = await self._cache.find(reply_name(offer.toolset.name, tool, caller, arguments))
        if not isinstance(found, Filling):
            metrics.cache_hits += 1
            record.cached = True
            return found
        metrics.cache_misses += 1
        try:
            outcome = replied(await within(seconds, _work(tool, self.canon, caller, arguments)))
            self._cache.keep(found, tool.cached, arguments, outcome)
        finally:
            self._cache.abandon(found)
        return outcome

    def _inner_call(self, principal: Principal, meta: Meta | None, progress: Progress) -> CallTool:
        """How a composed tool calls others: the whole path, and a retry key for each call."""
        made = 0

        async def call(name: str, arguments: Mapping[str, Any]) -> Reply:
            nonlocal made
            made += 1
            offer = self.catalogue.find_tool(name)
            if offer is not None and offer.tool.compose is not None:
                message = f"'{shown(name)}' is made of other calls and cannot be part of one"
                error = InvalidInput("call.nested", message, path="")
                return refused(error, offer.toolset, name, None).body
            inner_meta = meta
            if meta and isinstance(key := meta.get(KEY_META), str):
                inner_meta = {**meta, KEY_META: f"{key}#{made}"}
            return (await self.call(name, arguments, principal, inner_meta, progress)).body

        return call

    async def _text(
        self,
        toolset: Toolset,
        principal: Principal,
        meta: Meta | None,
        *,
        record: Record,
        roles: frozenset[str],
        given: dict[str, str],
        work: Callable[[Caller], Coroutine[Any, Any, str]],
    ) -> Outcome:
        """The same path for what is not a tool and answers with text."""
        started = self._seconds()
        caller: Caller | None = None
        self.audit.begin()
        try:
            caller = self._identify(toolset, principal, meta, record.name)
            self._authorize(toolset, record.name, roles, caller, record)
            self._admit(caller)
            record.size = measure(given, self._limits)
            text = await within(self._limits.seconds, work(caller))
            return Outcome(body={}, text=text)
        except CanonryError as error:
            return self._refused(error, toolset, caller, record)
        except Exception as error:  # noqa: BLE001 - the fence: nothing unexpected gets out
            return self._broken(error, toolset, record)
        finally:
            self.audit.end(record, self._seconds() - started)

    def _refused(
        self, error: CanonryError, toolset: Toolset, caller: Caller | None, record: Record
    ) -> Outcome:
        if isinstance(error, BrokenInvariant):
            return self._broken(error, toolset, record)
        record.code = error.code
        record.trace = self.canon.identities.fresh() if toolset.traced else ""
        return refused(error, toolset, record.name, caller, record.trace)

    def _broken(self, error: Exception, toolset: Toolset, record: Record) -> Outcome:
        record.code = error.code if isinstance(error, CanonryError) else "internal"
        record.incident = self.canon.identities.fresh()
        self.audit.incident(record.incident, error)
        return broken(record.incident, toolset, record.name)


async def _work(tool: Tool, canon: Canon, caller: Caller, arguments: dict[str, Any]) -> Reply:
    return await tool.run(canon, caller, arguments)


def _object(arguments: object) -> dict[str, Any]:
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise InvalidInput("input.invalid", "the arguments of a call are a JSON object", path="")
    return dict(arguments)


async def _compose(tool: Tool, call: CallTool, arguments: dict[str, Any]) -> Reply:
    if tool.compose is None:
        raise BrokenInvariant("tool.not-composed", "this tool is not made of other calls")
    return await tool.compose(call, arguments)
