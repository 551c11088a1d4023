"""What a tool is: data. The server, the command line, the documents and the tests read the same."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import quote

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.face import Face
from canonry.gateway.limits import Limits, PublishedRate
from canonry.values.errors import CanonryError

ANYONE: Final = frozenset({"*"})
"""As roles: every agent type that the toolset knows. As types: it knows every name."""

Arguments = Mapping[str, Any]
Variables = Mapping[str, str]
"""What a URI says for the variables of a template."""
Schema = Mapping[str, Any]
Reply = Any
"""JSON values: an object as a rule; where a contract says so, a list or null."""

Run = Callable[[Canon, Caller, Arguments], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A reply with what is told beside it: in `_meta`, such as that something was left out.

    `parts` are more contents of the protocol's own forms, such as links to resources; where there
    is no reply they are all that is said.
    """

    reply: Reply = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Mapping[str, Any], ...] = ()


CallTool = Callable[[str, Arguments], Awaitable[Reply]]
"""Calls another tool for the same caller, through the whole path: its reply, or `{"error": …}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """How long a tool's reply may be reused, and which touched keys end that earlier.

    `depends_on(arguments, reply)` gives keys as `canonry.log.folding` writes them.
    `seconds(arguments, reply)` is the lifetime; 0 means not at all.
    """

    seconds: Callable[[Arguments, Reply], float]
    depends_on: Callable[[Arguments, Reply], frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedArguments:
    """The arguments of a tool exactly as its contract has them, where the tool takes more.

    `given` are the values of members that the contract lacks; the tool gets them with every call.
    Arguments are held against `accepted` where the contract takes other words for the same.
    """

    schema: Schema
    accepted: Schema | None = None
    given: Arguments = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A named operation that an agent may call.

    `run(canon, caller, arguments)` takes arguments that already satisfy `input_schema`, checks
    their meaning, runs one use case and returns the reply as JSON values that satisfy
    `output_schema`; `Noted`, where there is more to tell. It raises `CanonryError` and nothing
    else on purpose.

    A tool that has `compose` is made of calls of other tools: the gateway awaits
    `compose(call, arguments)` instead of `run`, and each inner call is identified, authorized,
    limited, validated and audited like any other. A composed tool cannot call a composed tool.

    `aliases` are names by which it can be called and is never listed. Arguments are held against
    `accepted_schema` where a contract answers wrong ones with a result. `limits` take the place
    of the server's, but no call takes longer than the operator allows; `per_minute` are the calls
    that its contract publishes for each user. `app` is the resource that shows its replies, in
    clients that can. `published` are the arguments of a server that keeps to the contract alone.
    Such a server is `exact`: it refuses a value of another type instead of mending it.
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
    limits: Limits | None = None
    per_minute: int | None = None
    cached: Cached | None = None
    consistency: str | None = None
    deterministic: bool | None = None
    app: str | None = None
    published: PublishedArguments | None = None
    exact: bool = False
    compose: Callable[[CallTool, Arguments], Awaitable[Reply]] | None = None


Shelved = tuple[Sequence[tuple[str, str]], int]
"""Pairs of a value and what a person calls it, and how many there are in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The things that one variable may name, for whoever browses resources or completes a word.

    `find(canon, caller, word, offset, limit)` gives pairs of a value and what a person calls it,
    of those whose value or name begins with `word`, and how many there are in all.
    """

    find: Callable[[Canon, Caller, str, int, int], Awaitable[Shelved]]


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """What a resource answers that is no text; its own media type goes before the resource's."""

    data: bytes = field(repr=False)
    mime_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A readable thing behind a URI template, e.g. `canonry://entity/{entity_id}`.

    `read(canon, caller, variables)` returns its text, or a file. Roles as for tools.
    """

    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str
    roles: frozenset[str]
    read: Callable[[Canon, Caller, Variables], Awaitable[str | File]]

    @property
    def variables(self) -> Sequence[str]:
        """What its template leaves open."""
        return [step[1:-1] for step in self.uri_template.split("/") if step.startswith("{")]

    def address(self, value: str) -> str:
        """The URI that its template makes of a value for its first variable."""
        return self.uri_template.replace(f"{{{self.variables[0]}}}", quote(value, safe=""))

    def link(self, value: str, title: str) -> Mapping[str, Any]:
        """A link to it, as a part of a reply."""
        about = {"name": title or self.title, "mimeType": self.mime_type}
        return {"type": "resource_link", "uri": self.address(value), **about}


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

    `code`, `message` and `data` are those of a protocol error. `wire` is what a tool's result says
    instead, where the contract has a form of its own.
    """

    code: int
    message: str
    data: Mapping[str, Any]
    wire: Mapping[str, Any] | None = None


class Dialect(Protocol):
    """How a toolset words its errors."""

    def __call__(
        self, error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
    ) -> ErrorBody:
        """The body for `error`; it must not reveal anything that the error does not carry.

        A defect arrives as the BrokenInvariant `internal`. `trace_id` is under which the audit has
        the call, and empty where the toolset is not `traced`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset(Face):
    """Tools that are served together under one contract, behind one face.

    A caller whose agent type nobody has named is of the `default_agent_type`, and one who started
    the server for themselves of the `local_agent_type`, where there is one. A toolset that is not
    `structured` says its replies in text alone, and lists no schemas of them. A `traced` toolset
    names failed calls by ids that the audit has as well. A server of `sealed` toolsets alone opens
    the store for reading only. `rates` are those that the contract publishes for each client, over
    everything that it calls. `masters` are the agent types that may speak as the game master unless
    the operator says otherwise. `shelves` are by the variables of resources and the arguments of
    prompts that they are about; a resource with one such variable can be browsed. `words` describe
    properties of schemas by name, where they are listed. `remedies` say by the codes of errors
    which of its tools help; what lies below toolsets names no tool. `web_routes` is the
    "module:attribute" of the class whose routes a server adds over HTTP; the server imports it when
    it serves the toolset.
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
    shelves: Mapping[str, Shelf] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)
    web_routes: str | None = None
