"""A world in which one secret of every kind is planted, and calls of every read with all it takes.

Each secret is for the character Ana. Its words stand nowhere else and in no question, so that
whoever reads them was told.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.assistant import CANON
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Prompt, Resource, Tool, Toolset
from canonry.log.items.facts import Fact
from canonry.values.ids import SpaceId
from canonry.values.provenance import Authority
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.world.kit import an_isle, brought_in

WORDS: Final = ("zyxophant", "zyxy", "zyx_")
"""The words that stand in every secret, in any case of their letters."""

FEW: Final = frozenset(Authority) - {Authority.GM}
EVERY: Final = load_toolsets(TOOLSETS)
_SAID: Final = "Kelp and mirrors: the zyxophant crown is glass."
_NOTED: Final = "Kelp and mirrors, it is written, are of the zyxophant."
_ASKED: Final = ("kelp mirrors crown glass", "Zyxoph", "crown", "Ana", "zyxophan kelp")
"""Words near those of secrets, also misspelt, to be searched for."""
_TIMES: Final = frozenset({"at", "as_known_at", "from", "to", "after_date", "before_date"})
_LATE: Final = "2900-01-01"


@dataclass
class Planted:
    """The canon, the ids of what everybody knows by name, and those of secrets by kind."""

    canon: Canon
    driver: ToolDriver
    space: str
    known: dict[str, str]
    secret: dict[str, str] = field(default_factory=dict)

    def make_gateway(self, toolset: Toolset) -> Gateway:
        """The gateway that serves one toolset over the canon."""
        return Gateway(self.canon, (toolset,))

    def readers_of(self, role: str) -> Mapping[str, Principal]:
        """Of one role: who may know the secrets, and who may not."""
        own: dict[str, Any] = {"agent_id": f"{role}-1", "agent_type": role}
        own |= {"world": SpaceId(self.space), "spaces": frozenset((SpaceId(self.space),))}
        ana, bo = frozenset((self.known["Ana"],)), frozenset((self.known["Bo"],))
        return {
            "keeper": Principal(**own, authorities=frozenset(Authority)),
            "Ana": Principal(**own, authorities=FEW, characters=ana),
            "Bo": Principal(**own, authorities=FEW, characters=bo, user="bo"),
            "nobody": Principal(**own, authorities=FEW),
        }


KNOWING: Final = ("keeper", "Ana")
"""The readers of `Planted.readers` who may know."""


def a_role_of(tool: Tool | Resource | Prompt, toolset: Toolset) -> str:
    """An agent type that may call a tool, and may not speak as the game master by itself."""
    roles = toolset.agent_types if "*" in tool.roles else tool.roles & toolset.agent_types
    return min(roles - {"*"} - toolset.masters or roles - {"*"} or {"Reader"})


def reveals_secret(answer: str) -> bool:
    """Return whether an answer has a word of a secret."""
    return any(word in answer.lower() for word in WORDS)


async def plant_secrets(canon: Canon | None = None) -> Planted:
    """The isle with Ana and Bo, a scene, and the secrets, in memory or in a canon that is there."""
    driver = make_driver()
    if canon is not None:
        driver = ToolDriver(canon, Gateway(canon, [CANON]), driver.clock)
    space = (await brought_in(driver.canon, an_isle())).world_id
    driver.spaces = frozenset((SpaceId(space),))
    people = [
        {"kind": "entity", "name": name, "type": kind, "tags": ["alive"]}
        for name, kind in (("Ana", "character"), ("Bo", "character"), ("Crown", "object"))
    ]
    await driver.call("propose", said="Ana and Bo are in the inn.", claims=people)
    scene = await driver.call("tell", scene="Feast", turns=[{"by": "gm", "text": "They feast."}])
    names = ("Ana", "Bo", "Crown", "Inn", "Town", "Ann")
    known = {name: (await driver.call("get", of=name))["id"] for name in names}
    known["scene"] = scene["scene"]
    here = Planted(driver.canon, driver, space, known)
    await claim_secrets(here)
    await _record_secrets(here)
    await propose_secrets(here)
    return here


async def claim_secrets(here: Planted) -> None:
    claims: list[dict[str, Any]] = [
        {"kind": "fact", "says": "The zyxophant crown is glass", "about": ["Crown", "Ana"]},
        {"kind": "entity", "name": "Zyxophant", "type": "character", "fields": {"zyxy": "yes"}},
        {"kind": "relation", "from": "Ana", "type": "ZYX_OWNS", "to": "Crown"},
        {"kind": "state", "of": "Ana", "tags": ["zyxy"]},
        {"kind": "event", "says": "The zyxophant rises", "about": ["Ana", "Bo"], "where": "Inn"},
        {"kind": "fact", "says": "Bo lost to the zyxophant", "about": ["Bo"], "when": "1402-03-04"},
    ]
    found = [{**claim, "for": ["Ana"]} for claim in claims]
    reply = await here.driver.call("propose", said=_SAID, claims=found)
    assert reply["accepted"] == len(claims), reply
    for claim, verdict in zip(claims, reply["verdicts"], strict=True):
        here.secret[claim["kind"]] = verdict["id"]
    fact = (await here.canon.with_all_audiences.state.items_by_id((here.secret["fact"],)))[
        here.secret["fact"]
    ]
    assert isinstance(fact, Fact)
    here.secret["decided"] = str(fact.proposal_id)


async def _record_secrets(here: Planted) -> None:
    few = {"for": ["Ana"]}
    note = await here.driver.call("tell", text=_NOTED, title="Zyxophant note", **few)
    here.secret |= {"document": note["document"], "passage": note["passages"][0]["id"]}
    turns = [{"by": "Ana", "text": _SAID}]
    whisper = await here.driver.call("tell", scene="Feast", turns=turns, **few)
    here.secret["turn"] = whisper["turns"][0]["id"]
    cellar = await here.driver.call("tell", scene="Zyxophant cellar", turns=turns, **few)
    here.secret["scene"] = cellar["scene"]
    event = {"kind": "event", "says": "The zyxophant sets", "evidence": [cellar["turns"][0]["id"]]}
    await here.driver.call("propose", claims=[{**event, "about": ["Ana"]}])
    await here.driver.call("tell", scene=cellar["scene"], end_scene=_SAID)


async def propose_secrets(here: Planted) -> None:
    ana = make_driver("Contributor", here.driver, characters=frozenset((here.known["Ana"],)))
    ana.spaces = here.driver.spaces
    waits = {"kind": "fact", "says": "The zyxophant crown is cursed", "about": ["Crown"]}
    await ana.call("propose", said=_SAID, claims=[{**waits, "for": ["Ana"]}])
    here.secret["proposal"] = (await ana.call("review"))["waiting"][0]["id"]


def asked_of(tool: Tool, here: Planted) -> Iterator[dict[str, Any]]:
    """Calls with what a tool takes: each item that is known or secret for each of its names."""
    properties = tool.input_schema["properties"]
    must = tool.input_schema.get("required", ())
    texts = [name for name, each in properties.items() if _is_text(each)]
    wide = {name: here.space for name in ("universe_id", "space") if name in properties}
    wide |= {name: True for name, each in properties.items() if _is_switch(name, each)}
    ids = [*here.known.values(), *here.secret.values(), here.space]
    for one in (*ids, *_ASKED):
        base = {name: fitting_value(name, properties[name], one) for name in must} | wide
        yield base
        for name in texts:
            for value in values_of(name, properties[name], one):
                yield {**base, name: value}
        for name, each in properties.items():
            if each.get("type") == "array" and name not in must and one in ids:
                yield {**base, name: fitting_value(name, each, one)}
    yield dict(wide)


def values_of(name: str, schema: Mapping[str, Any], one: str) -> Iterable[str]:
    if name in _TIMES or schema.get("format") == "date-time":
        return (_LATE,)
    return tuple(map(str, schema.get("enum", (one,))))


def _is_text(schema: Mapping[str, Any]) -> bool:
    return "string" in (schema.get("type") or ())


def _is_switch(name: str, schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "boolean" and name not in {"current_only", "onlySeen"}


def fitting_value(name: str, schema: Mapping[str, Any], one: str) -> Any:
    if name == "field":
        return "name"
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "integer" | "number":
            return 1
        case "array":
            return [fitting_value(name, schema["items"], one)]
        case "object":
            return {}
        case _:
            return one
