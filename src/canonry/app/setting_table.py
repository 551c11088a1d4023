"""Every setting as one row: its type, kind, meaning and default, and where an operator gives it.

The file's key, the variable, the option and the page of the reference all follow from the row.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

from canonry.app.setting_kinds import (
    CALLERS,
    CALLS,
    FLAG,
    NAMES,
    NUMBER,
    PATH,
    TEXT,
    one_of,
    parse_address,
    row_of,
    setting,
    shown,
    some_of,
)
from canonry.app.store_settings import StoreSettings
from canonry.server.token_settings import ALGORITHMS
from canonry.values.policy import Policy
from canonry.values.provenance import Authority

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(StoreSettings):
    """Everything that an operator may decide; `sources` tells where each decision came from.

    What begins with the name of one of the `TABLES` stands in that table of the file. `told` is
    for a default that is not what it looks like.
    """

    toolsets: tuple[str, ...] = setting(NAMES, "Toolsets to serve.", default=("canon",))
    http: str | None = setting(
        TEXT,
        "Serve Streamable HTTP there instead of standard input and output.",
        metavar="HOST:PORT",
    )
    agent_type: tuple[str, ...] | None = setting(
        NAMES,
        "Role of the agent behind this process, such as Keeper or Narrator; of several, each call "
        "takes the first that may make it.",
        metavar="TYPE,...",
        told="Solo for canon over standard input and output, else none",
        group=CALLERS,
    )
    agent_id: str | None = setting(
        TEXT, "Name of that agent.", metavar="ID", told="the first agent type", group=CALLERS
    )
    user: str | None = setting(
        TEXT, "The person on whose behalf the agent acts.", metavar="UUID", group=CALLERS
    )
    trust_meta: bool = setting(
        FLAG,
        'Let the client name its agent in each call\'s _meta["dev.canonry/agent"].',
        default=False,
        group=CALLERS,
    )
    authorities: tuple[str, ...] | None = setting(
        some_of(*Authority),
        "Whose word the agent may claim, whatever its role; with tokens, the token says.",
        told="all for the CanonKeeper, all but gm for others",
        group=CALLERS,
    )
    characters: tuple[str, ...] = setting(
        NAMES,
        "The characters whose secrets the agent may know, beside those of its user.",
        metavar="UUID,...",
        default=(),
    )
    spaces: tuple[str, ...] | None = setting(
        NAMES,
        "The only universes that the agent may see.",
        metavar="UUID,...",
        told="all",
        group=CALLERS,
    )
    world: str | None = setting(
        TEXT,
        "The world that world tools are about; the space of calls of canon that name none.",
        metavar="UUID",
        group=CALLERS,
    )
    memory: bool = setting(
        FLAG, "Keep the store in memory only; it ends with the process.", default=False
    )
    contract_only: bool = setting(
        FLAG,
        "Serve the published contract alone: its tools, arguments, types, defaults and rates.",
        default=False,
    )
    tools: tuple[str, ...] | None = setting(
        NAMES, "The only tools to serve; * stands for any letters.", told="all"
    )
    read_only: bool = setting(
        FLAG, "Serve only the tools that write nothing, whatever else is set.", default=False
    )
    error_mode: str = setting(
        one_of("result", "jsonrpc"),
        "How a failed call is told: as a tool result that a model can read, or as an error.",
        default="result",
        group=CALLS,
    )
    allow_unknown_properties: bool = setting(
        FLAG,
        "Accept arguments that a tool does not have, and ignore them.",
        default=False,
        group=CALLS,
    )
    deadline: float | None = setting(
        NUMBER,
        "The longest that any call may take, whatever its tool needs.",
        metavar="SECONDS",
        told="30, and 120 for files",
        group=CALLS,
    )
    rate_limit: float | None = setting(
        NUMBER,
        "The most calls in a minute of one agent, as its connection or token names it.",
        metavar="CALLS",
        told="no limit",
        group=CALLS,
    )
    published_rates: bool = setting(
        FLAG,
        "Enforce the rates that a contract publishes for each user or client.",
        default=False,
        group=CALLS,
    )
    log_level: str = setting(
        one_of("info", "warning"),
        "info: one structured line a call on standard error; warning: failures only.",
        default="info",
        group=CALLS,
    )
    http_public: bool = setting(
        FLAG,
        "Allow an address beyond this machine without bearer tokens; rarely right.",
        default=False,
    )
    http_allowed_hosts: tuple[str, ...] = setting(
        NAMES,
        "More names under which clients may address the HTTP server.",
        default=(),
        metavar="HOST,...",
    )
    http_allowed_origins: tuple[str, ...] = setting(
        NAMES,
        "Web origins whose pages may call the HTTP server from a browser.",
        default=(),
        metavar="ORIGIN,...",
    )
    http_trusted_proxies: tuple[str, ...] = setting(
        NAMES,
        "Addresses or networks of TLS proxies whose X-Forwarded-Proto and -For are believed.",
        default=("127.0.0.1", "::1"),
        metavar="ADDRESS,...",
    )
    http_inspector: bool = setting(
        FLAG, "Offer the pages of the inspector at /, for the toolset canon.", default=True
    )
    http_connections: float = setting(
        NUMBER,
        "The most connections at one time; the longest idle one makes room for another.",
        default=1_000,
        told="1000, or half of the files that may be open",
    )
    http_connections_each: float | None = setting(
        NUMBER,
        "The most connections from one address; raise it behind a proxy.",
        told="half of http_connections",
    )
    http_idle: float = setting(
        NUMBER,
        "How long a connection may say nothing; longer than a proxy keeps its own.",
        default=60.0,
        metavar="SECONDS",
    )
    http_sessions_each: float = setting(
        NUMBER,
        "The most sessions of one caller; the longest idle one makes room for another.",
        default=1_000,
    )
    http_in_flight: float = setting(
        NUMBER,
        "The most that the requests of one caller may hold while they are answered.",
        default=256,
        metavar="MIB",
    )
    auth_issuer: str | None = setting(
        TEXT, "Who signs bearer tokens; switches token verification on.", metavar="URL"
    )
    auth_audience: str | None = setting(TEXT, "The audience that a token must be for.")
    auth_resource_url: str | None = setting(
        TEXT,
        "The address under which clients reach this server.",
        metavar="URL",
        told="http://HOST:PORT/mcp",
    )
    auth_jwks_url: str | None = setting(TEXT, "Where the issuer publishes its keys.", metavar="URL")
    auth_keys_hours: float = setting(
        NUMBER,
        "How long the issuer's last known keys count while the issuer does not answer.",
        default=24.0,
        metavar="HOURS",
    )
    auth_key_file: Path | None = setting(
        PATH,
        "The issuer's public key in PEM, or a shared secret; instead of --auth-jwks-url.",
        metavar="FILE",
    )
    auth_algorithms: tuple[str, ...] = setting(
        some_of(*ALGORITHMS),
        "Accepted signature algorithms; those that begin with HS take a shared secret.",
        default=("RS256", "ES256", "EdDSA"),
    )
    auth_scopes: tuple[str, ...] = setting(NAMES, "Scopes that every token must have.", default=())
    auth_default_agent_type: str | None = setting(
        TEXT,
        "Role of tokens that name none.",
        metavar="TYPE",
        told="none: such a token may call nothing",
    )
    auth_default_spaces: tuple[str, ...] = setting(
        NAMES,
        "The spaces of tokens that name none; * stands for all.",
        metavar="UUID,...",
        default=(),
        told="none: such a token may call nothing",
    )
    recall_embedder: str = setting(
        one_of("onnx", "multilingual", "hashing", "openai", "hub", "none"),
        (
            "What finds passages by meaning: onnx, multilingual (an extra), hashing, openai (any "
            "compatible endpoint), hub; none: words alone."
        ),
        default="onnx",
        metavar="NAME",
    )
    recall_model: str | None = setting(
        TEXT, "The model of an endpoint or a hub, by its name there."
    )
    recall_model_version: str = setting(
        TEXT,
        "Raise it when the endpoint or the hub serves other weights under the same name.",
        default="1",
        metavar="TEXT",
    )
    recall_model_folder: Path | None = setting(
        PATH, "Where onnx finds its model's file, model.onnx.", told="an installed package"
    )
    recall_dimensions: float | None = setting(
        NUMBER, "The dimensions of the vectors of an endpoint or a hub."
    )
    recall_query_prefix: str | None = setting(
        TEXT,
        'What a model of an endpoint or a hub wants before a question, such as "query: ".',
        metavar="TEXT",
        told="nothing",
    )
    recall_passage_prefix: str | None = setting(
        TEXT, 'The same before a passage, such as "passage: ".', metavar="TEXT", told="nothing"
    )
    recall_patience: float = setting(
        NUMBER,
        (
            "The longest that a search waits for the model before it goes on by words; half of "
            "the deadline at most."
        ),
        default=10.0,
        metavar="SECONDS",
    )
    recall_ask_dimensions: bool = setting(
        FLAG, "Ask the endpoint for vectors of so many dimensions.", default=False
    )
    recall_url: str | None = setting(
        TEXT, "The base address of the endpoint; its key is CANONRY_RECALL_KEY.", metavar="URL"
    )
    recall_reranker: str = setting(
        one_of("none", "cohere", "tei"),
        (
            "What takes a second look at the first passages found: none, or an endpoint that "
            "speaks the protocol of cohere (also Jina, vLLM, llama.cpp) or of tei."
        ),
        default="none",
        metavar="NAME",
    )
    recall_rerank_url: str | None = setting(
        TEXT,
        "The base address of that endpoint, before /rerank; its key is CANONRY_RERANK_KEY.",
        metavar="URL",
    )
    recall_rerank_model: str | None = setting(
        TEXT, "The model of that endpoint, by its name there."
    )
    recall_rerank_patience: float = setting(
        NUMBER,
        "The longest that a search waits for it before it goes on without.",
        default=2.0,
        metavar="SECONDS",
    )
    recall_library: str = setting(
        one_of("fastembed", "sentence_transformers"),
        "The installed library that fetches and runs a hub's model.",
        default="fastembed",
        metavar="NAME",
    )
    truth_interpreter: str = setting(
        one_of("rules", "openai", "anthropic"),
        (
            "What finds entities in files: rules, or a language model behind an endpoint that "
            "speaks the protocol of openai or anthropic; its key is CANONRY_TRUTH_KEY."
        ),
        default="rules",
        metavar="NAME",
    )
    truth_model: str | None = setting(TEXT, "The language model, by its name at the endpoint.")
    truth_url: str | None = setting(
        TEXT, "The base address of the endpoint, up to and with its version.", metavar="URL"
    )
    truth_upload_roots: tuple[str, ...] = setting(
        NAMES,
        "Folders of this machine whose files clients may name by path.",
        default=(),
        metavar="DIR,...",
        told="the working folder; none over HTTP",
    )
    truth_public_url: str | None = setting(
        TEXT,
        "The address under which clients reach this server to fetch files.",
        metavar="URL",
        told="the address served",
    )
    dialogue_model: str | None = setting(
        TEXT, "The language model for characters of a world, by its name at the endpoint."
    )
    dialogue_url: str | None = setting(
        TEXT,
        "Base address of an endpoint of the openai protocol; its key is CANONRY_DIALOGUE_KEY.",
        metavar="URL",
    )
    dialogue_moderator: str | None = setting(
        TEXT, "What moderates beside the rules: a model at that endpoint, or `local`, on the CPU."
    )
    dialogue_intents: str | None = setting(
        TEXT, "The model that reads players at that endpoint; where it fails, the rules do."
    )
    dialogue_seconds: float = setting(
        NUMBER, "How long a player waits for what a model says.", default=2.5, metavar="SECONDS"
    )
    policy: Policy = field(default_factory=Policy)
    sources: Mapping[str, str] = field(default_factory=dict)

    def address(self) -> tuple[str, int] | None:
        """Host and port to serve HTTP on, or None for standard input and output."""
        return None if self.http is None else parse_address(self.http)

    def told(self) -> Iterator[tuple[str, str, str]]:
        """Each setting as (key, value, where it came from); nothing secret is in any value."""
        for row in SETTINGS:
            value = getattr(self, row.field)
            text = row.default or "not set" if value is None else shown(value) or "none"
            yield row.key, text, self.sources.get(row.key, DEFAULT)


SETTINGS: Final = tuple(row_of(each) for each in fields(Settings) if each.metadata)
"""All of them, in the order in which `--help` and `canonry doctor` list them."""
POLICY: Final = "policy"
"""The table of the file that holds the numbers of `canonry.values.policy.Policy`."""
