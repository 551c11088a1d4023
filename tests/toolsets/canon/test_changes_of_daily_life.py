"""What people and teams say of each day: the later sentence ends the earlier one, or leaves it."""

import pytest

from tests.toolsets.canon.talking import start_talk

pytestmark = pytest.mark.anyio

KNOWN = {"Ida": "person", "Ana": "person", "Rex": "pet", "Velm": "company", "T9": "task"}
KNOWN |= {"Orra": "company", "Lantern": "place"}
KNOWN |= {"Kir": "character", "Tor": "character", "Harn": "place", "Dorn": "place"}
KNOWN |= {"Brig": "ship", "Urn": "item"}

ENDED = """
Ida is on maternity leave | Ida returned to work
Ida is on vacation | Ida is back in the office
Ida is on holiday | Ida came back from her holiday
Ida is 29 years old | Ida turned 30 yesterday
Ida is 29 years old | Ida celebrated her 30th birthday
Ida has a broken arm | Ida's arm has healed
Ida has a cough | Ida's cough is gone
Ida studies law | Ida gave up law
Ida plays chess | Ida gave up chess
Ida drives a Volvo | Ida sold her Volvo
Ida lives alone | Ida moved in with her sister
Ida is pregnant | Ida had twins
Ida loves Ana | Ida fell out of love with Ana
Ida is afraid of dogs | Ida got over her fear of dogs
Ida is on a diet | Ida ended her diet
Ida is unemployed | Ida found a job at Velm
Ida is a student | Ida graduated in June
Ida has braces | Ida got her braces removed
Rex is missing | Rex came back home
Rex is missing | Rex is back safe
Rex is pregnant | Rex had five puppies
Velm has 40 clerks | Velm shrank to 25 clerks
Velm has 40 clerks | Velm let go 15 clerks, leaving 25 clerks
Velm has 12 shops | Velm expanded to 15 shops
Velm is independent | Velm was acquired by Orra
The Lantern is being refurbished | The Lantern opened again on 3 May
The contract with Velm is in negotiation | The contract with Velm was signed
The parcel for Ida is on its way | The parcel for Ida arrived
T9 is blocked | T9 was unblocked
T9 is in review | T9 was approved
T9 is in review | T9 was merged
T9 is a work in progress | T9 is finished
T9 is in progress | T9 is done
T9 is on hold | Work on T9 resumed
The deadline of T9 is Friday | The deadline of T9 was extended to Monday
"""

PLAYED = """
Kir is afraid | Kir has calmed down
Kir is weary | Kir is well rested
Kir is angry with Tor | Kir forgave Tor
Kir is starving | Kir ate two bowls of soup
Kir is an apprentice | Kir finished his apprenticeship
Kir is a novice | Kir became a journeyman
Kir is tied up | Kir was cut loose
Kir is on trial for theft | Kir was found not guilty
Kir is wanted for murder | Kir was pardoned
Kir is banished from Harn | Kir's banishment was lifted
Kir lives in Harn | Kir fled Harn
Kir is wearing a red cloak | Kir took off the red cloak
Kir has 30 arrows | Kir used up all his arrows
Kir has a horse | Kir's horse was stolen
Kir has a black eye | Kir's black eye has faded
Kir is hiding in the cellar | Kir was found in the cellar
Kir and Tor are friends | Kir and Tor fell out
Harn is at war with Dorn | Harn signed a peace treaty with Dorn
The well in Harn is poisoned | The well in Harn was cleansed
The Brig is at sea | The Brig docked in Harn
The Urn is full of gold | The Urn was emptied
The Urn contains a map | Kir took the map out of the Urn
The Urn is armed | Kir disarmed the Urn
The Urn is passable | The Urn was washed away
The Urn is active | The Urn was deactivated
The Urn is burning | The Urn went out
The Urn is unfulfilled | The Urn was fulfilled
"""

LEFT = """
Ida is on holiday | Ida is in Rome
Ida is pregnant | Ida had two dogs
Ida plays the violin | Ida gave up the search
Ida is independent | Ida acquired a sword
Rex is missing | Rex came to the party
Velm has 12 shops | The profit of Velm rose to 15 million euros
The contract with Velm is in negotiation | The contract with Orra was signed
T9 is in review | T9 is in progress
Kir is hungry | Kir ate nothing
Kir is tired | Kir slept badly
Kir has two dogs | Kir's dog died
Kir has a dog | Kir's son died
Kir has 30 arrows | Kir used up all his potions
Kir is alive | Kir was swept away by the crowd
Kir wears a crown | Kir took off his boots
Kir is wanted at home | Kir was arrested
Kir and Tor are friends | Kir fell out of the window
Kir lives in Harn | Kir fled from the battle
Kir has a black eye | Kir has blue eyes
The Urn contains a map | Kir took a coin out of the Urn
"""

REFUSED = """
T9 is done | T9 is in progress
T9 is finished | T9 is unfinished
"""


def list_pairs(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.split("\n") if line]


@pytest.mark.parametrize(("before", "change"), list_pairs(ENDED + PLAYED))
async def test_a_change_ends_what_was_so_before(before: str, change: str) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(before)
    reply = await home.propose_text(change)

    assert reply["accepted"] == 1, reply
    assert before.removeprefix("The ") in reply["note"].partition("End")[2], reply


@pytest.mark.parametrize(("before", "other"), list_pairs(LEFT))
async def test_a_lookalike_of_a_change_ends_nothing(before: str, other: str) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(before)
    reply = await home.propose_text(other)

    assert reply["accepted"] == 1, reply
    assert before not in reply["note"], reply


@pytest.mark.parametrize(("before", "other"), list_pairs(REFUSED))
async def test_the_opposite_without_a_change_is_refused(before: str, other: str) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(before)
    reply = await home.propose_text(other)

    assert reply["accepted"] == 0, reply
