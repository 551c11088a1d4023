"""Kinds of settings: how each is read from text (environment, command line) and from TOML; rows."""

from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from canonry.values.errors import InvalidInput

STORE: Final = "The store"
SERVED: Final = "What is served"
CALLERS: Final = "Who calls"
CALLS: Final = "Calls and their log"
TOKENS: Final = "Bearer tokens over HTTP"
"""The groups of settings, as they head their part of a help; more follow from the names."""

_GROUPS: Final = {
    "http": "HTTP",
    "auth": TOKENS,
    "recall": "Finding by meaning",
    "truth": "Documents and records",
    "dialogue": "Characters that speak",
}
TABLES: Final = (
    "auth",
    "dialogue",
    "files",
    "mongodb",
    "neo4j",
    "opensearch",
    "postgres",
    "qdrant",
    "recall",
    "records",
    "truth",
)
"""The tables that the file has for settings; a setting `auth_issuer` has the key `auth.issuer`."""

_PORT_MAX: Final = 65_535
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingKind:
    """`of_text` and `of_toml` return the value or raise ValueError; `expected` says what it is.

    `metavar` stands for the value on the command line, unless the setting has a better word.
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


def _path(value: Any) -> Path:
    return Path(_plain_text(value)).expanduser()


def _flag_of_text(text: str) -> bool:
    word = text.strip().casefold()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _flag_of_toml(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(value)  # noqa: TRY004 - every kind answers with the same error
    return value


def _number(value: Any) -> float:
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
PATH: Final = SettingKind(expected="a path", of_text=_path, of_toml=_path, metavar="DIR")
FLAG: Final = SettingKind(
    expected="true or false", of_text=_flag_of_text, of_toml=_flag_of_toml, flag=True
)
NUMBER: Final = SettingKind(
    expected="a number above 0", of_text=_number, of_toml=_number, metavar="NUMBER"
)
NAMES: Final = SettingKind(
    expected="names separated by commas",
    of_text=_names_of_text,
    of_toml=_names_of_toml,
    metavar="NAME,...",
)


def one_of(*choices: str) -> SettingKind:
    """One word of a closed list."""

    def choose(value: Any) -> str:
        if value not in choices:
            raise ValueError(value)
        return str(value)

    expected, metavar = " or ".join(choices), "|".join(choices)
    return SettingKind(expected=expected, of_text=choose, of_toml=choose, metavar=metavar)


def some_of(*choices: str) -> SettingKind:
    """Any words of a closed list, separated by commas."""

    def check(names: tuple[str, ...]) -> tuple[str, ...]:
        if not set(choices).issuperset(names):
            raise ValueError(names)
        return names

    return SettingKind(
        expected=f"any of {', '.join(choices)}, separated by commas",
        of_text=lambda text: check(_names_of_text(text)),
        of_toml=lambda value: check(_names_of_toml(value)),
        metavar=NAMES.metavar,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting; `key` is dotted where the file has a table, `field` names it in `Settings`.

    `default` is how the default is told, empty for none; `group` is what help lists it under.
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


def setting(
    kind: SettingKind,
    help: str,  # noqa: A002 - as `SettingRow` and click have it
    *,
    default: Any = None,
    factory: Callable[[], Any] | None = None,
    metavar: str = "",
    told: str | None = None,
    group: str = "",
) -> Any:
    """A field of `Settings`; `told` is how its default is told where the value says too little."""
    metadata = {
        "kind": kind,
        "help": help,
        "metavar": metavar or kind.metavar,
        "default": shown(default) if told is None else told,
        "group": group,
    }
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def row_of(declared: "Field[Any]") -> SettingRow:
    """The row of a field that `setting` has made."""
    group = declared.metadata["group"] or _GROUPS.get(declared.name.partition("_")[0], SERVED)
    return SettingRow(field=declared.name, **{**declared.metadata, "group": group})


def shown(value: Any) -> str:
    """A value as an operator reads it; nothing for none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_address(text: str) -> tuple[str, int]:
    """Read `HOST:PORT`, where the host may be an IPv6 address in brackets, or left out.

    Raises:
        InvalidInput: `settings.malformed`.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > _PORT_MAX:
        raise wrong_value("http", "HOST:PORT, such as 127.0.0.1:8000", "http")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def unknown_setting(name: str, known: Iterable[str], where: str) -> InvalidInput:
    """The error for a key that is no setting: it names the nearest one that is."""
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    advice = f"did you mean {close[0]}?" if close else "`canonry doctor` lists all settings"
    message = f"{where}: there is no setting {name}; {advice}"
    return InvalidInput("settings.unknown", message, path=name)


def wrong_value(name: str, expected: str, where: str) -> InvalidInput:
    """The error for a value that a setting cannot have; the value itself may be a secret."""
    return InvalidInput("settings.malformed", f"{where}: {name} must be {expected}", path=name)
