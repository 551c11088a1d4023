"""The `[policy]` table of the settings file, read into `canonry.values.policy.Policy`.

The dataclasses are the schema: each table and key is named as there, and checked by its type.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from canonry.app.setting_kinds import unknown_setting, wrong_value
from canonry.values.policy import STAGED_MAX, Policy


def policy_from(table: Any, where: str) -> Policy:
    """The policy with everything that `table` says instead of the defaults.

    Raises:
        InvalidInput: `settings.unknown` or `settings.malformed`.
    """
    policy: Policy = _filled(Policy(), table, "policy", where)
    _check(policy, where)
    for name, number in _numbers(policy.staging):
        if not 0 <= number <= STAGED_MAX:
            raise wrong_value(f"policy.staging.{name}", f"0 to {STAGED_MAX}", where)
    return policy


def _filled(value: Any, table: Any, name: str, where: str) -> Any:
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
            changes[key] = _filled(current, given, path, where)
        else:
            changes[key] = _converted(hints[key], given, current, path, where)
    return replace(value, **changes)


def _converted(hint: Any, given: Any, current: Any, path: str, where: str) -> Any:
    origin = get_origin(hint)
    if origin is tuple:
        if not isinstance(given, list):
            raise wrong_value(path, "a list", where)
        inner = get_args(hint)[0]
        return tuple(_converted(inner, each, None, path, where) for each in given)
    if origin is not None and isinstance(current, Mapping):
        return _mapping(hint, given, current, path, where)
    if isinstance(hint, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    return _scalar(hint, given, path, where)


def _mapping(hint: Any, given: Any, current: Mapping[Any, Any], path: str, where: str) -> Any:
    if not isinstance(given, Mapping):
        raise wrong_value(path, "a table", where)
    key_type, value_type = get_args(hint)
    merged = dict(current)
    for key, value in given.items():
        names = list(key_type) if issubclass(key_type, StrEnum) else []
        if names and key not in names:
            raise unknown_setting(f"{path}.{key}", [f"{path}.{name}" for name in names], where)
        merged[key_type(key)] = _scalar(value_type, value, f"{path}.{key}", where)
    return merged


def _scalar(hint: Any, given: Any, path: str, where: str) -> Any:
    if hint is float and isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    if hint is int and isinstance(given, int) and not isinstance(given, bool):
        return given
    if hint in {bool, str} and isinstance(given, hint):
        return given
    names = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
    raise wrong_value(path, names.get(hint, "of another type"), where)


def _check(policy: Policy, where: str) -> None:
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
        for name, number in _numbers(getattr(policy, part)):
            if number < 0:
                raise wrong_value(f"policy.{part}.{name}", "0 or more", where)
    truth = policy.truth
    for name, number in (
        ("interpretations", truth.interpretations),
        *((f"retention.{name}", days) for name, days in _numbers(truth.retention)),
    ):
        if number is not None and number < 0:
            raise wrong_value(f"policy.truth.{name}", "0 or more", where)
    if policy.recall.half_life <= 0:
        raise wrong_value("policy.recall.half_life", "above 0", where)


def _numbers(part: Any) -> list[tuple[str, Any]]:
    return [(each.name, getattr(part, each.name)) for each in fields(part)]
