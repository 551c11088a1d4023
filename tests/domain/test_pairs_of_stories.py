"""Pairs of sentences of stories that exclude each other, and lookalikes that do not."""

from typing import Final

import pytest

from canonry.log.items.proposals import Grade
from tests.domain.row_grades import grades_of_row

NAMES: Final = """
Ada
Admiral Sorn
Aldo
Ana
Anton
Arn
Aune
Bela
Bera
Bern
Bert
Black Gaol
Black Rose
Bo
Bodo
Bors
Bram
Brida
Brok
Brother Ansel
Captain Bly
Captain Roe
Captain Vey
Dagna
Dorn
Dry Vale
Duke Hern
Elke
Ella
English
Enno
Ferdi
Finn
French
Fritz
Gar
Garin
Gerd
Gerda
Gorm
Grey Rock
Grim Jack
Grom
Gull
Gull Island
Gus
Harrow
Hela
Hern
Hesk
Hild
Hilda
Hilde
Hollow Hill
Hook-Jan
Hugo
Ida
If Bo
Ila
Ilo
Ines
Iron Circle
Ivy
Jana
Jon
Kara
King Dor
King Oru
Kord
Lena
Lord Hask
Lotte
Magda
Mara
Marsh
Meat
Milo
Mina
Mira
Mirl
Mother Ysa
Needle
Nell
Nessa
Nils
Odo
Odric
Olaf
Old Brenn
Old Hemm
Old Mabel
Osk
Paul
Pim
Prince Lio
Prince Lor
Princess Lia
Queen Ila
Ragnar
Red Mog
Rik
Rolf
Runa
Sable
Sarn
Sigrun
Silver Veil
Sir Boll
Sir Kay
Sorn
Sven
Szar
Tam
Tarn
Thorn
Tib
Tilo
Tobin
Tooth
Torvald
Ulf
Ulla
Ur
Veit
Veld
Velm
Vera
Vesna
Welk
Wen
White Rose
Yorick
""".strip().splitlines()
"""The known names."""

