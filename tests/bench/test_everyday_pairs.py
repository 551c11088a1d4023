"""Statements of daily life, games and work: those that conflict, and those that only sound so."""

import re
from collections.abc import Sequence

import pytest

from bench.contradictions.grader import grade
from bench.contradictions.pairs import Half, Label, Side, read_set

NAMES = ("Bea", "Carl", "Dan", "Eva", "Fay", "Velm", "Bern", "Oslo", "Aude", "Blaise", "Cyril")

CONFLICTS = """
The tower has nine floors. | The tower is twelve storeys high.
The book has 300 pages. | The book is 450 pages long.
Bea cannot work from home. | Bea works from home.
Nobody walked the dog yesterday. | Carl walked the dog yesterday.
Dan never learned to skate. | Dan learned to skate when he was six.
The headquarters of Velm Foods is in Leeds. | The headquarters of Velm Foods is in Cardiff.
The book runs to 300 pages. | The book has 450 pages.
Bea's flat is on the third floor. | Bea lives on the fifth floor.
Bea takes a size 38 in shoes. | Bea wears shoes in size 41.
Bea has locker number 12. | Bea's locker is number 14.
Bea came second in the race. | Bea finished the race in fourth place.
Bea finished third in the contest. | Bea came fifth in the contest.
It is ten kilometres from Velm to Bern. | Velm is thirty kilometres from Bern.
Velm lies ten miles from Bern. | Velm is forty miles away from Bern.
Velm has 3,000 inhabitants. | The population of Velm is 9,000.
3,000 people live in Velm. | Velm is home to 9,000 people.
The oven is set to 200 degrees. | The oven is at 180 degrees.
The water is 18 degrees warm. | The temperature of the water is 25 degrees.
The wall is three metres high. | The height of the wall is five metres.
The pond is two metres deep. | The depth of the pond is four metres.
The recipe takes four eggs. | The recipe calls for six eggs.
You need four eggs for the recipe. | The recipe takes six eggs.
Bea has three brothers. | Bea has two brothers.
Bea drinks two coffees a day. | Bea drinks five coffees a day.
Bea works thirty hours a week. | Bea works forty hours a week.
The battery lasts ten hours. | The battery lasts for four hours.
The warranty runs for two years. | The warranty lasts five years.
The contract with Velm expires on 30 June. | The contract with Velm ends on 31 December.
The spider has eight legs. | The spider walks on six legs.
Bea has five scrolls on her. | Bea carries two scrolls.
The class has 24 pupils. | There are 30 pupils in the class.
There are twelve chairs in the hall. | The hall has eight chairs.
The speed limit in the village is 50. | The speed limit in the village is 30.
The fine is 30 euros. | The fine amounts to 60 euros.
The loan is 5,000 euros. | The loan comes to 9,000 euros.
Bea's bus leaves at 7:10. | Bea's bus goes at 7:40.
Bea gets up at six. | Bea gets up at eight.
Dinner is at seven. | Dinner is served at eight.
The meeting is on 4 May. | The meeting takes place on 6 May.
The meeting falls on a Tuesday. | The meeting is on a Thursday.
Bea's birthday is on 3 May. | Bea was born on 9 June.
Bea was born in 1980. | Bea was born in 1985.
The company was founded in 1990. | The company has existed since 1970.
Bea moved to Oslo in 2010. | Bea moved to Oslo in 2015.
Bea pays 400 euros in rent. | Bea's rent is 600 euros.
Bea charges 40 euros an hour. | Bea charges 60 euros an hour.
Entry is free. | Entry costs five euros.
Admission is free of charge. | Admission costs five euros.
Children pay nothing. | Children pay four euros.
The password has at least twelve characters. | The password has eight characters.
The server has 16 gigabytes of memory. | The server has 32 GB of memory.
The download is 2 gigabytes. | The download is 500 megabytes.
The discount is 10 percent. | The discount is 25 percent.
The ship carries a crew of forty. | The crew of the ship numbers sixty.
The island measures 12 square kilometres. | The area of the island is 30 square kilometres.
Nobody on the night team smokes. | Carl, who is on the night team, smokes.
Nobody in Velm has a boat. | One family in Velm owns a boat.
Nobody in Velm knows Carl's name. | An innkeeper in Velm knows Carl's name.
Everybody in the choir sings. | Dan, a member of the choir, does not sing.
All of the pupils passed the exam. | Eva, one of the pupils, failed the exam.
Everyone in the class went on the trip. | One boy in the class did not go on the trip.
Every guest left early. | Bea, one of the guests, did not leave early.
None of the knights survived the battle. | Carl, one of the knights, survived the battle.
Bea is an only child. | Bea's little sister is called Eva.
Bea grew up as an only child. | Bea has two brothers.
Carl never got married. | Carl's first wife was Eva.
Carl died childless. | When Carl died, he left behind two sons.
Carl died without issue. | Carl left a daughter.
Bea has no children. | Bea's daughter lives in Oslo.
Carl drowned in the lake. | Carl died in his own bed.
Carl was killed by a bear. | Carl died of old age.
Carl died of a fever. | Carl was killed by Dan.
The inn stands on the north bank of the Tarn. | The inn is on the southern bank of the Tarn.
The mill is on the east side of Velm. | The mill lies on the western side of Velm.
Bea was born in Bern. | Oslo is the city where Bea came into the world.
Bea first saw the light of day in Bern. | Bea was born in Oslo.
The code is written entirely in Go. | Half of the code is written in Python.
The API returns JSON and nothing else. | The API returns XML.
Bea eats only fish. | Bea eats chicken.
Velm has its main office in Bern. | Velm is based in Oslo.
Velm is headquartered in Bern. | The headquarters of Velm are in Oslo.
At least fifty guests came to the wedding. | No more than thirty guests turned up at the wedding.
Carl employs forty people. | Carl has twelve employees.
Bea earns 3,000 euros a month. | Bea draws a salary of 2,000 euros a month.
The fire broke out in 1887. | The fire broke out in 1891.
The mill burned down in 1887. | The mill went up in flames in 1891.
The treaty was signed in 1410. | The signing of the treaty took place in 1420.
Bea and Carl married in 2010. | The wedding of Bea and Carl was in 2012.
The museum opened in 1990. | The opening of the museum was in 1994.
The bill has to be in by 3 March. | The bill isn't due until the tenth of March.
The contract expires on 30 June. | The contract ends on 31 December.
The concert starts at eight in the evening. | The concert begins at 9:30 pm.
The concert kicks off at half past seven. | The concert starts at quarter to nine in the evening.
The shop closes at six. | The shop shuts at seven.
The train departs at 14:05. | The train leaves at ten past three in the afternoon.
The ferry sails at 9:15. | The ferry leaves at 10:45.
The plane takes off at 16:20. | The departure of the plane is at 18:00.
The coach pulls out at seven in the morning. | The coach leaves at nine in the morning.
The plane lands at 11:30. | The arrival of the plane is at 13:00.
Friday's rehearsal begins at six. | The rehearsal on Friday starts at seven.
The class starts at eight on Tuesdays. | The class begins at ten on Tuesdays.
The yearly fee of the club is 40 euros. | The club's yearly fee is 60 euros.
The bounty on Carl is 300 gold. | The bounty for Carl stands at 500 gold.
The rent for the flat comes to 700 euros a month. | The monthly rent of the flat is 900 euros.
The repair came to 120 euros. | The repair cost 180 euros.
The lamp sells for 30 euros. | The lamp is priced at 45 euros.
The kit retails at 99 dollars. | The kit costs 149 dollars.
The parcel tips the scales at three kilos. | The parcel weighs 4,500 grams.
Bea is aged nine. | Bea is eleven years old.
The age of Bea is fifty-one. | Bea is 34 years old.
Bea turned forty this spring. | Bea is still in her thirties.
Bea is in her twenties. | Bea is fifty-three.
Bea is one metre eighty tall. | Bea is five foot two.
The lesson is an hour long. | The lesson lasts thirty minutes.
The flight takes two hours and forty minutes. | The flight takes four hours.
Bea retired in 2018. | Bea's retirement was in 2020.
The tower was built in 1880. | The construction of the tower took place in 1910.
Carl died in 1412. | The death of Carl came in the year 1430.
The head office of Velm is in Bern. | Velm has its head office in Oslo.
Five people make up the jury. | The jury consists of seven people.
At most twenty people fit into the cabin. | The cabin holds thirty-five people.
There is room for eight people in the boat. | The boat holds six people.
Last year the club hired three coaches. | The club hired five coaches last year.
Bea sold nothing at yesterday's market. | Bea sold three lamps at the market yesterday.
The pool closes at six in winter. | In winter the pool closes at eight.
A potion costs 50 gold. | The price of a potion is 75 gold.
Bea has two kids. | Bea is the mother of three children.
School starts at 8 every day. | On Mondays school doesn't start until 9.
Bea sees patients every weekday. | Bea doesn't see patients on Fridays.
The form is due on 15 April. | The form isn't due until the end of May.
The lease exists only in Bern. | The lease exists in Velm.
The bus only stops at Bern. | The bus stops at Oslo.
Bea trains twice a week. | Bea trains five times a week.
The team meets monthly. | The team meets once a week.
Bea waters the plants every day. | Bea waters the plants only once a week.
The window cleaner comes every two weeks. | The window cleaner comes once a year.
The bus runs every 10 minutes. | The bus runs every half hour.
Once a month, Bea visits Carl. | Bea visits Carl every day.
The talk takes one hour. | The talk lasts 90 minutes.
Parking is not allowed in the yard. | Parking is allowed in the yard.
The interview is in person. | The interview is online.
Bea's first day at work is 3 May. | Bea starts work on 10 May.
We paid 300 euros for the sofa. | We got the sofa for free.
Bea's visa runs out in March. | Bea's visa is good until August.
Applications close on 10 March. | You can apply until 20 March.
There is no deadline for the survey. | The survey has to be filled in by 3 March.
The essay must be handed in by Friday. | The essay isn't due until Monday.
The app only runs on Velm. | The app runs on Bern.
Bea is a 34-year-old nurse. | Bea is 29 years old.
Bea is a sixth grader. | Bea is in fourth grade.
The yoga class is free. | The yoga class costs 15 dollars.
The warranty on the oven has expired. | The oven is under warranty.
The boat has no insurance. | The boat is insured with Velm.
Bea only works part time. | Bea works full time.
Bea got a promotion. | Bea wasn't promoted.
I no longer subscribe to the Velm. | I'm a subscriber of the Velm.
Bea has never had surgery. | Bea had knee surgery in 2015.
Bea never got a driver's license. | Bea got her driver's license in 2019.
Bea never went to college. | Bea went to college in Bern.
The picnic is cancelled. | The picnic is going ahead as planned.
The radio is broken. | There's nothing wrong with the radio.
Bea has three direct reports. | Five people report to Bea.
Bea tested negative for covid. | Bea's covid test was positive.
Bea and Carl's wedding was in May. | Bea and Carl got married in June.
We had the car repaired. | The car wasn't repaired.
The museum requires a ticket. | You don't need a ticket for the museum.
Bea gets up at six every day. | Bea sleeps until eight on Sundays.
Dutch is the only language Bea speaks. | Bea speaks Spanish.
Bea eats everything. | Bea doesn't eat fish.
Bea likes all vegetables. | Bea doesn't like broccoli.
Bea's only allergy is cats. | Bea is allergic to nuts.
Bea takes sugar in her tea. | Bea drinks her tea without sugar.
We have no pets. | Our hamster is called Fay.
Guests may park in the yard. | Guests are not allowed to park in the yard.
We met every deadline. | We missed one deadline.
My address is 14 Mill Road. | I live at 27 Oak Street.
The shop is open from Monday to Friday. | The shop is closed on Wednesdays.
The inn is closed at weekends. | The inn is open on Saturdays.
The shop is closed on Mondays and Tuesdays. | The shop is open on Mondays.
The notice period is three months. | The notice period is four weeks.
The passport expires in 2030. | The passport is valid until 2028.
Bea is on the board. | Bea is not a board member.
Dogs are welcome in the inn. | Dogs are not allowed in the inn.
Bea is the mother of four. | Bea has two children.
The car is brand new. | The car is twelve years old.
The visa was revoked. | The visa is valid.
Bea pays 700 euros rent. | Bea's rent is 850 euros.
Bea has no cats. | Bea's cat is called Fay.
Bea has been with Velm since 2015. | Bea joined Velm in 2019.
Bea finishes work at five. | Bea works until seven.
Bea works four days a week. | Bea works five days a week.
Bea has a permanent contract. | Bea has a fixed-term contract.
Bea's wedding is on 4 June. | Bea is getting married on 11 June.
Bea is the oldest of three children. | Bea has an older brother.
Bea is the tallest in the class. | Carl is the tallest in the class.
The gym is open around the clock. | The gym closes at ten.
The soup is vegan. | There is cream in the soup.
The colour of the sofa is green. | The sofa is grey.
The bug has been fixed. | The bug is still there.
The backup runs at four every night. | The backup runs every night at two.
Bea failed the exam. | Bea passed the exam.
Bea lives on the fourth floor. | Bea lives on the ground floor.
The Velm road is open. | The road to Bern is closed and the road in Velm is closed.
The conference was cancelled. | The conference took place in May.
Bea rents her flat. | Bea owns her flat.
The server runs Debian 12. | Debian 11 is what the server runs.
The lease runs until March 2027. | The lease ends in May 2027.
Bea hasn't eaten fish in years. | Bea eats fish on Fridays.
Bea has not worked since the accident. | Bea works at the bakery.
The only language Bea speaks is Danish. | Bea speaks Polish.
Debian is what Bea uses. | Bea does not use Debian.
It was Bea who broke the vase. | Bea did not break the vase.
Bea's boss is Eva. | Bea's boss is a man called Carl.
Bea has been single ever since the divorce. | Bea is married.
Bea has no pets. | Bea has a hamster named Fay.
Bea is in year three. | Bea is in the fifth grade.
The desk was dearer than the chair. | The chair cost more than the desk.
Bea earns more than Carl. | Carl earns more than Bea.
Carl was born three years after Bea. | Carl is older than Bea.
The report is due on 3 May. | The report has to be handed in on 10 May.
Bea has never been abroad. | Bea travelled abroad in 2018.
The licence expired in May. | The licence is valid until next autumn.
The window cannot be opened. | The window is standing wide open.
The key is in the cellar of the inn. | The key is in the attic of the inn.
The firm was set up in 1990. | The firm was founded in 1985.
Carl came last at the fair in 2020. | Carl won first prize at the fair in 2020.
Bea and Carl were divorced in 2016. | Bea and Carl are still husband and wife.
The report is due on Friday. | The deadline for the report is Monday.
The exam is scheduled for 3 May. | The exam is on 10 May.
Velm is 12 km from Bern. | Bern lies 40 km away from Velm.
The pass costs five euros for students. | The pass costs nine euros for students.
Entry is free. | Entry costs five euros.
Bea owes Carl 50 euros. | Bea owes Carl 80 euros.
The server has 32 GB of memory. | The server has 16 GB of memory.
The bus seats nine people. | The bus has room for fourteen passengers.
Bea's eldest daughter is Eva. | Fay is Bea's eldest daughter.
Bea is divorced. | Bea and Carl are married.
Carl is Dan's younger brother. | Carl is older than Dan.
Bea has blood type O. | Bea's blood type is A.
Bea is diabetic. | Bea does not have diabetes.
The gate is guarded by two trolls. | Nobody guards the gate.
The gate is unguarded. | The gate is guarded by Carl.
Nobody lives in the tower. | The tower is inhabited.
The lift is out of service. | The lift is working.
The road is blocked. | The road is clear.
Room 12 is booked on Friday. | Room 12 is free on Friday.
Bea is free on Friday. | Bea is busy on Friday.
The flat is vacant. | The flat is occupied.
Bea has no job. | Bea works as a nurse.
Bea has quit smoking. | Bea smokes a pipe.
Bea sits on the committee. | Bea is not on the committee.
Bea went to Rome in 2010. | Bea has never been to Rome.
The app requires a licence. | The app needs no licence.
The test was held on Monday. | The test took place on Friday.
Heating is not included in the rent. | The rent includes heating.
Carl wields a sword. | Carl is unarmed.
Carl has a strength of 12. | Carl's strength is 16.
Carl was killed in a duel. | Carl died of a fever.
Bea is the stepmother of Carl. | Bea gave birth to Carl.
Bea is Carl's mother-in-law. | Bea is Carl's mother.
Bea is the eldest of the three sisters. | Bea is the youngest of the three sisters.
Bea is the younger of the two sisters. | Bea is the older of the two sisters.
Bea has three brothers. | Bea has no siblings.
Carl has no children. | Carl is the father of Dan.
Carl's widow is Bea. | Carl is alive.
Carl died in battle. | Carl died peacefully in his sleep.
Carl died at the age of 80. | Carl died at the age of 65.
Carl froze to death. | Carl starved to death.
Carl has been dead since 1990. | Carl died in 1995.
Carl is buried in Leeds. | Carl was buried in York.
Carl survived the shipwreck. | Carl died in the shipwreck.
Carl has never been in the army. | Carl was in the army.
Carl has no money. | Carl has 500 crowns.
Carl is under two metres tall. | Carl is 2.05 m tall.
Bea is a minor. | Bea is 25 years old.
Bea is on the ground floor. | Bea is on the fourth floor.
The bank is on Market Square. | The bank is on Station Road.
The clinic is closed on Sundays. | The clinic opens on Sundays at ten.
The bakery is open every day except Monday. | The bakery is open on Mondays.
Bea lives alone. | Bea shares her flat with two friends.
The sword has a golden hilt. | The hilt of the sword is silver.
The app has no dark mode. | The app's dark mode is on.
The castle has no moat. | The castle is surrounded by a moat.
The cake contains nuts. | The cake is free of nuts.
The road is paved. | The road is unpaved.
A ticket costs five euros. | Tickets are free.
The server runs Python 3.11. | The server runs Python 3.9.
Bea is single. | Bea lives with her husband.
Bea commands the fleet. | Carl is in command of the fleet.
Nobody owns the island. | The island belongs to Bea.
Bea accepted the offer. | Bea declined the offer.
Bea refused to sign the letter. | Bea signed the letter.
Aude vit en Espagne. | Aude habite en Suède.
Aude est allergique aux noix. | Aude n'a aucune allergie.
Le pont a été construit en 1890. | Le pont fut construit en 1912.
Le train part à 8 h 15. | Le train part à 9 h 40.
Le village compte 300 habitants. | Le village a 900 habitants.
Blaise est plus âgé que Cyril. | Cyril est plus âgé que Blaise.
Aude n'a pas de frères ni de sœurs. | Aude a deux sœurs.
Le film dure deux heures. | Le film dure cinq heures.
Le village est à dix kilomètres de la mer. | Le village est à trente kilomètres de la mer.
Aude fait partie du conseil. | Aude ne fait pas partie du conseil.
"""

