"""Invented names: one stock of roots that serve as surnames, towns, clubs, companies, rivers and
products at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


def _words(text: str) -> list[str]:
    return text.split()


MEN = _words("""
Peter Anton Viktor Samuel Oskar Emil Daniel Marco Tomas Jonas Henry Felix Pavel Luis Ivan Karl Martin Hugo Simon Adam
Robert Stefan Leo Carlos Bruno Jan Erik David Mikhail Omar Yusuf Kenji Paul Andre Milan George Frank Scott Grant Chase""")
WOMEN = _words("""
Anna Maria Helen Clara Irene Sofia Nadia Julia Vera Ingrid Laura Petra Monica Elena Ruth Alice Marta Dora Yuki Leila
Carmen Hanna Eva Nina Olga Teresa Rosa Amira Judith Paula Grace Hope Victoria Georgia Florence Charlotte""")
MORE_MEN = _words("""
Anders Boris Cyril Dmitri Edgar Fabio Gustav Harold Igor Jorge Klaus Lars Nils Otto Pedro Ralph Sven Tariq Walter
Zoltan Rashid Hamid Ernest Lloyd Dean Clay""")
MORE_WOMEN = _words("""
Agnes Beatriz Celia Dagmar Edith Frida Greta Hilda Ilse Joan Katya Lucia Mona Norma Rita Sonia Tanya Ursula
Wanda Zora Fatima Noor June April Summer Sydney""")
PLAIN = _words("""
Stone Marsh Winter King Bishop Frost Banks Field Wells Price March Young Long Rivers Hill Bush Major Best Cross Street
Ford Wood Brook Miller Cook Baker Carter Sharp Noble Strong Church Castle Temple Forest Park Lake North West Summers Waters Bell
Power Rice Law Judge Chance Case Page Wise Moody Early Day Love Little Swift Sterling Crown Dean Savage Power Post Rich Gold""")
_ONSET = _words("b br d dr f g gr h k kl l m n p pr r s st t tr v w z sk sh ch c bl fr j")
_VOWEL = _words("a e i o u a e o ai ei au")
_CODA = _words("l n r s nd rt lk rn st ll m ck rd lt nn sk")
_ENDING = _words("""ton burg vik ford ham stad field berg dale mont ville grad ov er en son man ski ini ez ic ano elli ard ley by
mouth port ra na os in ak ora ent is""")
_LAND = (
    ("ia", "ian"),
    ("ia", "ian"),
    ("land", "ish"),
    ("a", "an"),
    ("istan", "i"),
    ("o", "ese"),
    ("any", "an"),
)
ROLES = ("surname", "town", "company", "water", "product")


@dataclass
class Stock:
    """Names that documents draw from.

    Attributes
    ----------
    roots : dict of str to list of str
        The roots that may be used in each role; most roots have several.
    men, women : list of str
        Given names.
    countries : list of (str, str)
        A country and its adjective.
    acronyms : list of str
        Initials of organisations.
    known : dict of str to list
        Names that documents have taken: in full, short, gender.
    """

    roots: dict[str, list[str]] = field(default_factory=dict)
    men: list[str] = field(default_factory=list)
    women: list[str] = field(default_factory=list)
    countries: list[tuple[str, str]] = field(default_factory=list)
    acronyms: list[str] = field(default_factory=list)
    known: dict[str, list[tuple[list[str], list[str], str]]] = field(default_factory=dict)


def _root(rng: Random) -> str:
    start = rng.choice(_ONSET) + rng.choice(_VOWEL) + rng.choice(_CODA)
    if rng.random() < 0.22:
        return start.capitalize()
    return (start + rng.choice(_ENDING)).capitalize()


def _country(rng: Random) -> tuple[str, str]:
    stem = (
        rng.choice(_ONSET)
        + rng.choice("aeiou")
        + rng.choice("lrnvdk")
        + rng.choice(["", "ov", "en", "and", "or"])
    )
    stem = stem.capitalize()
    ending, adjective = rng.choice(_LAND)
    return stem + ending, stem + adjective


def make_stocks(rng: Random, common: int = 90, fresh: int = 160) -> tuple[Stock, Stock]:
    """Return two stocks without a common root: names of all splits, and names of the dev and test
    splits only.

    Parameters
    ----------
    rng : random.Random
        Source of every choice.
    common, fresh : int
        Number of roots in each stock.
    """
    taken: set[str] = set(MEN + WOMEN + MORE_MEN + MORE_WOMEN)
    plain = [word for word in dict.fromkeys(PLAIN) if word not in taken]
    rng.shuffle(plain)
    half = len(plain) * 2 // 3
    stocks = []
    for size, words, men, women, lands in (
        (common, plain[:half], MEN, WOMEN, 34),
        (fresh, plain[half:], MORE_MEN, MORE_WOMEN, 22),
    ):
        stock = Stock({role: [] for role in ROLES}, list(men), list(women))
        for i in range(size + len(words)):
            root = words[i - size] if i >= size else _root(rng)
            if root in taken and i < size:
                continue
            taken.add(root)
            roles = rng.sample(ROLES, rng.choice([1, 2, 2, 3, 3, 4]))
            if "surname" not in roles and rng.random() < 0.5:
                roles[0] = "surname"
            for role in roles:
                stock.roots[role].append(root)
        while len(stock.countries) < lands:
            country = _country(rng)
            if country[0] not in taken:
                taken.add(country[0])
                stock.countries.append(country)
        while len(stock.acronyms) < lands:
            letters = "".join(
                rng.choice("ABCDEFGIKLMNOPRSTUVWZ") for _ in range(rng.choice([2, 3, 3, 3, 4]))
            )
            if letters not in taken:
                taken.add(letters)
                stock.acronyms.append(letters)
        stocks.append(stock)
    return stocks[0], stocks[1]
