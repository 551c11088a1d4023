"""The table of settings: each is one field with its kind, its default and its help."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

import platformdirs

from canonry.server.options import ALGORITHMS
from canonry.values.attributes.table import with_attributes
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput
from canonry.values.policy import STAGED_MAX, Policy
from canonry.values.provenance import Authority

STORE: Final = "The store"
SERVED: Final = "Served tools and address"
TOKENS: Final = "Bearer tokens over HTTP"
"""Groups of settings, which are headings in a help; `names.toml` has the others."""

_NAMES: Final = read_toml(__package__, "names.toml")
_GROUPS: Final[Mapping[str, str]] = {
    word: group for group, words in _NAMES["groups"].items() for word in words.split()
}
"""First word of a setting's name -> its group."""
TABLES: Final = tuple[str, ...](_NAMES["tables"].split())
"""The tables of the settings file; the setting `auth_issuer` has the key `auth.issuer`."""

_PORT_MAX: Final = 65_535
_TRUE: Final = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingKind:
    """`of_text` and `of_toml` return the value or raise ValueError; `expected` describes it.

    `metavar` stands for the value on the command line, unless the setting has another one.
    """

    expected: str
    of_text: Callable[[str], Any]
    of_toml: Callable[[Any], Any]
    metavar: str = ""
    flag: bool = False


def _plain_text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(value)
    return value


def _read_path(value: Any) -> Path:
    return Path(_plain_text(value)).expanduser()


def _flag_of_text(text: str) -> bool:
    flag = text.strip().casefold()
    if flag not in _TRUE | {"0", "false", "no", "off", ""}:
        raise ValueError(text)
    return flag in _TRUE


def _flag_of_toml(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(value)  # noqa: TRY004 - every kind answers with the same error
    return value


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)  # noqa: TRY004 - every kind answers with the same error
    number = float(value)
    if not 0 < number <= 1_000_000:  # noqa: PLR2004 - false for NaN too
        raise ValueError(value)
    return number