EXCLUDING: Final = """
Odric has never been in jail. | Odric spent five months in jail.
Bela has never been behind bars. | Bela served three years in prison.
Gerda has never lived in Osk. | Gerda lived in Osk for two years.
Yorick has never owned a boat. | Yorick used to own a small boat.
Mira has never owned a mill. | Mira was the owner of a mill.
Sigrun has never lost a fight. | Sigrun was beaten in a fight by Dorn.
Ulf has never been ill in his life. | Ulf was ill for weeks last winter.
Tilo has never tasted beer. | Tilo drank a whole barrel of beer.
Kara has never learned how to swim. | Kara can swim.
Kara has never been a soldier. | Kara was a soldier for six years.
Bodo has never worked for Lord Hask. | Bodo worked for Lord Hask for two years.
Ines was once a prisoner of the orcs. | Ines has never been a prisoner.
Nessa has never had a child. | Nessa has two children.
Veit has never had a brother. | Veit has a brother.
Garin has never had a beard. | Garin has a long beard.
Not one of the four knights survived. | Two of the four knights survived.
None of the prisoners escaped. | Three of the prisoners escaped.
None of the windows are open. | One of the windows is open.
No ships returned from the battle. | Two of the ships returned from the battle.
There is nobody in the tower. | Old Hemm is in the tower.
There is no one in the cellar. | Brida is in the cellar.
Nobody is in the cave. | Ragnar is inside the cave.
Not a single knight was wounded. | Several of the knights were wounded.
All of the prisoners are dead. | Two of the prisoners are alive.
All the horses are healthy. | Three of the horses are sick.
Both of Ella's parents are dead. | Ella's mother is alive.
Both of Jon's parents are alive. | Jon's father is dead.
Everyone can read the runes. | Only dwarves can read the runes.
Everyone can open the gate. | Only Hilde can open the gate.
All members of the Iron Circle are men. | Some women belong to the Iron Circle.
Nobody lives in the old mill. | Two families live in the old mill.
There are five arrows in Milo's quiver. | Milo has two arrows in his quiver.
There are three keys in Ada's pocket. | Ada has only one key in her pocket.
Rik has ten coins in his purse. | There are four coins in Rik's purse.
Rik has no coins left. | Rik has ten gold coins in his purse.
The lamp has no oil left. | There is oil in the lamp.
Gus has not a single arrow left. | Gus has six arrows.
The staff has two charges left. | There are five charges in the staff.
The council of Hesk has nine members. | Twelve people sit on the council of Hesk.
The guild has sixty members. | Over two hundred people belong to the guild.
The order has thirty members. | The order counts fifty members.
Welk has six hundred inhabitants. | Nine thousand people live in Welk.
Hollow Hill is uninhabited. | Twenty people live in Hollow Hill.
Nobody lives on Gull Island. | Forty families live on Gull Island.
Grey Rock is deserted. | Some fishermen live on Grey Rock.
There is nobody living in Thorn. | A hundred people live in Thorn.
Old Brenn is in his seventies. | Old Brenn is fifty-four.
Aune is not yet fifty. | Aune is over two hundred years old.
Tib is not even twenty. | Tib is forty-three.
Torvald is well over six hundred years old. | Torvald is ninety.
Wen is barely sixteen. | Wen is thirty.
Ada is under thirty. | Ada is in her sixties.
Finn has just turned eighteen. | Finn is in his fifties.
Gar is still a child of ten. | Gar is forty years old.
The giant Grom stands twelve feet tall. | Grom is only seven feet in height.
The tower is ninety feet high. | The tower rises to a height of two hundred feet.
The well is forty feet deep. | It is only ten feet down to the bottom of the well.
The pit is thirty feet deep. | The pit goes down a hundred feet.
The dwarf Brok is just four feet tall. | Brok measures barely six feet.
The tower is ninety feet high. | The tower has a height of two hundred feet.
The wall is six feet thick. | The wall has a thickness of two feet.
The sword is three feet long. | The sword measures five feet in length.
The war lasted four years. | The war was over after two months.
The siege lasted ten weeks. | The siege came to an end after three days.
The siege went on for two years. | The siege lasted ten days.
The charm lasts a day. | The charm wears off after an hour.
The potion lasts two hours. | The effect of the potion fades after ten minutes.
The potion lasts two hours. | The potion wears off after ten minutes.
The truce held for six years. | The truce lasted two months.
Hugo is bald. | Hugo has long black hair.
Hugo has no hair on his head. | Hugo has curly brown hair.
Sven is clean-shaven. | Sven has a grey beard.
Sven has never grown a beard. | Sven's beard is white.
Rolf walks on a wooden leg. | Rolf still has both legs.
Rolf has a wooden leg. | Rolf has both of his legs.
Elke has a glass eye. | Elke still has both eyes.
Hook-Jan has a hook instead of his left hand. | Hook-Jan has both hands.
Dagna is missing three fingers. | Dagna has all ten fingers.
Dagna lost two fingers in the war. | Dagna has all ten fingers.
Olaf lost his right arm in battle. | Olaf still has both arms.
Lotte is missing an eye. | Lotte has two good eyes.
Lotte lost her left eye to a crow. | Lotte can see with both eyes.
Fritz is blind in both eyes. | Fritz sees perfectly well.
Fritz is completely blind. | Fritz's right eye sees well.
Ulla has been deaf since birth. | There is nothing wrong with Ulla's hearing.
Ulla is stone deaf. | Ulla's hearing is excellent.
Ulla is deaf in both ears. | Ulla hears very well.
Gerd is unconscious. | Gerd is wide awake.
Gerd is out cold. | Gerd is awake.
Gerd fell in the fight and is still unconscious. | Gerd is fully conscious.
Paul came out of the battle without a scratch. | Paul was wounded in the battle.
Paul survived the duel unhurt. | Paul was badly wounded in the duel.
Nils came through the raid unharmed. | Nils was injured in the raid.
Ida has never been sick. | Ida had the plague as a girl.
Ida has never been ill. | Ida caught the red fever two years ago.
There are no scars on Vera's body. | Vera has a scar on her cheek.
Vera has no scars. | There is a scar on Vera's cheek.
There is no tattoo on Bert's arm. | Bert has a tattoo on his arm.
Lord Hask drowned. | Lord Hask died in a fire.
Lord Hask died of a fever. | Lord Hask burned to death.
Captain Roe drowned at sea. | Captain Roe was stabbed to death.
Old Mabel died in her sleep. | Old Mabel was murdered.
King Oru died in battle. | King Oru was poisoned to death.
Sir Kay was hanged. | Sir Kay died of old age.
The witch was burned at the stake. | The witch drowned in the lake.
Prince Lor fell from the tower and died. | Prince Lor died of the plague.
Pim froze to death in the mountains. | Pim drowned.
Pim starved to death. | Pim was eaten by wolves.
Ferdi was killed by a bear. | Ferdi drowned.
Ferdi was struck by lightning and died. | Ferdi died of a fever.
Rolf is a corporal. | Rolf holds the rank of captain.
Jana has the rank of major. | Jana is a lieutenant.
Jana holds the rank of general. | Jana holds the rank of colonel.
The fleet is under the command of Admiral Sorn. | Captain Bly commands the fleet.
The bandits are led by Red Mog. | The leader of the bandits is Grim Jack.
The leader of the rebels is a woman. | The rebels are led by a man.
The ruler of Osk is a woman. | Osk is ruled by a man.
The city is governed by a woman. | The governor of the city is a man.
Arn and Veld are at war with each other. | Arn and Veld are at peace.
Arn is at war with Veld. | Veld is at peace with Arn.
Arn and Veld are at war. | Arn is an ally of Veld.
Arn and Veld are allies. | Arn and Veld are at war with each other.
Duke Hern took no part in the battle. | Duke Hern fought in the battle.
Duke Hern stayed out of the war. | Duke Hern fought against the orcs in the war.
Hilda won the duel. | Hilda was beaten in the duel.
Hilda won the duel against Bors. | Hilda lost the duel against Bors.
The orcs won the battle. | The orcs were defeated in the battle.
Gambling is forbidden in Osk. | Anyone may gamble in Osk.
It is illegal to fish in the lake. | Fishing in the lake is permitted.
It is forbidden to sing in the abbey. | Singing is allowed in the abbey.
Slavery is legal in Osk. | The law of Osk forbids slavery.
Duelling is legal in Osk. | The laws of Osk prohibit duelling.
Magic is forbidden in Osk. | The law of Osk allows magic.
Slavery is banned in Osk. | Slavery is legal in Osk.
Osk has outlawed slavery. | Slavery is legal in Osk.
There is no tax on wine in Osk. | Wine is taxed in Osk.
Beer is taxed in Osk. | There is no tax on beer in Osk.
Salt is tax-free in Osk. | There is a tax on salt in Osk.
Bern was found guilty at his trial. | The trial of Bern ended with an acquittal.
Bern was convicted of theft. | Bern was acquitted of theft.
Bern was found guilty of murder. | Bern was found not guilty of murder.
Bern was cleared of all charges. | Bern was found guilty.
The ferry costs two coppers. | The ferryman charges ten coppers for the ferry.
The party paid thirty gold for the boat. | The party got the boat for free.
Mara paid forty silver for the horse. | Mara got the horse for nothing.
Mara paid forty silver for the horse. | The horse was a gift to Mara.
Tam is locked up in the old mill. | Tam is a free man.
Tam is being held captive by the orcs. | Tam is free.
Tam is still being held in the fort. | Tam is free.
All of the prisoners are free. | Four of the prisoners are still being held.
The hostages are all free. | Two of the hostages are still being held.
Tam is held prisoner in the tower. | Tam is at liberty.
Odo does not worship any god. | Odo worships the god Hern.
Odo does not believe in any goddess. | Odo believes in the goddess Ila.
Mina does not own any ship. | Mina owns the ship Gull.
Mina has never killed a dragon. | Mina killed the dragon Szar.
The villagers eat nothing but fish. | Meat is eaten by the villagers too.
The gate is guarded by two trolls. | Nobody guards the gate.
Brother Ansel has broken his vow. | Brother Ansel has always kept his vow.
Brother Ansel broke his oath. | Brother Ansel kept his oath.
Lena has never broken her word. | Lena broke her word.
Kord betrayed the party. | Kord has always been loyal to the party.
Kord has betrayed Queen Ila. | Kord has always been faithful to Queen Ila.
Kord has never betrayed Ila. | Kord betrayed Ila to the orcs.
Mother Ysa was present at the wedding. | Mother Ysa missed the wedding.
Gorm attended the feast. | Gorm was absent from the feast.
Gorm was at the coronation. | Gorm stayed away from the coronation.
Gorm was not present at the trial. | Gorm attended the trial.
Gorm did not come to the funeral. | Gorm was present at the funeral.
The bridge at Sarn is gone. | The bridge at Sarn is still standing.
The old bridge is gone. | The old bridge still stands.
The lighthouse no longer stands. | The lighthouse is still standing.
Enno has spent his whole life in Velm. | Enno lived outside Velm for six years.
The book is written in elvish. | The whole book is in dwarvish.
The scroll is in latin. | The scroll is written in greek.
The letter is written entirely in orcish. | The letter is in elvish.
The inscription is in dwarvish. | The inscription is written in elvish.
The letter is unsigned. | The letter bears Hern's signature.
The treaty is unsigned. | Hern's signature is on the treaty.
The letter is unsigned. | The letter is signed by Hern.
The contract is not signed. | The contract bears the signature of Hern.
Mirl cannot cast any spells. | Mirl can cast a fireball.
The spell can never be undone. | The spell can be broken by a drop of blood.
The door cannot be opened. | The door can be opened with the silver key.
Silver cannot hurt the werewolf. | The werewolf can be wounded with silver.
Fire cannot harm the golem. | The golem can be hurt with fire.
The golem is immune to fire. | The golem can be hurt with fire.
The troll is vulnerable to fire. | Fire cannot hurt the troll.
The ring works only at night. | The ring works by day as well.
The lamp burns only at night. | The lamp also burns during the day.
The owl sings only by day. | The owl sings at night too.
The wand has no charges left. | There are three charges in the wand.
It never snows in Osk. | Snow falls in Osk every winter.
It never rains in the desert of Ur. | It rains in the desert of Ur every spring.
It has never snowed in Osk. | It snowed in Osk last winter.
King Dor has only daughters. | Prince Lio is King Dor's son.
Hela has only sons. | Ivy is Hela's daughter.
Hela has no daughters, only sons. | Ivy is Hela's eldest daughter.
Magda learned to ride as a child. | Magda has never learned to ride.
Magda cannot swim. | Magda learned to swim as a child.
Bors learned how to read. | Bors cannot read.
There are exactly seven gods. | There are only five gods.
The gods are twelve in number. | There are exactly nine gods.
Tarn has only one gate. | There are three gates in Tarn.
The cave has only one entrance. | There is a second entrance to the cave.
The dungeon has two exits. | The dungeon has only one exit.
Only one dragon is left in the world. | There are three dragons in the world.
The temple has no guards. | Four guards stand at the temple.
The siege is over. | The siege is still going on.
The war is over. | The war is still raging.
The ring was found by Milo. | Nobody has ever found the ring.
Nobody has ever escaped from Black Gaol. | Mira escaped from Black Gaol.
No one has ever seen the queen. | Odo has seen the queen.
No thief has ever entered the vault. | A thief entered the vault.
The fort can be entered through a tunnel. | The fort cannot be entered.
The lock cannot be picked. | The lock can be picked with a hairpin.
It never snows in Osk. | Snow falls in Osk every winter.
It never rains in Dry Vale. | It rains in Dry Vale every spring.
The spell can never be undone. | The spell can be broken by a drop of blood.
Mina does not own a cow. | One of the cows in the barn belongs to Mina.
Hugo has no dog. | Two of the dogs belong to Hugo.
Not one of the six thieves escaped. | Three of the six thieves got away.
Milo got away. | Milo did not escape.
There is no poison in the wine. | The wine is poisoned.
There is poison in the soup. | The soup is not poisoned.
Aldo survived the duel without a scratch. | Aldo was badly injured in the duel.
The mill was founded by Marsh and nobody else. | The mill was founded by Vesna.
The song was written by Ilo and no one else. | The song was written by Bera.
""".strip().splitlines()

