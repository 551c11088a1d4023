"""The words that are set against each other, or mean the same: what makes two statements rivals.

They are words of the language, not of any world: a name or a noun of a story never stands here.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _groups(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split()) for line in text.strip().splitlines())


SYNONYMS: Final = _groups(
    """
    love adore cherish
    hate loathe detest despise
    kill slay murder
    begin start commence
    end finish cease
    big large huge great
    own possess
    ill sick
    wed marry
    buy purchase
    help aid assist
    talk speak
    reside dwell live
    destroy ruin wreck
    fear dread
    get receive obtain
    scared afraid frightened
    """
)

KINDS: Final = {
    "child": "son daughter",
    "sibling": "brother sister",
    "parent": "mother father",
    "spouse": "husband wife",
    "alcohol": "wine ale beer mead brandy whisky gin rum cider",
    "meat": "steak ham beef pork sausage bacon venison mutton chicken lamb",
    "fish": "trout salmon herring cod carp pike eel tuna",
    "fruit": "apple pear plum cherry grape orange berry fig peach",
    "weapon": "sword axe dagger knife spear bow lance mace club blade gun",
    "blade": "sword dagger knife",
    "animal": "dog cat horse cow sheep goat pig wolf bear",
    "pet": "dog cat",
    "money": "coin gold silver penny",
    "instrument": "lute harp flute fiddle drum violin piano guitar",
    "ship": "galley sloop brig barge",
    "boat": "canoe dinghy ferry",
    "coffee": "espresso latte cappuccino",
    "sweet": "cake chocolate honey sugar",
    "jewel": "ruby emerald diamond pearl sapphire",
    "metal": "iron gold silver copper bronze steel",
}
"""What a word covers: who has no child has no son."""

OPPOSED_GROUPS: Final = (
    (_words("avoid shun flee"), _words("visit seek meet join")),
    (_words("tired weary exhausted"), _words("rested fresh lively")),
    (
        _words("like love adore admire respect esteem cherish worship enjoy fancy prefer"),
        _words("hate loathe detest despise dislike scorn abhor resent envy mind"),
    ),
    (_words("trust believe"), _words("distrust mistrust suspect doubt")),
    (
        _words("rich wealthy prosperous affluent well-off opulent"),
        _words("poor penniless destitute broke bankrupt needy beggar pauper"),
    ),
    (
        _words("brave courageous fearless valiant bold daring heroic hero intrepid"),
        _words("coward cowardly timid fearful craven faint-hearted"),
    ),
    (
        _words("happy glad cheerful merry joyful content jolly delighted"),
        _words("sad unhappy miserable gloomy sorrowful melancholy dejected depressed"),
    ),
    (
        _words("clever smart intelligent wise bright brilliant shrewd genius"),
        _words("stupid foolish dumb dull dim fool idiot simpleton silly"),
    ),
    (
        _words("beautiful pretty handsome lovely fair gorgeous attractive"),
        _words("ugly hideous plain unsightly repulsive"),
    ),
    (
        _words("good kind gentle merciful benevolent friendly kindly mild tender compassionate"),
        _words("bad evil cruel wicked merciless harsh brutal malicious ruthless nasty heartless"),
    ),
    (
        _words("honest truthful sincere trustworthy upright honourable"),
        _words("dishonest liar deceitful lying insincere crook cheat swindler thief"),
    ),
    (
        _words("loyal faithful devoted true steadfast"),
        _words("disloyal unfaithful treacherous traitor faithless false turncoat"),
    ),
    (
        _words("healthy well fit hale sound"),
        _words("ill sick ailing unwell feverish diseased sickly dying"),
    ),
    (
        _words("big large huge great enormous vast giant gigantic"),
        _words("small little tiny minute dwarfish"),
    ),
    (_words("strong mighty powerful sturdy"), _words("weak feeble frail powerless")),
    (_words("hot warm boiling scalding"), _words("cold cool freezing icy chilly frozen")),
    (_words("safe secure harmless"), _words("dangerous perilous unsafe risky deadly")),
    (_words("quiet silent peaceful still calm"), _words("loud noisy stormy rowdy turbulent")),
    (_words("generous lavish open-handed"), _words("stingy miserly mean greedy miser niggardly")),
    (_words("fast quick swift rapid"), _words("slow sluggish")),
    (_words("thin lean slim slender skinny gaunt"), _words("fat stout plump obese corpulent")),
    (_words("humble modest"), _words("proud arrogant vain haughty conceited")),
    (_words("hardworking diligent industrious"), _words("lazy idle slothful")),
    (
        _words("calm composed serene patient"),
        _words("angry furious nervous impatient anxious upset"),
    ),
    (_words("friend ally supporter companion"), _words("enemy foe rival adversary opponent")),
    (_words("guilty"), _words("innocent guiltless blameless")),
    (_words("married wed"), _words("single unmarried bachelor spinster celibate")),
    (_words("old aged elderly ancient"), _words("young youthful new")),
    (_words("clean spotless pure"), _words("dirty filthy foul polluted muddy soiled")),
    (_words("wet damp soaked moist"), _words("dry parched arid")),
    (_words("full crowded packed busy"), _words("empty deserted vacant")),
    (_words("blunt dull"), _words("sharp keen")),
    (_words("famous renowned celebrated well-known"), _words("unknown obscure forgotten")),
    (_words("cheap inexpensive"), _words("expensive costly dear pricey")),
    (_words("easy simple"), _words("difficult hard tricky")),
    (_words("support favour back help aid endorse"), _words("oppose resist hinder fight thwart")),
    (_words("accept agree approve"), _words("refuse reject decline disapprove deny")),
    (_words("praise commend"), _words("blame criticise condemn")),
    (_words("protect guard shield defend"), _words("attack threaten harm endanger")),
    (_words("sober"), _words("drunk tipsy intoxicated drunkard")),
    (_words("fertile lush fruitful green"), _words("barren desolate infertile dead")),
    (_words("wide broad"), _words("narrow")),
    (_words("tall high"), _words("short low")),
    (_words("awake"), _words("asleep sleep")),
    (_words("polite courteous civil"), _words("rude impolite insolent")),
    (_words("talkative chatty garrulous"), _words("taciturn silent reticent mute")),
    (_words("sane"), _words("mad insane crazy lunatic madman")),
    (_words("afraid scared frightened fear dread"), _words("fearless forward unafraid")),
    (_words("sunny clear bright light"), _words("dark cloudy gloomy overcast dim")),
    (_words("holy sacred blessed"), _words("unholy cursed profane accursed")),
    (_words("peaceful"), _words("warlike aggressive violent belligerent")),
    (_words("free"), _words("captive imprisoned enslaved slave prisoner bound")),
    (_words("careful cautious prudent"), _words("careless reckless rash")),
    (_words("secret hidden"), _words("public open known")),
    (_words("genuine real authentic"), _words("fake forged counterfeit false")),
    (_words("intact whole undamaged"), _words("broken shattered damaged ruined cracked")),
    (_words("tame"), _words("wild feral savage")),
    (_words("ripe"), _words("unripe")),
    (_words("lucky fortunate"), _words("unlucky unfortunate")),
    (_words("popular beloved"), _words("unpopular hated")),
)
"""Words of which each of the one side is against each of the other."""

OPPOSITES: Final = tuple(
    tuple(pair.split())
    for pair in """