LOOKALIKES = """
The ferry ticket is 9 euros for adults. | The ferry ticket is 5 euros for children.
The bread weighs two kilos. | The bread costs two euros.
Bea drinks two coffees in the morning. | Bea drinks one coffee in the evening.
The tower has nine floors. | The tower has nine storeys.
Bea works thirty hours a week. | Carl works forty hours a week.
The dose is two tablets in the morning. | The dose is one tablet in the evening.
The trip takes two hours by train. | The trip takes five hours by bus.
The hotel costs 90 euros in winter. | The hotel costs 140 euros in summer.
The list price is 90 euros. | The sale price is 60 euros.
Bea ran the race in 2010. | Bea ran the race in 2012.
Bea has at least two brothers. | Bea has three brothers.
The hall holds up to 200 people. | The hall has 50 chairs.
Bea is thirty. | Bea's sister is forty.
The wall is three metres high. | The wall is three metres tall.
The film lasts ninety minutes. | The film is an hour and a half long.
Not one of the eleven dwarves of Velm could swim. | Dan, one of the elves of Velm, could swim.
Nobody on the night team smokes. | Carl, who is on the day team, smokes.
Nobody in Velm has a boat. | One family in Oslo owns a boat.
Everyone in the class went on the trip. | One boy in the choir did not go on the trip.
Bea is an only child. | Bea's cousin is called Eva.
Bea has no sons. | Bea's daughter lives in Oslo.
Carl died childless. | Dan left two sons.
The inn stands on the north bank of the Tarn. | The mill is on the southern bank of the Tarn.
Bea scored twelve points in May. | Bea scored nine points in June.
The shop closed in 1990. | The opening of the shop was in 1970.
Carl was killed by a bear. | Carl died in the forest.
The API returns JSON. | The API returns XML.
The shop closes at six. | The shop closes at 18:00.
The class starts at eight. | The class begins at 20:00.
The class starts at eight on Tuesdays. | The class starts at nine on Mondays.
In winter the pool closes at six. | The pool closes at nine in the summer months.
Bea is one metre eighty tall. | Bea's height is five foot eleven.
The yearly fee of the club is 40 euros. | The monthly fee of the club is 4 euros.
The net salary of Bea is 2000 euros. | The gross salary of Bea is 3000 euros.
The fee for adults is 9 euros. | The fee for children is 4 euros.
The price of the lamp is 30 euros before tax. | The price of the lamp is 36 euros after tax.
Bea is in her twenties. | Bea is twenty-seven.
Bea is in her early thirties. | Bea is 32 years old.
Bea bought two horses. | Bea bought three horses.
Bea ate three apples on Monday. | Bea ate two apples on Tuesday.
The race took four hours and twelve minutes. | The race took 252 minutes.
The concert starts at quarter to eight in the evening. | The concert begins at 19:45.
The train leaves at seven in the morning. | The train leaves at 07:00.
Carl died in 1412. | Carl's death came in the autumn of 1412.
Ten men sit on the wall. | The wall has two members.
There is a second way into the tomb. | The tomb has two entrances.
Bea's birthday was in May. | The birth of Carl was in June.
Bea sees patients every weekday. | Bea doesn't see patients on Sundays.
Bea is the mother of three children. | Bea has a dog.
Bea has no pets but a cat. | Bea has a cat.
The bus stops at Bern. | The bus stops at Oslo.
The lease exists only in Bern. | The book exists in Velm.
Bea takes aspirin every day. | Bea takes aspirin twice a day.
We meet every month. | We meet twice a month.
Bea trains four times a month. | Bea trains once a week.
Bea visits her mother once a week. | Bea visits her father once a month.
The bus runs every 10 minutes. | On Sundays the bus runs every 30 minutes.
The magazine costs 5 euros a month. | The magazine costs 60 euros a year.
The meeting is online. | The meeting is in the morning.
Smoking is not allowed here. | Carl smokes.
Bea's first day at school is 3 May. | Bea starts work on 10 May.
The concert runs until eleven. | The concert starts at eight.
Registration opens on 3 May. | You can register until 9 May.
Bea only works on Mondays. | Bea works for Velm.
Bea has a seven-year-old daughter. | Bea is 40 years old.
The meeting room is free. | The meeting room costs 30 dollars an hour.
A ticket costs five euros. | Tickets are free for children.
The van is insured with Velm. | The van is insured against theft.
Bea had a car in 2010. | Bea has no car.
Bea has never had knee surgery. | Bea had eye surgery in 2015.
We had the car washed. | The car wasn't repaired.
Bea gets up at six on Mondays. | Bea gets up at nine on Sundays.
Bea likes all vegetables. | Bea doesn't like cheese.
Bea eats all her vegetables. | Bea doesn't eat fish.
Bea has no food allergies. | Bea is allergic to bee stings.
We have no dog. | Our cat is called Fay.
The dog may be in the garden. | The dog is not in the garden.
Bea tested positive for the flu. | Bea's covid test was negative.
The shop is open from Monday to Friday. | The shop is closed on Saturdays.
The shop is closed on Mondays and Tuesdays. | The shop is open on Fridays.
The office closes at six from Monday to Thursday. | The office closes at three on Fridays.
The notice period is three months. | The notice period is 90 days.
Bea works at the weekend. | Carl does not work at the weekend.
Bea pays 5 euros for the ticket. | The ticket to Bern costs 9 euros.
Bea starts work at eight. | Bea finishes work at five.
Bea's cat is called Fay. | Bea has no dog.
Bea is the youngest of three sisters. | Bea has an older brother.
Bea is the tallest in the class. | Carl is the tallest in the team.
Bea failed physics. | Bea passed chemistry.
Bea has soup for lunch. | Bea never has soup for dinner.
Bea lives on the third floor. | Bea's office is on the fifth floor.
The Velm museum is closed. | The Bern museum is open.
The museum is open all year. | The museum is closed on Mondays.
Bea worked part time until 2019. | Bea works full time.
Bea has not eaten fish since Monday. | Bea eats fish.
Bea has not smoked since 2015. | Bea smoked in 1990.
The bank closes at four on Mondays. | The bank closes at six on Thursdays.
Bea can speak Greek. | Bea never speaks Greek.
Bea is in the second year of her training. | Bea is in year nine.
Fay is the dog of Bea. | Fay is a puppy.
Bea works as a nurse. | Bea is a good swimmer.
Bea came last at the fair in 2019. | Bea won first prize at the fair in 2020.
The only tea Bea drinks is green tea. | Bea drinks coffee.
The speech was long. | Bea is short.
The report is due on Friday. | The meeting about the report is on Monday.
The conference is in June. | The deadline for the conference is 1 March.
Velm is 12 km from Bern. | Velm is 40 km from Oslo.
Velm is 12 km long. | Velm is 30 km from Bern.
The ticket costs five euros for students. | The ticket costs nine euros for adults.
Bea owes Carl 50 euros. | Bea owes Dan 80 euros.
Bea has two litres of milk. | Bea has one litre of water.
Bea's eldest daughter is Eva. | Bea's youngest daughter is Fay.
Bea's eldest daughter is Eva. | Bea's daughter Fay studies law.
Bea lost her job. | Bea works as a nurse.
Bea works as a nurse. | Bea doesn't work on Sundays.
Bea did not eat all the cake. | Bea ate the cake.
Bea does not run every day. | Bea runs.
Bea doesn't trust Carl completely. | Bea trusts Carl.
Bea doesn't know Carl well. | Bea knows Carl.
Bea only drinks tea. | Bea drinks tea.
Bea doesn't eat meat. | Bea eats meat again.
Nobody opened the door. | The door is open.
Nobody but Carl guards the gate. | The gate is guarded by Carl.
The password expires after 90 days. | The password is valid.
Bea has a frog in her throat. | Bea has no frog.
Bea went to bed. | Bea has never been to Bern.
Bea is the stepmother of Carl. | Bea raised Carl.
Bea and Carl are half-siblings. | Bea and Carl have the same father.
Bea is the youngest of the sisters. | Fay is the eldest of the sisters.
Bea is the tallest of the sisters. | Bea is the youngest of the sisters.
Bea is not the eldest of the sisters. | Bea is not the youngest of the sisters.
Carl is the father of Dan. | Carl has no daughters.
Carl has three brothers. | Carl has no sisters.
Bea lives on the second floor. | Bea works on the first floor.
The bank is on Mill Street. | The bank is in Bern.
The shop opens on Sundays at noon. | The shop is closed on Mondays.
The table has a wooden top. | The top of the table is brown.
The house has a green door. | The door of the shed is red.
The house is unpainted. | The door of the house is painted.
The server runs Python 3.11. | The laptop runs Python 3.9.
The jury has twelve members. | Seven members of the jury are men.
Carl missed the meeting. | Carl attended the dinner.
Bea has never been in the army. | Bea was in the navy.
Tickets are free. | Drinks cost three euros.
Bea is at peace with Carl. | Bea is an enemy of Dan.
Le maire serait mort. | Le maire est vivant.
Aude a dix ans d'expérience. | Aude a quarante ans.
Le bateau est à Brest. | Le bateau appartient à Aude.
Blaise est mort aux yeux de son père. | Blaise est vivant.
Blaise n'est pas parti hier. | Blaise est parti.
Blaise ne chante pas bien. | Blaise chante.
Blaise n'a pas lu tout le livre. | Blaise a lu le livre.
Aude ne parle pas qu'anglais. | Aude parle anglais.
Aude a un chat dans la gorge. | Aude n'a pas de chat.
Bea is allowed to work from home. | Bea does not work from home.
Carl can live in Bern. | Carl does not live in Bern.
Dan is allowed to own a dog. | Dan has no dog.
Eva can keep bees in the garden. | Eva does not keep bees.
Nobody walked the dog yesterday. | Carl walked the dog this morning.
Nobody watered the plants last week. | Eva watered the plants on Monday.
Dan cannot skate at all. | Dan has learned to skate.
Eva does not know how to knit. | Eva has finally learnt how to knit.
The headquarters of Velm Foods is in Spain. | The headquarters of Velm Foods is in Seville.
Le billet coûte dix euros pour les adultes. | Le billet coûte cinq euros pour les enfants.
"""


