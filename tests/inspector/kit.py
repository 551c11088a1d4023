"""A canon in memory with something on every page, and whoever looks at it."""

import asyncio
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.inspector.app import inspector_app
from canonry.inspector.sign_in import AuthMethod, Unlocked
from canonry.log.items.scenes import Scene
from canonry.records.toolset import TRUTH
from tests.adapters.readers.paper import a_pdf
from tests.inspector.reader import HOST, Answer, Reader
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.world.kit import an_isle, brought_in


def principal_of(driver: ToolDriver) -> Principal:
    """Whom a driver calls as."""
    return Principal(
        agent_id=driver.agent.lower(),
        agent_type=driver.agent,
        user=driver.user,
        spaces=driver.spaces,
        world=driver.world,
        authorities=None,
    )


def a_reader(driver: ToolDriver, auth_method: AuthMethod | None = None, **more: Any) -> Reader:
    """Somebody at the pages over a driver's canon, as whom the driver calls."""
    way_in = auth_method or Unlocked(principal=principal_of(driver))
    return Reader(inspector_app(driver.gateway, way_in), **more)


__all__ = ["HOST", "Answer", "Reader"]


@dataclass(frozen=True)
class Harbour:
    """A canon with something on every page; `ids` are by what items are called here."""

    driver: ToolDriver
    space: str
    ids: dict[str, str]
    world: str = ""

    def reader(self, agent: str = "Solo", **more: Any) -> Reader:
        """Somebody of an agent type at the pages."""
        return a_reader(make_driver(agent, self.driver, **more))

    def page_addresses(self) -> list[str]:
        """Every address that only tells, with something to tell."""
        space, odo = self.space, self.ids["Odo Brand"]
        found = [
            "/",
            f"/space?space={space}",
            f"/find?space={space}",
            f"/find?space={space}&q=keeps+the+light",
            f"/find?space={space}&kind=fact&about={odo}",
            f"/timeline?space={space}",
            f"/graph?space={space}",
            f"/graph?about={odo}&hops=2",
            f"/review?space={space}",
            f"/review?space={space}&what=conflicts",
            f"/review?space={space}&what=duplicates",
            f"/log?space={space}",
            f"/difference/{odo}?known1=2024-01-01",
            f"/difference?space={space}&at1=1207-11-02",
            "/health",
            "/find?q=Odo",
            "/find?space=account",
            "/review?space=account&what=duplicates",
            "/review?space=account&what=unclear",
        ]
        found += [f"/thing/{each}" for each in self.ids.values()]
        found += [f"/thing/{self.ids['statement']}?value=1.250"] if self.world else []
        return [*found, f"/map?space={self.world}"] if self.world else found


HARBOUR_BOOK: Final = "Odo Brand keeps the light at Marrow. Ilsa Vane sails the Petrel."


async def a_harbour(*, world: bool = True) -> Harbour:
    """Saltmere with people, a book, a scene, what waits for a Keeper, an account and an isle."""
    driver = make_driver("Solo")
    space = await driver.saltmere()
    about = {"space": "Saltmere"}
    turns = [
        {"by": "gm", "text": "The rail gives way. Odo Brand falls."},
        {"by": "Ilsa Vane", "text": "I take the silver lantern."},
    ]
    scene = await driver.call("tell", scene="Night", place="Marrow", turns=turns, **about)
    first, second = (each["id"] for each in scene["turns"])
    written = ["Harbour book"]  # of no scene, so that nobody knows whether it was before the fall
    claims: list[dict[str, Any]] = [
        {"kind": "event", "says": "Odo falls", "about": ["Odo"], "when": "1207-11-03"},
        {"kind": "event", "says": "Ilsa flees", "about": ["Ilsa"], "when": "1207-11-04"},
        {"kind": "state", "of": "Odo", "tags": ["dead"], "untags": ["alive"], "evidence": written},
        {"kind": "entity", "name": "Odo Brandt", "type": "character", "fields": {"age": 40}},
    ]
    await driver.call("propose", claims=claims, evidence=[first], **about)
    mourned = {"kind": "event", "says": "They mourn Odo", "about": ["Odo Brand"]}
    await driver.call("propose", claims=[mourned], **about)
    ann = make_driver("Contributor", driver)
    waits = [
        {"kind": "fact", "says": "Ilsa carries the silver lantern", "about": ["Ilsa"]},
        {"kind": "entity", "name": "The Quay", "type": "location"},
        {"kind": "event", "says": "Ilsa sees a ghost", "about": ["Ilsa"]},
    ]
    await ann.call("propose", claims=waits, evidence=[second], **about)
    for name, email in (("Ann Lee", "ann@example.org"), ("Ann L\u0435e", "ann@example.net")):
        record = {"type": "person", "name": name, "email": email}  # one e is Cyrillic
        await driver.call("tell", records=[record], space="account")
    ids = {"scene": scene["scene"], "turn": first}
    ids |= await add_files(driver) if world else {}
    for kind in ("entity", "fact", "relation", "event", "document"):
        rows = (await driver.call("find", kinds=[kind], limit=20, **about))["found"]
        ids[kind] = rows[0]["id"]
        ids |= {row["name"]: row["id"] for row in rows if kind == "entity"}
    ids["record"] = (await driver.call("find", space="account", type="person"))["found"][0]["id"]
    ids["proposal"] = (await driver.call("review", **about))["waiting"][0]["id"]
    ids["story"] = await add_story(driver, ids["scene"])
    isle = await add_isle(driver) if world else ""
    return Harbour(driver, space, ids, isle)


_INVOICE: Final = "Invoice\nInvoice Number: R-7\nInvoice Date: 2025-01-15\nTotal: 1,250.00 EUR\n"
_ROWS: Final = b"Date,Payee,Amount\n03/04/2024,Alder,1.250\n05/04/2024,Birch,2.750\n"


async def add_files(driver: ToolDriver) -> dict[str, str]:
    """A page of paper, and a statement that can be read in two ways, in the account."""
    clerk = Gateway(driver.canon, [TRUTH])
    found: dict[str, str] = {}
    for name, kind, data in (
        ("file", "application/pdf", a_pdf(_INVOICE)),
        ("statement", "text/csv", _ROWS),
    ):
        given = {"file_content": b64encode(data).decode(), "mime_type": kind}
        given["original_filename"] = f"{name}.{kind[-3:]}"
        result = await clerk.call("ingest", given, principal_of(driver))
        assert result.error is None, result.text
        found[name] = str(result.body["source_id"])
    return found


async def add_story(driver: ToolDriver, scene: str) -> str:
    found = (await driver.canon.state.items_by_id((scene,)))[scene]
    assert isinstance(found, Scene)
    return found.story_id


async def add_isle(driver: ToolDriver) -> str:
    return (await brought_in(driver.canon, an_isle())).world_id


def run_apart(work: Any) -> Any:
    """The outcome of something asynchronous, in a thread of its own."""

    def run() -> Any:
        with asyncio.Runner() as runner:
            return runner.run(work)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()