rich poor, wealthy penniless, wealthy poor, rich penniless, brave coward, brave cowardly,
courageous cowardly, brave timid, love hate, love despise, like dislike, safe dangerous,
safe unsafe, hot cold, warm cold, warm cool, big small, large small, huge tiny, large tiny,
tall short, long short, high low, wide narrow, broad narrow, thick thin, fat thin,
fat lean, fat slim, heavy light, deep shallow, strong weak, hard soft, rough smooth,
sharp blunt, sharp dull, fast slow, quick slow, swift slow, early late, young old, new old,
ancient new, fresh stale, fresh rotten, clean dirty, clean filthy, pure impure, wet dry,
full empty, bright dark, bright dim, light dark, loud quiet, noisy quiet, noisy silent,
calm stormy, calm angry, happy sad, happy miserable, happy unhappy, cheerful gloomy,
glad sorry, good bad, good evil, kind cruel, kind unkind, gentle cruel, gentle harsh,
mild severe, generous stingy, generous greedy, generous miserly, honest dishonest,
honest liar, loyal disloyal, loyal treacherous, loyal traitor, faithful unfaithful,
faithful faithless, clever stupid, wise foolish, wise fool, clever foolish, smart stupid,
intelligent stupid, sane mad, sober drunk, awake asleep, sick well, ill well, sick healthy,
ill healthy, beautiful ugly, pretty ugly, handsome ugly, lovely hideous, guilty innocent,
married single, married unmarried, married bachelor, free captive, free imprisoned,
free enslaved, public secret, known unknown, famous unknown, famous obscure, true false,
right wrong, real fake, genuine forged, cheap expensive, cheap costly, cheap dear,
easy difficult, easy hard, simple complicated, simple complex, friend enemy, friend foe,
ally enemy, friendly hostile, friendly unfriendly, win lose, victory defeat,
support oppose, help hinder, trust distrust, trust mistrust, accept refuse, accept reject,
allow forbid, permit forbid, praise blame, arrive depart, come leave, stay leave,
rise fall, begin end, build destroy, live die, survive die, survive perish, win fail,
succeed fail, pass fail, remember forget, sit stand, attack defend, create destroy,
north south, northern southern, east west, eastern western, left right, above below,
inside outside, before after, near far, upstairs downstairs, male female, man woman,
summer winter, day night, best worst, first last, more less, most fewest,
majority minority, always never, often rarely, often seldom, lucky unlucky, fertile barren,
peaceful warlike, obedient disobedient, patient impatient, polite rude, modest arrogant,
modest proud, humble proud, humble arrogant, shy bold, lazy diligent, lazy hardworking,
idle busy, careful careless, visible invisible, possible impossible, legal illegal,
mortal immortal, armed unarmed, present absent, alive dead, sweet bitter, sweet sour,
raw cooked, holy unholy, blessed cursed, sacred profane, natural artificial,
permanent temporary, strict lenient, talkative taciturn, optimist pessimist,
popular unpopular, calm nervous, confident timid, ignorant learned, literate illiterate,
able unable, willing unwilling, crowded deserted, inhabited deserted,
inhabited uninhabited, sharp-eyed blind, broken whole, intact broken, increase decrease,
grow shrink, ascend descend
""".replace("\n", " ").split(",")
    if pair.strip()
)
"""Pairs that leave a middle or a point of view: said of the same, they are a question."""

RULED_OUT: Final = {
    "mute dumb speechless": "speak talk sing say shout whisper tell call cry chat shouted",
    "blind sightless": "see read watch paint aim look spot notice stare",
    "deaf": "hear listen overhear",
    "lame crippled paralysed legless bedridden": "walk run dance climb jump march leap stroll",
    "vegetarian vegan": "meat steak ham beef pork sausage bacon venison mutton chicken lamb",
    "teetotaller teetotal abstinent": "wine ale beer mead brandy whisky drunk gin rum cider",
    "illiterate": "read write wrote letter book",
    "orphan": "parent mother father",
    "bachelor unmarried celibate monk nun priest spinster": "wife husband spouse marry wed",
    "widow widower": "wife husband",
    "childless barren": "son daughter child grandson granddaughter",
    "only_child": "brother sister sibling twin",
    "penniless bankrupt beggar destitute": "pay buy donate lend purchase",
    "bald": "hair braid curl lock",
    "beardless": "beard",
    "toothless": "bite tooth chew",
    "asleep unconscious": "read talk walk run fight sing write cook",
    "pacifist": "fight kill battle sword duel",
    "hermit recluse": "party guest feast",
    "empty deserted abandoned uninhabited": "crowd inhabitant crowded resident guest live",
    "ruined destroyed demolished": "stand intact",
    "landlocked": "harbour port coast beach sea",
    "fireproof": "burn",
    "stranger": "friend",
    "retired": "work",
    "homeless": "house home",
    "one-armed": "juggle",
    "sober": "drunk",
    "unarmed": "sword dagger bow spear axe knife",
    "imprisoned captive prisoner": "roam travel ride sail dance market",
    "virgin": "child pregnant",
    "immortal deathless": "die dead death kill",
    "extinct": "see catch hunt live",
}
"""What a state leaves impossible, or odd enough to ask, of whoever is in it."""

ONE_OF: Final = _groups(
    """
    red blue green yellow black white grey brown purple orange pink golden silver violet blond hazel
    spring summer autumn winter
    monday tuesday wednesday thursday friday saturday sunday
    north south east west
    wood wooden iron stone gold silver copper bronze steel marble oak leather
    wheat barley rye
    christian muslim jewish
    morning noon afternoon evening midnight dawn dusk
    smith baker miller innkeeper tailor carpenter mason cobbler butcher
    """
)
"""Of the words of a line one is said of a thing; another beside it is a question."""
