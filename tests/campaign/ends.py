"""Compare the replies at the end of a campaign, in any order of recording."""

from tests.campaign.model import MASTERS
from tests.campaign.play import Table
from tests.campaign.plots import DOUBLES, HEROES
from tests.campaign.viewer_checks import RELATIONS, VIEWERS, ViewerCheck, join_stretches


async def play_plainly(table: Table) -> list[tuple[object, ...]]:
    """The end of a campaign that is played without the model, whatever waits being accepted."""
    await table.open_scene()
    for step in table.plot.steps:
        if not isinstance(step, int):
            await table.play_step(step)
            continue
        scene = table.plot.scenes[step - 1]
        for said in scene.said:
            await table.propose_statement(scene, said)
        done = await table.world.call("composite_canonize_scene", scene_id=table.scenes[step])
        for waiting in done["pending_proposals"]:
            await table.world.call(
                "mongodb_evaluate_proposal",
                proposal_id=waiting,
                decision="accepted",
                rationale="so it was",
            )
    viewers = VIEWERS if table.plot.secrets else (MASTERS,)
    looks = [ViewerCheck(played=table, truth=table.truth, viewer=viewer) for viewer in viewers]
    return [one for look in looks for one in await show_table(table, look)]


async def play_campaign(table: Table) -> list[tuple[object, ...]]:
    """The end of a campaign that was played."""
    return await show_table(table, ViewerCheck(played=table, truth=table.truth))


async def show_table(table: Table, look: ViewerCheck) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for hero in (*HEROES, *DOUBLES.values()):
        shown = await look.call("neo4j_get_entity", entity_id=table.ids[hero])
        found.append((look.viewer, hero, shown["state_tags"]))
    lines = {table.truth.root_line(listed.line) for listed in table.proposed.values()}
    listed = [
        (look.viewer, line, join_stretches(await look.relations_of(line)))
        for line in sorted(line for line in lines if line[0] in RELATIONS)
    ]
    return [*found, *listed, (look.viewer, "timeline", await look.read_timeline())]
