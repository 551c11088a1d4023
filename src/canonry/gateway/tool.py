"""Tools, resources and prompts as data, for the server, the command line and the docs."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import quote

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.limits import Limits, PublishedRate
from canonry.gateway.toolset_introduction import Face
from canonry.readmodels.ports.state import EntityQuery
from canonry.values.errors import CanonryError
from canonry.values.json_values import fold_text

ANYONE: Final = frozenset({"*"})
"""As roles: every agent type of the toolset. As agent types: any name."""

Arguments = Mapping[str, Any]
Variables = Mapping[str, str]
"""The values of a template's variables in a URI."""
Schema = Mapping[str, Any]
Reply = Any
"""A JSON value: usually an object; in some contracts a list or null."""

Run = Callable[[Canon, Caller, Arguments], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A reply with notes in `_meta`, for example that items were left out.

    `parts` are more contents in the protocol's own forms, such as links to resources. Without a
    reply they are the whole result.
    """

    reply: Reply = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Mapping[str, Any], ...] = ()


CallTool = Callable[[str, Arguments], Awaitable[Reply]]
"""Calls another tool for the same caller on the whole path; returns its reply or `{"error": …}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """The lifetime of a tool's cached reply, and the keys that end it earlier.

    `depends_on(arguments, reply)` gives keys as `canonry.log.folding` writes them.
    `seconds(arguments, reply)` is the lifetime; 0 means not at all.
    """

    seconds: Callable[[Arguments, Reply], float]
    depends_on: Callable[[Arguments, Reply], frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedArguments:
    """The arguments of a tool exactly as its contract has them, if the tool takes more.

    `given` are the values of members that the contract lacks; the tool gets them with every call.
    Arguments are checked against `accepted` if the contract accepts other names as well.
    """

    schema: Schema
    accepted: Schema | None = None
    given: Arguments = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A named operation that an agent may call.

    `run(canon, caller, arguments)` takes arguments that already satisfy `input_schema`, checks
    their meaning, runs one use case and returns the reply as JSON values that satisfy
    `output_schema`, or a `Noted` reply. It raises `CanonryError` and nothing else on purpose.

    A tool with `compose` calls other tools: the gateway awaits
    `compose(call, arguments)` instead of `run`, and each inner call is identified, authorized,
    limited, validated and audited like any other. A composed tool cannot call a composed tool.

    `aliases` are unlisted names of the tool. Arguments are checked against `accepted_schema` if the
    contract answers wrong ones with a result. `times` are the arguments of a viewpoint that it
    takes: the gateway narrows the canon to them, and `run` never sees them. `limits` replace the
    server's, but no call takes longer than the operator allows; `per_minute` is the published rate
    per user. `app` is the resource that shows its replies, in clients that can. `published` are the
    arguments of a server for the contract alone. With `exact`, a value of another type is refused
    and not converted. `mend` returns wrong arguments in the words of the schema. A tool that `asks`
    lets its user name what a call lacks, where the client can show a form.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    roles: frozenset[str]
    run: Run
    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    extension: bool = False
    aliases: tuple[str, ...] = ()
    accepted_schema: Schema | None = None
    times: tuple[str, ...] = ()
    limits: Limits | None = None
    per_minute: int | None = None
    cached: Cached | None = None
    consistency: str | None = None
    deterministic: bool | None = None
    app: str | None = None
    asks: bool = False
    published: PublishedArguments | None = None
    exact: bool = False
    mend: Callable[[Arguments, Schema], dict[str, Any]] | None = None
    compose: Callable[[CallTool, Arguments], Awaitable[Reply]] | None = None


SEARCHED_FIRST: Final = 500
"""Items of a list among which a word is searched."""

CompletionPage = tuple[Sequence[tuple[str, str]], int]
"""Pairs of a value and its name for people, and the total number."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A page of the values of one variable that begin with `word`, or whose name does."""

    word: str
    offset: int
    limit: int

    def entity_query(self, entity_type: str | None = None) -> EntityQuery:
        """Return the query for entities whose name begins with the word."""
        pattern = f"{self.word}*" if self.word else None
        page: dict[str, Any] = {"limit": self.limit, "offset": self.offset}
        return EntityQuery(entity_type=entity_type, name_pattern=pattern, **page)

    def page_of(self, named: Iterable[tuple[str, str]]) -> CompletionPage:
        """Return the page out of a whole list."""
        wanted = fold_text(self.word)
        fit = [pair for pair in named if any(fold_text(each).startswith(wanted) for each in pair)]
        return fit[self.offset : self.offset + self.limit], len(fit)

    @property
    def page_read(self) -> dict[str, Any]:
        """The page of a list to read: a word is searched among the first items."""
        limit, offset = (SEARCHED_FIRST, 0) if self.word else (self.limit, self.offset)
        return {"limit": limit, "offset": offset}

    def page_among(self, named: Sequence[tuple[str, str]], total: int) -> CompletionPage:
        """Return the page out of the items that were read as `page_read`, of `total` in all."""
        return self.page_of(named) if self.word else (named, total)


FindCompletions = Callable[[Canon, Caller, Completion], Awaitable[CompletionPage]]
"""Returns values of a variable, for clients that browse resources or complete a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """Binary content of a resource; its media type replaces the resource's."""

    data: bytes = field(repr=False)
    mime_type: str | None = None


ReadResource = Callable[[Canon, Caller, Variables], Awaitable[str | File]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A readable item behind a URI template, e.g. `canonry://entity/{entity_id}`.

    `read(canon, caller, variables)` returns its text, or a file. Roles as for tools.
    """

    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str
    roles: frozenset[str]
    read: ReadResource

    @property
    def variables(self) -> Sequence[str]:
        """Return the variables of its template."""
        return [step[1:-1] for step in self.uri_template.split("/") if step.startswith("{")]

    def uri_for(self, value: str) -> str:
        """Return the URI for a value of its first variable."""
        return self.uri_template.replace(f"{{{self.variables[0]}}}", quote(value, safe=""))

    def link_to(self, value: str, title: str) -> Mapping[str, Any]:
        """Return a link to the resource, as a part of a reply."""
        about = {"name": title or self.title, "mimeType": self.mime_type}
        return {"type": "resource_link", "uri": self.uri_for(value), **about}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """One argument of a prompt."""

    name: str
    description: str
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A text that tells a model how to work; `render(arguments)` returns the user message."""

    name: str
    title: str
    description: str
    roles: frozenset[str]
    arguments: tuple[PromptArgument, ...]
    render: Callable[[Mapping[str, str]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBody:
    """An error as a contract publishes it.

    `code`, `message` and `data` are those of a protocol error. `wire` replaces them in a tool's
    result, if the contract has its own form.
    """

    code: int
    message: str
    data: Mapping[str, Any]
    wire: Mapping[str, Any] | None = None


class Dialect(Protocol):
    """Makes the errors of a toolset."""

    def __call__(
        self, error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
    ) -> ErrorBody:
        """Return the body for `error`; it must not reveal more than the error holds.

        A defect arrives as the BrokenInvariant `internal`. `trace_id` is the call's id in the
        audit, and empty if the toolset is not `traced`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset(Face):
    """Tools that are served together under one contract, with one introduction.

    A caller without an agent type gets the `default_agent_type`; the operator as the only local
    client gets the `local_agent_type`, if there is one. A toolset that is not `structured` sends
    its replies as text alone and lists no output schemas. A `traced` toolset names failed calls by
    their ids in the audit. A server of `sealed` toolsets alone opens the store read-only. `rates`
    are published by the contract, per client over all its calls. `masters` are the agent types
    that may speak as the game master by default. `completions` complete the variables of resources
    and the arguments of prompts; a resource with one such variable can be browsed. Lists have
    the `descriptions` of properties by name. `remedies` name, by error code, the tool that helps;
    layers below toolsets name no tool. `web_routes` is the "module:attribute" of the class whose
    routes a server adds over HTTP; the server imports it when it serves the toolset.
    """

    agent_types: frozenset[str]
    dialect: Dialect
    tools: tuple[Tool, ...]
    default_agent_type: str | None = None
    local_agent_type: str | None = None
    structured: bool = True
    masters: frozenset[str] = frozenset()
    traced: bool = False
    sealed: bool = False
    rates: tuple[PublishedRate, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    completions: Mapping[str, FindCompletions] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)
    web_routes: str | None = None