def _names_of_text(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _names_of_toml(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return _names_of_text(value)
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ValueError(value)
    return tuple(value)


TEXT: Final = SettingKind(expected="text", of_text=_plain_text, of_toml=_plain_text, metavar="NAME")
PATH: Final = SettingKind(expected="a path", of_text=_read_path, of_toml=_read_path, metavar="DIR")
FLAG: Final = SettingKind(
    expected="true or false", of_text=_flag_of_text, of_toml=_flag_of_toml, flag=True
)
NUMBER: Final = SettingKind(
    expected="a number above 0", of_text=_read_number, of_toml=_read_number, metavar="NUMBER"
)
URL, UUID = replace(TEXT, metavar="URL"), replace(TEXT, metavar="UUID")
SECONDS: Final = replace(NUMBER, metavar="SECONDS")
NAMES: Final = SettingKind(
    expected="names separated by commas",
    of_text=_names_of_text,
    of_toml=_names_of_toml,
    metavar="NAME,...",
)
UUIDS: Final = replace(NAMES, metavar="UUID,...")


def choice_kind(*choices: str) -> SettingKind:
    """Return the kind of one option of a closed list."""

    def choose_one(value: Any) -> str:
        if value not in choices:
            raise ValueError(value)
        return str(value)

    expected, metavar = " or ".join(choices), "|".join(choices)
    return SettingKind(expected=expected, of_text=choose_one, of_toml=choose_one, metavar=metavar)


def choices_kind(*choices: str) -> SettingKind:
    """Return the kind of several options of a closed list, separated by commas."""

    def check_all(names: tuple[str, ...]) -> tuple[str, ...]:
        if not set(choices).issuperset(names):
            raise ValueError(names)
        return names

    return SettingKind(
        expected=f"any of {', '.join(choices)}, separated by commas",
        of_text=lambda text: check_all(_names_of_text(text)),
        of_toml=lambda value: check_all(_names_of_toml(value)),
        metavar=NAMES.metavar,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting; `key` is dotted if the file has a table for it, `field` is its `Settings` name.

    `default` is the default as text, empty for none; `group` is its heading in a help.
    """

    field: str
    kind: SettingKind
    help: str
    metavar: str
    default: str
    group: str

    @property
    def key(self) -> str:
        """The key in the file."""
        table, _, rest = self.field.partition("_")
        return f"{table}.{rest}" if table in TABLES else self.field

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"CANONRY_{self.field.upper()}"

    @property
    def option(self) -> str:
        """The option on the command line."""
        return f"--{self.field.replace('_', '-')}"


_TEXTS: Final = read_toml(__package__, "settings.toml")
"""The help of each setting; `told` describes a default that needs words."""


def setting_field(
    kind: SettingKind,
    *,
    default: Any = None,
    factory: Callable[[], Any] | None = None,
    metavar: str = "",
) -> Any:
    """Return a field of `Settings`. A flag is off by default. `settings.toml` has its help."""
    default = False if kind.flag and default is None else default
    metadata = {"kind": kind, "metavar": metavar or kind.metavar, "default": value_text(default)}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def row_of(declared: "Field[Any]") -> SettingRow:
    """Return the row of a field that `setting_field` has made."""
    texts = _TEXTS[declared.name]
    override = {"default": texts["told"]} if "told" in texts else {}
    members = {**declared.metadata, **override, "help": texts["help"]}
    group = _GROUPS.get(declared.name.partition("_")[0], SERVED)
    return SettingRow(field=declared.name, group=group, **members)


def value_text(value: Any) -> str:
    """Return a value as text for an operator; empty for none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_address(text: str) -> tuple[str, int]:
    """Read `HOST:PORT`; the host may be an IPv6 address in brackets, or left out.

    Raises:
        InvalidInput: `settings.malformed`.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > _PORT_MAX:
        raise wrong_value("http", "HOST:PORT, such as 127.0.0.1:8000", "http")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


ENDED: Final[Mapping[str, str]] = _NAMES["ended"]
"""Field of a former setting -> its replacement."""


def unknown_setting(name: str, known: Iterable[str], where: str) -> InvalidInput:
    """Return the error about an unknown key: it names its replacement, or the nearest setting."""
    plain = name.lower().removeprefix("canonry_").strip("-").replace("-", "_").replace(".", "_")
    ended = ENDED.get(plain)
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    advice = f"; did you mean {close[0]}?" if close else ". `canonry serve --help` lists all."
    message = f"{where}: there is no setting {name}{advice}"
    if ended is not None:
        message = f"{where}: the setting {name} was removed: {ended}"
    return InvalidInput("settings.unknown", message, path=name)


def wrong_value(name: str, expected: str, where: str) -> InvalidInput:
    """Return the error about a wrong value, without the value, which may be a secret."""
    return InvalidInput("settings.malformed", f"{where}: {name} must be {expected}", path=name)


def user_data() -> Path:
    """Return the default folder of the store."""
    return Path(platformdirs.user_data_dir("canonry", appauthor=False))


# Every setting as one row: its type, kind, meaning and default.
#
# The key in the file, the variable, the option and the reference page follow from the row.

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of an operator; `sources` holds the origin of each value.

    A setting whose name begins with one of the `TABLES` belongs to that table of the file.
    """

    data: Path = setting_field(PATH, factory=user_data)
    durability: str = setting_field(choice_kind("full", "normal"), default="full")
    postgres_url: str | None = setting_field(URL)
    records_shards: tuple[str, ...] = setting_field(NAMES, default=(), metavar="URL,...")
    postgres_schema: str = setting_field(TEXT, default="canonry")
    postgres_connections: float = setting_field(NUMBER, default=16)
    postgres_copy: bool = setting_field(FLAG)
    mongodb_url: str | None = setting_field(URL)
    mongodb_database: str = setting_field(TEXT, default="canonry")
    neo4j_url: str | None = setting_field(URL)
    opensearch_url: str | None = setting_field(URL)
    qdrant_url: str | None = setting_field(URL)
    files_url: str | None = setting_field(URL)
    files_endpoint: str | None = setting_field(URL)
    toolsets: tuple[str, ...] = setting_field(NAMES, default=("canon",))
    http: str | None = setting_field(TEXT, metavar="HOST:PORT")
    agent_type: tuple[str, ...] | None = setting_field(NAMES, metavar="TYPE,...")
    agent_id: str | None = setting_field(TEXT, metavar="ID")
    user: str | None = setting_field(UUID)
    trust_meta: bool = setting_field(FLAG)
    authorities: tuple[str, ...] | None = setting_field(choices_kind(*Authority))
    characters: tuple[str, ...] = setting_field(UUIDS, default=())
    spaces: tuple[str, ...] | None = setting_field(UUIDS)
    world: str | None = setting_field(UUID)
    memory: bool = setting_field(FLAG)
    contract_only: bool = setting_field(FLAG)
    tools: tuple[str, ...] | None = setting_field(NAMES)
    read_only: bool = setting_field(FLAG)
    error_mode: str = setting_field(choice_kind("result", "jsonrpc"), default="result")
    deadline: float | None = setting_field(SECONDS)
    rate_limit: float | None = setting_field(NUMBER, metavar="CALLS")
    published_rates: bool = setting_field(FLAG)
    log_level: str = setting_field(choice_kind("info", "warning"), default="info")
    http_public: bool = setting_field(FLAG)
    http_allowed_hosts: tuple[str, ...] = setting_field(NAMES, default=(), metavar="HOST,...")
    http_allowed_origins: tuple[str, ...] = setting_field(NAMES, default=(), metavar="ORIGIN,...")
    http_trusted_proxies: tuple[str, ...] = setting_field(
        NAMES, default=("127.0.0.1", "::1"), metavar="ADDRESS,..."
    )
    http_inspector: bool = setting_field(FLAG, default=True)
    http_connections: float = setting_field(NUMBER, default=1_000)
    http_connections_each: float | None = setting_field(NUMBER)
    http_idle: float = setting_field(SECONDS, default=60.0)
    http_sessions_each: float = setting_field(NUMBER, default=1_000)
    http_in_flight: float = setting_field(NUMBER, default=256, metavar="MIB")
    auth_issuer: str | None = setting_field(URL)
    auth_audience: str | None = setting_field(TEXT)
    auth_resource_url: str | None = setting_field(URL)
    auth_jwks_url: str | None = setting_field(URL)
    auth_keys_hours: float = setting_field(NUMBER, default=24.0, metavar="HOURS")
    auth_key_file: Path | None = setting_field(PATH, metavar="FILE")
    auth_algorithms: tuple[str, ...] = setting_field(
        choices_kind(*ALGORITHMS), default=("RS256", "ES256", "EdDSA")
    )
    auth_scopes: tuple[str, ...] = setting_field(NAMES, default=())
    auth_default_agent_type: str | None = setting_field(TEXT, metavar="TYPE")
    auth_default_spaces: tuple[str, ...] = setting_field(UUIDS, default=())
    recall_embedder: str = setting_field(
        choice_kind("onnx", "multilingual", "hashing", "openai", "hub", "none"),
        default="onnx",
        metavar="NAME",
    )
    recall_model: str | None = setting_field(TEXT)
    recall_model_version: str = setting_field(TEXT, default="1", metavar="TEXT")
    recall_model_folder: Path | None = setting_field(PATH)
    recall_dimensions: float | None = setting_field(NUMBER)
    recall_query_prefix: str | None = setting_field(TEXT, metavar="TEXT")
    recall_passage_prefix: str | None = setting_field(TEXT, metavar="TEXT")
    recall_patience: float = setting_field(SECONDS, default=10.0)
    recall_url: str | None = setting_field(URL)
    recall_reranker: str = setting_field(
        choice_kind("none", "cohere", "tei"), default="none", metavar="NAME"
    )
    recall_rerank_url: str | None = setting_field(URL)
    recall_rerank_model: str | None = setting_field(TEXT)
    recall_rerank_patience: float = setting_field(SECONDS, default=2.0)
    recall_library: str = setting_field(
        choice_kind("fastembed", "sentence_transformers"), default="fastembed", metavar="NAME"
    )
    truth_interpreter: str = setting_field(
        choice_kind("rules", "openai", "anthropic"), default="rules", metavar="NAME"
    )
    truth_model: str | None = setting_field(TEXT)
    truth_url: str | None = setting_field(URL)
    truth_upload_roots: tuple[str, ...] = setting_field(NAMES, default=(), metavar="DIR,...")
    truth_public_url: str | None = setting_field(URL)
    dialogue_model: str | None = setting_field(TEXT)
    dialogue_url: str | None = setting_field(URL)
    dialogue_moderator: str | None = setting_field(TEXT)
    dialogue_intents: str | None = setting_field(TEXT)
    dialogue_seconds: float = setting_field(SECONDS, default=2.5)
    policy: Policy = field(default_factory=Policy)
    sources: Mapping[str, str] = field(default_factory=dict)

    def http_address(self) -> tuple[str, int] | None:
        """Return host and port for HTTP, or None for standard input and output."""
        return None if self.http is None else parse_address(self.http)

    def describe_values(self) -> Iterator[tuple[str, str, str]]:
        """Yield each setting as (key, value, origin); no value holds a secret."""
        for row in SETTINGS:
            value = getattr(self, row.field)
            text = row.default or "not set" if value is None else value_text(value) or "none"
            yield row.key, text, self.sources.get(row.key, DEFAULT)


SETTINGS: Final = tuple(row_of(each) for each in fields(Settings) if each.metadata)
"""All settings in the order of `--help` and `canonry doctor`."""
POLICY: Final = "policy"
"""The table of the file with the numbers of `canonry.values.policy.Policy`."""


# The `[policy]` table of the settings file, read into `canonry.values.policy.Policy`.
#
# The dataclasses are the schema: they name each table and key, and give its type.


def policy_from(table: Any, where: str) -> Policy:
    """Return the policy with the values of `table` in place of the defaults.

    Raises:
        InvalidInput: `settings.unknown` or `settings.malformed`.
    """
    policy: Policy = _fill_policy(Policy(), table, "policy", where)
    _check_policy(policy, where)
    for name, number in _numbers_in(policy.staging):
        if not 0 <= number <= STAGED_MAX:
            raise wrong_value(f"policy.staging.{name}", f"0 to {STAGED_MAX}", where)
    return policy


def _fill_policy(value: Any, table: Any, name: str, where: str) -> Any:
    if not isinstance(table, Mapping):
        raise wrong_value(name, "a table", where)
    known = {each.name for each in fields(value)}
    hints = get_type_hints(type(value))
    changes: dict[str, Any] = {}
    for key, given in table.items():
        path = f"{name}.{key}"
        if key not in known:
            raise unknown_setting(path, [f"{name}.{each}" for each in known], where)
        current = getattr(value, key)
        if is_dataclass(current):
            changes[key] = _fill_policy(current, given, path, where)
        else:
            changes[key] = _convert_value(hints[key], given, current, path, where)
    return replace(value, **changes)


def _convert_value(hint: Any, given: Any, current: Any, path: str, where: str) -> Any:
    origin = get_origin(hint)
    if origin is tuple:
        if not isinstance(given, list):
            raise wrong_value(path, "a list", where)
        inner = get_args(hint)[0]
        return tuple(_convert_value(inner, each, None, path, where) for each in given)
    if origin is not None and isinstance(current, Mapping):
        if not isinstance(given, Mapping):
            raise wrong_value(path, "a table", where)
        key_type, value_type = get_args(hint)
        merged = dict(current)
        for key, value in given.items():
            names = list(key_type) if issubclass(key_type, StrEnum) else []
            if names and key not in names:
                raise unknown_setting(f"{path}.{key}", [f"{path}.{name}" for name in names], where)
            merged[key_type(key)] = _convert_scalar(value_type, value, f"{path}.{key}", where)
        return merged
    if isinstance(hint, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    return _convert_scalar(hint, given, path, where)


def _convert_scalar(hint: Any, given: Any, path: str, where: str) -> Any:
    if hint is float and isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    if hint is int and isinstance(given, int) and not isinstance(given, bool):
        return given
    if hint is Any or (hint in {bool, str} and isinstance(given, hint)):
        return given
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
    raise wrong_value(path, names.get(hint, "of another type"), where)


def _check_policy(policy: Policy, where: str) -> None:
    with_attributes(policy.attributes)
    if policy.scoring.below not in {"reject", "defer"}:
        raise wrong_value("policy.scoring.below", "reject or defer", where)
    shares = {f"policy.scoring.weights.{k}": v for k, v in policy.scoring.weights.items()}
    shares |= {
        "policy.scoring.threshold": policy.scoring.threshold,
        "policy.scoring.without_evidence": policy.scoring.without_evidence,
    }
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise wrong_value(name, "between 0 and 1", where)
    for part in ("limits", "context"):
        for name, number in _numbers_in(getattr(policy, part)):
            if number < 0:
                raise wrong_value(f"policy.{part}.{name}", "0 or more", where)
    truth = policy.truth
    for name, number in (
        ("interpretations", truth.interpretations),
        *((f"retention.{name}", days) for name, days in _numbers_in(truth.retention)),
    ):
        if number is not None and number < 0:
            raise wrong_value(f"policy.truth.{name}", "0 or more", where)
    if policy.recall.half_life <= 0:
        raise wrong_value("policy.recall.half_life", "above 0", where)


def _numbers_in(part: Any) -> list[tuple[str, Any]]:
    return [(each.name, getattr(part, each.name)) for each in fields(part)]