COMPATIBLE: Final = """
Odric has never been in jail. | Odric spent two years in Velm.
Gerda has never lived in Osk. | Gerda lived in Velm for two years.
Runa has never belonged to the Black Rose. | Runa was a member of the White Rose.
Sigrun has never lost a fight. | Sigrun lost a bet.
Captain Vey has never lost a battle. | Captain Vey won a battle.
Yorick has never owned a boat. | Yorick used to row a boat.
There has never been a temple in Harrow. | There is a chapel in Harrow.
Mira was not the owner of a mill. | Mira owns a boat.
Anton spent two years behind the counter. | Anton has never been in prison.
Nobody lives in the old mill. | Two owls live in the old mill.
None of the prisoners escaped. | None of the guards escaped.
None of the prisoners escaped. | Three of the guards escaped.
Not one of the four knights survived. | Two of the squires survived.
There is nobody in the tower. | Old Hemm is in the cellar.
There is nobody in the tower. | Old Hemm was in the tower.
All of the prisoners are dead. | Two of the guards are alive.
Everyone can see the tower. | Only Hilde can see the ghost.
All members of the Iron Circle are men. | Some women belong to the Silver Veil.
Two of the knights survived. | Three of the knights are dead.
The council of Hesk has nine members. | Nine people sit on the council of Hesk.
About three hundred people live in Welk. | Welk has three hundred inhabitants.
About three hundred people live in Welk. | Three hundred people work in Welk.
The guild has sixty members. | Twelve people sit on the council.
Rik has ten coins in his purse. | Rik has four coins in his chest.
Rik has no coins left. | Rik left the inn.
Rik left no coins. | Rik has ten coins.
Hollow Hill is uninhabited. | Twenty people work at Hollow Hill.
The guild has sixty members. | Fifty people work for the guild.
Old Brenn is in his seventies. | Old Brenn is seventy-three.
Hild is in her forties. | Hild is not yet fifty.
Old Brenn lived in the seventies. | Old Brenn is fifty-four.
Aune is over two hundred years old. | Aune is not yet three hundred.
The war lasted four years. | The battle was over after two days.
The well is forty feet deep. | It is ten feet from the well to the door.
The siege lasted ten weeks. | The siege was lifted after ten weeks.
The charm lasts a day. | The curse wears off after an hour.
Rolf walks on a wooden leg. | Rolf has one leg.
Rolf carries a wooden leg. | Rolf has both legs.
Elke has a glass eye. | Elke has one good eye.
Fritz is blind in one eye. | Fritz's left eye sees well.
Dagna is missing three coins. | Dagna has all ten fingers.
Hugo is bald. | Hugo has a long black beard.
Sven is clean-shaven. | Sven's brother has a grey beard.
Paul came out of the battle without a scratch. | Paul was wounded in the duel.
Ida has never been ill. | Ida had a dog as a girl.
Lotte lost her left glove. | Lotte can see with both eyes.
Gerd is asleep. | Gerd is unconscious.
Lord Hask drowned. | Lord Hask died in the river.
Lord Hask drowned. | Lord Hask's wife died in a fire.
King Oru died in battle. | King Oru was killed by an arrow.
Pim froze to death in the mountains. | Pim died in the snow.
Old Mabel died in her sleep. | Old Mabel died of old age.
Ferdi was killed by a bear. | Ferdi died in the woods.
Rolf is the captain of the Gull. | Rolf is a sergeant.
Hilda won the duel. | Bors was beaten in the duel.
Duke Hern stayed out of the war. | Duke Hern fought in a tournament.
Arn and Veld are at war. | Arn and Sorn are at peace.
Gambling is forbidden in Osk. | Anyone may gamble in Velm.
It is illegal to fish in the lake. | Fishing in the river is permitted.
Slavery is legal in Osk. | The law of Velm forbids slavery.
There is no tax on wine in Osk. | Beer is taxed in Osk.
Bern was found guilty of theft. | Bern was found not guilty of murder.
Bern was acquitted of murder. | Bern was convicted of theft.
Mara paid forty silver for the horse. | Mara got the saddle for nothing.
Tam is being held back by his fear. | Tam is free.
Tam is locked out of the house. | Tam is free.
Odo does not worship any god. | Odo knows the god Hern.
Mina does not own any horse. | Mina owns the ship Gull.
Kord betrayed the party. | Kord has always been loyal to Queen Ila.
Brother Ansel broke his leg. | Brother Ansel has always kept his vow.
Gorm attended the feast. | Gorm was absent from the wedding.
Gorm missed the target. | Gorm was present at the wedding.
The old bridge is gone. | Enno is gone.
The old bridge is gone. | The new bridge is still standing.
The chapel is on the north side of the town. | The chapel is south of the river.
Enno has spent his whole life in Velm. | Enno lives in Velm.
The book is in elvish. | The book is in the library.
The key to the chest is made of brass. | The cellar key is solid silver.
The idol is solid gold. | The idol is made of solid gold.
The ring works only at night. | The ring works at night.
Silver cannot hurt the werewolf. | The vampire can be wounded with silver.
Mirl cannot cast any spells. | Mirl can play the flute.
It never snows in Osk. | It never rains in Osk.
It never snows in Osk. | Snow falls in Velm every winter.
King Dor has only daughters. | Princess Lia is King Dor's daughter.
No man has ever climbed the Needle. | Sir Boll climbed the Tooth.
Nobody has ever escaped from Black Gaol. | Mira escaped from Velm.
Magda learned to ride as a child. | Magda cannot swim.
Sable killed the wyrm all by herself. | Tobin helped to kill the troll.
Sable killed the wyrm. | Tobin helped to kill the wyrm.
The war is over. | The battle is still raging.
The lock cannot be picked with a hairpin. | The lock can be picked with a dagger.
The island can be reached by boat. | The island cannot be reached on foot.
Mina does not own a cow. | One of the horses in the barn belongs to Mina.
It never snows in Osk. | Snow falls in Velm every winter.
There is no poison in the wine. | The soup is poisoned.
Hugo has no dog. | Two of the cats belong to Hugo.
Hugo has no dog. | Two of the dogs bit Hugo.
The spell can never be undone. | The knot can be undone with a knife.
Aldo survived the duel without a scratch. | Aldo was badly injured in the war.
All of the thieves were caught. | Two of the guards got away.
Bram has a wooden leg in his shop. | Bram has both legs.
The table has a wooden leg. | The table has four legs.
Ana was at the wedding. | Ana was at home.
Ana missed her brother. | Ana attended the wedding.
The bridge is gone from my memory. | The bridge is still standing.
The old bridge is nearly gone. | The old bridge is still standing.
Ana has almost never been ill. | Ana was ill last year.
Ana had a fever of ideas. | Ana has never been ill.
Ana dreamt that she lost the duel. | Ana has never lost a duel.
They say that Kord betrayed the party. | Kord has always been loyal to the party.
Bo might have been in prison. | Bo has never been in prison.
If Bo steals again, he will go to prison. | Bo has never been in prison.
Bo has spent two years in Osk. | Bo has never been in prison.
Bo spent two years building a prison. | Bo has never been in prison.
Bo is in his element. | Bo is fifty years old.
Ten people live in the tower. | The village has a population of two hundred.
The spell lasts an hour. | Ana lasted ten minutes.
It is forbidden to run in the hall. | Everyone may run in the yard.
Nothing is forbidden in Osk. | Slavery is legal in Osk.
Ana learned to swim. | Ana cannot sail.
Ana never learned to swim. | Ana can ride.
Ana wants to learn to swim. | Ana cannot swim.
Bo got away with murder. | Bo is imprisoned.
The letter is in English. | The book is in French.
The chest is in the cellar. | The chest is written in French.
Only Ana can see the ghost. | Everyone can see the tower.
Bo is held in high esteem by the orcs. | Bo is free.
The meeting is being held in Osk. | The meeting is free.
The tower is locked up for the night. | Bo is free.
Ana was beaten by thugs in the street. | Ana has never lost a fight.
Both of Nell's parents are dead. | Nell's uncle is alive.
Nell's father is dead. | Nell's mother is alive.
The fire died after an hour. | The spell lasts ten minutes.
Ida has no help. | Ida killed the wyrm without any help.
Fire cannot harm the golem. | The golem can be hurt with acid.
The golem is immune to fire. | The golem is immune to acid.
Ana has two good friends. | Ana lost her left eye.
The ship has lost two men. | The ship has ten men.
Ten men sit on the wall. | The wall has two members.
King Dor has only daughters. | Prince Lio is King Dor's nephew.
The war is over. | The war lasted three years.
""".strip().splitlines()


@pytest.mark.parametrize("row", EXCLUDING)
def test_sentences_of_stories_that_exclude_each_other_contradict(row: str) -> None:
    assert Grade.CONTRADICTION in grades_of_row(row, NAMES)


@pytest.mark.parametrize("row", COMPATIBLE)
def test_sentences_of_stories_that_only_look_alike_are_compatible(row: str) -> None:
    assert grades_of_row(row, NAMES) == set()