def parse_pairs(text: str) -> Sequence[tuple[str, str]]:
    found = [line.split(" | ") for line in text.strip().splitlines()]
    return [(one, other) for one, other in found]


def make_side(statement: str) -> Side:
    linked = [name for name in NAMES if re.search(rf"\b{name}\b", statement)]
    return Side(statement=statement, entities=tuple(linked))


@pytest.mark.parametrize(("held", "claim"), parse_pairs(CONFLICTS))
def test_statements_that_cannot_both_be_true_conflict(held: str, claim: str) -> None:
    assert grade(make_side(held), make_side(claim)) == "contradiction"


@pytest.mark.parametrize(("held", "claim"), parse_pairs(LOOKALIKES))
def test_statements_that_only_sound_opposed_do_not_conflict(held: str, claim: str) -> None:
    assert grade(make_side(held), make_side(claim)) is None


@pytest.mark.parametrize("half", Half)
def test_the_halves_of_the_everyday_pairs_have_the_same_size_and_labels(half: Half) -> None:
    found = [pair for pair in read_set("everyday") if pair.half is half]
    labels = [pair.label for pair in found]

    assert {pair.language for pair in found} == {"en", "fr"}
    assert len(found) == 80
    assert labels.count(Label.CONTRADICTION) == 39
    assert labels.count(Label.COMPATIBLE) == 40
