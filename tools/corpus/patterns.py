"""How names of each kind are made: ``R`` is a root, ``S`` a surname, ``C`` a country, ``N`` a
number, ``_`` a space.
"""

from __future__ import annotations

PATTERNS = {
    kind: text.split()
    for kind, text in {
        "town": "R R R R R R New_R Port_R San_R R_Falls",
        "club": "R R R R R_United R_City Real_R Dynamo_R R_Rovers R_Rangers",
        "ground": "R R_Park R_Road R_Stadium Old_R",
        "water": "R R R_River Lake_R R_Bay Mount_R",
        "river": "R R R R_River",
        "region": "North_C West_R R_Valley R_Province East_R R_Hills",
        "company": """R R R_Corp R_Inc R_Group R_Steel R_Airlines R_&_S R_S R_Bank Bank_of_R R_Motors S_Oil""",
        "body": """University_of_R R_University
            Ministry_of_Finance Foreign_Ministry Liberal_Party C_Football_Federation Senate R_Council
            R_City_Council Supreme_Court Labour_Union National_Front R_High_Court Parliament R_Times R_Institute Central_Bank
            People_'s_Alliance""",
        "event": "R_Cup R_Open R_Marathon R_Grand_Prix R_Festival R_Prize Tour_of_R R_Games R_Trophy "
        "R_Classic",
        "product": "R R R_N R_Star R_Spirit",
        "work": """The_Road_to_R The_Bridge_to_R Letters_to_R R R_Nights A_Summer_in_R The_Clockmaker Cold_Harvest The_Salt_Gate
            The_Last_Night""",
        "measure": "R_Act R_Accord R_Treaty Water_Act R_Plan R_Protocol",
    }.items()
}
NUMBERS = ("2", "7", "40", "100", "300", "500")

ENTITY = {
    "person": "PER",
    "town": "LOC",
    "country": "LOC",
    "water": "LOC",
    "river": "LOC",
    "region": "LOC",
    "ground": "LOC",
    "company": "ORG",
    "club": "ORG",
    "body": "ORG",
    "agency": "ORG",
    "national": "MISC",
    "language": "MISC",
    "nationals": "MISC",
    "event": "MISC",
    "product": "MISC",
    "work": "MISC",
    "measure": "MISC",
}
# the role of the roots of a kind, where that is not town
ROLE = {
    "water": "water",
    "river": "water",
    "company": "company",
    "product": "product",
    "measure": "surname",
}
# how many of a kind a document has at most
CAST_SIZE = {"person": 4, "town": 3, "country": 3, "club": 3, "agency": 1, "language": 1}
# kinds and first words whose names are never shortened to the root
WHOLE_KINDS = frozenset({"region", "event", "work", "measure", "body", "ground"})
WHOLE_STARTS = frozenset({"New", "Port", "San", "Real", "Bank", "Lake", "Mount"})

GENERIC = {
    "company": ["company", "group", "firm", "maker"],
    "club": ["club", "side", "team"],
    "body": ["body", "institution"],
    "agency": ["agency"],
    "country": ["country", "nation"],
    "town": ["town", "city"],
}
INNER_TAGS = {"of": "IN", "&": "CC", "in": "IN", "to": "TO", "'s": "POS"}
PLURALS = frozenset(
    {"Airlines", "Motors", "Games", "Rovers", "Rangers", "Nights", "Letters", "Falls", "Hills"}
)
RELATIONS = {"CC": "cc", "POS": "case", "CD": "nummod", "IN": "case", "TO": "case", "DT": "det"}
