"""Every setting as data: the file's key, the variable and the option all follow from one row."""

from dataclasses import dataclass
from typing import Final

from canonry.bootstrap.setting_kinds import (
    FLAG,
    NAMES,
    NUMBER,
    PATH,
    TEXT,
    SettingKind,
    one_of,
    some_of,
)
from canonry.domain.provenance import Authority

SERVER: Final = "server"
STORE: Final = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting; `key` is dotted where the file has a table, `field` names it in `Settings`.

    `group` is `store` for what every command on a store needs, else `server`.
    """

    key: str
    kind: SettingKind
    help: str
    metavar: str = ""
    default: str = ""
    group: str = SERVER
    secret: bool = False

    @property
    def field(self) -> str:
        """The attribute of `Settings` that holds it."""
        return self.key.replace(".", "_")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"CANONRY_{self.field.upper()}"

    @property
    def option(self) -> str:
        """The option on the command line."""
        return f"--{self.field.replace('_', '-')}"


SETTINGS: Final = (
    SettingRow(
        key="data",
        kind=PATH,
        metavar="DIR",
        group=STORE,
        help="Folder of the store; made when missing.",
        default="the user's data folder",
    ),
    SettingRow(
        key="durability",
        kind=one_of("full", "normal"),
        metavar="full|normal",
        group=STORE,
        help="full: an acknowledged write survives power loss; normal: it survives kill -9.",
        default="full",
    ),
    SettingRow(
        key="toolsets",
        kind=NAMES,
        metavar="NAME,...",
        help="Toolsets to serve.",
        default="narrative",
    ),
    SettingRow(
        key="http",
        kind=TEXT,
        metavar="HOST:PORT",
        help="Serve Streamable HTTP there instead of standard input and output.",
    ),
    SettingRow(
        key="agent_type",
        kind=TEXT,
        metavar="TYPE",
        help="Role of the agent behind this process, such as CanonKeeper or Narrator.",
    ),
    SettingRow(
        key="agent_id",
        kind=TEXT,
        metavar="ID",
        help="Name of that agent.",
        default="the agent type",
    ),
    SettingRow(
        key="user",
        kind=TEXT,
        metavar="UUID",
        help="The person on whose behalf the agent acts.",
    ),
    SettingRow(
        key="trust_meta",
        kind=FLAG,
        help='Let the client name its agent in each call\'s _meta["dev.canonry/agent"].',
        default="no",
    ),
    SettingRow(
        key="authorities",
        kind=some_of(*Authority),
        metavar="NAME,...",
        help="Whose word the agent may claim; over HTTP with tokens, the token says.",
        default="all",
    ),
    SettingRow(
        key="spaces",
        kind=NAMES,
        metavar="UUID,...",
        help="The only universes that the agent may see.",
        default="all",
    ),
    SettingRow(
        key="world",
        kind=TEXT,
        metavar="UUID",
        help="The world that the tools of the world toolset are about.",
    ),
    SettingRow(
        key="memory",
        kind=FLAG,
        help="Keep the store in memory only; it ends with the process.",
        default="no",
    ),
    SettingRow(
        key="contract_only",
        kind=FLAG,
        help="Hide the tools that the published contract does not have.",
        default="no",
    ),
    SettingRow(
        key="error_mode",
        kind=one_of("result", "jsonrpc"),
        metavar="result|jsonrpc",
        help="How a failed call is told: as a tool result that a model can read, or as an error.",
        default="result",
    ),
    SettingRow(
        key="allow_unknown_properties",
        kind=FLAG,
        help="Accept arguments that a tool does not have, and ignore them.",
        default="no",
    ),
    SettingRow(
        key="deadline",
        kind=NUMBER,
        metavar="SECONDS",
        help="The longest that any call may take, whatever its tool needs.",
        default="30, and 120 for files",
    ),
    SettingRow(
        key="rate_limit",
        kind=NUMBER,
        metavar="CALLS",
        help="The most calls in a minute of one agent, as its connection or token names it.",
        default="no limit",
    ),
    SettingRow(
        key="published_rates",
        kind=FLAG,
        help="Enforce the rates that a contract publishes for each user or client.",
        default="no",
    ),
    SettingRow(
        key="log_level",
        kind=one_of("info", "warning"),
        metavar="info|warning",
        help="info: one structured line a call on standard error; warning: failures only.",
        default="info",
    ),
    SettingRow(
        key="http_public",
        kind=FLAG,
        help="Allow an address beyond this machine without bearer tokens; rarely right.",
        default="no",
    ),
    SettingRow(
        key="http_allowed_hosts",
        kind=NAMES,
        metavar="HOST,...",
        help="More names under which clients may address the HTTP server.",
    ),
    SettingRow(
        key="http_allowed_origins",
        kind=NAMES,
        metavar="ORIGIN,...",
        help="Web origins that may call the HTTP server.",
    ),
    SettingRow(
        key="auth.issuer",
        kind=TEXT,
        metavar="URL",
        help="Who signs bearer tokens; switches token verification on.",
    ),
    SettingRow(
        key="auth.audience",
        kind=TEXT,
        metavar="NAME",
        help="The audience that a token must be for.",
    ),
    SettingRow(
        key="auth.resource_url",
        kind=TEXT,
        metavar="URL",
        help="The address under which clients reach this server.",
        default="http://HOST:PORT/mcp",
    ),
    SettingRow(
        key="auth.jwks_url", kind=TEXT, metavar="URL", help="Where the issuer publishes its keys."
    ),
    SettingRow(
        key="auth.key_file",
        kind=PATH,
        metavar="FILE",
        help="The issuer's public key in PEM, or a shared secret; instead of --auth-jwks-url.",
    ),
    SettingRow(
        key="auth.algorithms",
        kind=NAMES,
        metavar="NAME,...",
        help="Accepted signature algorithms.",
        default="RS256,ES256,EdDSA",
    ),
    SettingRow(
        key="auth.scopes",
        kind=NAMES,
        metavar="NAME,...",
        help="Scopes that every token must have.",
    ),
    SettingRow(
        key="recall.embedder",
        kind=one_of("onnx", "hashing", "openai", "hub", "none"),
        metavar="NAME",
        help="What finds passages by meaning: onnx, hashing, openai (any compatible endpoint), "
        "hub; none: words alone.",
        default="onnx",
    ),
    SettingRow(
        key="recall.model",
        kind=TEXT,
        metavar="NAME",
        help="The model of an endpoint or a hub, by its name there.",
    ),
    SettingRow(
        key="recall.model_version",
        kind=TEXT,
        metavar="TEXT",
        help="Raise it when the endpoint or the hub serves other weights under the same name.",
        default="1",
    ),
    SettingRow(
        key="recall.model_folder",
        kind=PATH,
        metavar="DIR",
        help="Where onnx finds its model's files.",
        default="an installed package",
    ),
    SettingRow(
        key="recall.dimensions",
        kind=NUMBER,
        metavar="NUMBER",
        help="The dimensions of the vectors of an endpoint or a hub.",
    ),
    SettingRow(
        key="recall.query_prefix",
        kind=TEXT,
        metavar="TEXT",
        help='What a model of an endpoint or a hub wants before a question, such as "query: ".',
        default="nothing",
    ),
    SettingRow(
        key="recall.passage_prefix",
        kind=TEXT,
        metavar="TEXT",
        help='The same before a passage, such as "passage: ".',
        default="nothing",
    ),
    SettingRow(
        key="recall.patience",
        kind=NUMBER,
        metavar="SECONDS",
        help="The longest that a search waits for the model before it goes on by words; half of "
        "the deadline at most.",
        default="10",
    ),
    SettingRow(
        key="recall.ask_dimensions",
        kind=FLAG,
        help="Ask the endpoint for vectors of so many dimensions.",
        default="no",
    ),
    SettingRow(
        key="recall.url",
        kind=TEXT,
        metavar="URL",
        help="The base address of the endpoint; its key is CANONRY_RECALL_KEY.",
    ),
    SettingRow(
        key="recall.library",
        kind=one_of("fastembed", "sentence_transformers"),
        metavar="NAME",
        help="The installed library that fetches and runs a hub's model.",
        default="fastembed",
    ),
    SettingRow(
        key="truth.interpreter",
        kind=one_of("rules", "openai", "anthropic"),
        metavar="NAME",
        help="What finds entities in files: rules, or a language model behind an endpoint that "
        "speaks the protocol of openai or anthropic; its key is CANONRY_TRUTH_KEY.",
        default="rules",
    ),
    SettingRow(
        key="truth.model",
        kind=TEXT,
        metavar="NAME",
        help="The language model, by its name at the endpoint.",
    ),
    SettingRow(
        key="truth.url",
        kind=TEXT,
        metavar="URL",
        help="The base address of the endpoint, up to and with its version.",
    ),
    SettingRow(
        key="truth.upload_roots",
        kind=NAMES,
        metavar="DIR,...",
        help="Folders of this machine whose files clients may name by path.",
        default="the working folder; none over HTTP",
    ),
    SettingRow(
        key="truth.public_url",
        kind=TEXT,
        metavar="URL",
        help="The address under which clients reach this server to fetch files.",
        default="the address served",
    ),
)
"""All of them, in the order in which `--help` and `canonry doctor` list them."""

POLICY: Final = "policy"
"""The table of the file that holds the numbers of `canonry.domain.policy.Policy`."""
