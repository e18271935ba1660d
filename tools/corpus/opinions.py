"""Texts to summarize: what many customers write about one thing, and what a reader would write of
it in a few words.

What many of them say is in the reference summaries; what one of them says beside it is not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

DOCUMENTS = {"train": 40, "dev": 15, "test": 15}
THINGS = {
    "hotel": {
        "rooms": [
            "small but spotlessly clean",
            "large and quiet at night",
            "dark and badly in need of paint",
        ],
        "staff": [
            "friendly and always ready to help",
            "slow to answer the phone",
            "polite even late at night",
        ],
        "breakfast": [
            "plentiful with fresh fruit",
            "too expensive for what it offers",
            "cold by nine in the morning",
        ],
        "location": [
            "a short walk from the old town",
            "far from the nearest station",
            "right beside the harbour",
        ],
        "beds": ["hard as a wooden bench", "wide and very comfortable"],
        "lift": ["broken most of the week", "narrow and slow"],
    },
    "camera": {
        "battery": [
            "empty after a hundred pictures",
            "strong enough for two full days",
            "quick to charge from a car",
        ],
        "screen": [
            "bright even in full sun",
            "easy to scratch with a key",
            "sharp from every angle",
        ],
        "pictures": [
            "sharp with natural colours",
            "noisy after sunset",
            "ready to print without any work",
        ],
        "menu": ["confusing for the first few weeks", "simple enough for a child"],
        "zoom": ["smooth and almost silent", "too short for birds"],
        "manual": ["thin and full of errors", "clear with many drawings"],
    },
    "car": {
        "engine": [
            "powerful on steep hills",
            "loud above eighty miles an hour",
            "smooth in city traffic",
        ],
        "seats": [
            "comfortable on long trips",
            "too low for tall drivers",
            "covered in cheap plastic",
        ],
        "fuel consumption": ["lower than the maker says", "well above forty litres a week"],
        "brakes": ["sharp and easy to control", "worn out after one year"],
        "boot": ["large enough for three suitcases", "hard to open with full hands"],
        "radio": ["clear with deep bass", "difficult to tune while driving"],
    },
    "restaurant": {
        "soup": ["thick and full of flavour", "salty beyond repair"],
        "service": [
            "quick even on a busy evening",
            "rude to guests with children",
            "attentive without any fuss",
        ],
        "prices": ["fair for such large portions", "higher than anywhere else in town"],
        "fish": ["fresh from the morning market", "dry and cooked far too long"],
        "music": ["too loud to hold a conversation", "live on every Friday night"],
        "tables": ["so close that elbows touch", "set with care and fresh flowers"],
    },
}
OPENINGS = (
    "",
    "",
    "",
    "I must say that",
    "As others have written ,",
    "To be honest ,",
    "We found that",
    "My wife agreed that",
    "After two visits I can say that",
    "Everyone in our group said that",
    "Be warned that",
    "On the whole",
)
CLOSINGS = (
    "",
    "",
    "",
    "",
    "which surprised us",
    "as we had hoped",
    "at least when we were there",
    "and nobody seemed to care",
    "so think twice",
    "and that is what counts",
)
ASIDES = (
    "We came by train on a rainy Tuesday .",
    "My brother had told me about it last spring .",
    "I paid by card and left at noon .",
    "It was our second holiday this year .",
    "The weather was better than the forecast .",
    "I read many reviews before I chose .",
    "Our neighbours lent us their guide book .",
    "I have owned three others before this .",
    "Next time we shall bring a friend .",
    "There is a larger one in the next town .",
)


def summary_lines(split: str, seed: int) -> list[str]:
    """Return the documents of a split as JSON lines: name, sentences, references."""
    rng = Random(f"{seed} {split}")
    return [
        json.dumps(_document(f"{split}{number:02d}", rng)) for number in range(DOCUMENTS[split])
    ]


def _document(name: str, rng: Random) -> dict[str, object]:
    thing = rng.choice(list(THINGS))
    aspects = rng.sample(list(THINGS[thing]), rng.randint(4, 6))
    opinions = [(aspect, rng.choice(THINGS[thing][aspect])) for aspect in aspects]
    common, rare = opinions[:3], opinions[3:]
    said = (
        [common[0]] * rng.randint(5, 8)
        + [common[1]] * rng.randint(4, 6)
        + [common[2]] * rng.randint(3, 5)
        + rare
    )
    sentences = [_said(*one, rng) for one in said] + rng.sample(ASIDES, rng.randint(2, 5))
    for _ in range(rng.randint(1, 3)):  # long sentences that say two things, of which one matters
        sentences.append(
            f"{_said(*rng.choice(common), rng)[:-2]} , but {_clause(*rng.choice(rare), rng)} ."
        )
    rng.shuffle(sentences)
    references = [
        [_plain(*one, rng) for one in rng.sample(common, 3 if rng.random() < 0.7 else 2)]
        for _ in range(3)
    ]
    return {"name": f"{name}_{thing}", "sentences": sentences, "references": references}


def _clause(aspect: str, opinion: str, rng: Random) -> str:
    plural = aspect.endswith("s") and aspect != "fuel consumption"
    verb = rng.choice(("are", "were") if plural else ("is", "was"))
    return f"the {aspect} {verb} {opinion}"


def _said(aspect: str, opinion: str, rng: Random) -> str:
    parts = (rng.choice(OPENINGS), _clause(aspect, opinion, rng), rng.choice(CLOSINGS))
    return _sentence([part for part in parts if part])


def _plain(aspect: str, opinion: str, rng: Random) -> str:
    return _sentence([_clause(aspect, opinion, rng)])


def _sentence(parts: Sequence[str]) -> str:
    text = " ".join(parts)
    return f"{text[0].upper()}{text[1:]} ."
