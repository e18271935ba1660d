"""Generate the corpus: ``python -m tools.corpus.generate [--seed 2010] [--folder DIR]``; the same
seed gives the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from random import Random

from structopt import datasets
from tools.corpus.cast import Cast
from tools.corpus.formats import (
    Document,
    conll_lines,
    conllu_lines,
    coref_lines,
    crfsuite_lines,
    libsvm_lines,
    multilabel_lines,
    ptb_lines,
)
from tools.corpus.grammar import Grammar
from tools.corpus.lexicon import WORDS
from tools.corpus.names import Stock, make_stocks
from tools.corpus.opinions import summary_lines
from tools.corpus.rules import COMMON
from tools.corpus.themes import THEMES
from tools.corpus.tree import Node, drop_commas, phrase, token

SIZES = {"train": 1500, "dev": 300, "test": 300}
FRESH = {"train": 0.0, "dev": 0.27, "test": 0.29}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")


def _finish(tree: Node, upper: bool = False) -> Node:
    drop_commas(tree)
    leaves = list(tree.leaves())
    for leaf, after in zip(leaves, leaves[1:], strict=False):
        if leaf.word == "a" and (after.word[0] in "aeioAEIO" or after.word.startswith("unu")):
            leaf.word = "an"
    first = next((leaf for leaf in leaves if leaf.word[0].isalnum()), leaves[0])
    first.word = first.word[0].upper() + first.word[1:]
    if upper:
        for leaf in leaves:
            leaf.word = leaf.word.upper()
    return tree


def _dateline(cast: Cast, rng: Random, byline: bool) -> Node:
    place = cast("town")
    if byline:
        employer = cast(rng.choice(["agency", "company"]))
        employer.relation = "dep"
        return phrase(
            "FRAG", [token("By", "IN", "case"), cast("person-full"), token(",", ","), employer], 1
        )
    month = rng.choice(_MONTHS)
    date = phrase("NP", [token(month, "NNP"), token(str(rng.randint(1, 28)), "CD")])
    date.relation = "dep"
    upper = rng.random() < 0.8
    for leaf in place.leaves():
        leaf.word = leaf.word.upper() if upper else leaf.word
    return phrase("FRAG", [phrase("NP", [place]), token(",", ","), date], 0)


def _sentence(grammar: Grammar, cast: Cast, symbol: str, rng: Random) -> Node:
    cast.start_sentence(headline=symbol == "S_head")
    tree = grammar.expand(symbol, rng, cast)
    return _finish(tree, upper=symbol == "S_head")


def make_documents(
    split: str, sentences: int, rng: Random, stocks: tuple[Stock, Stock], fresh_rate: float
) -> list[Document]:
    """Return the documents of one split.

    Parameters
    ----------
    split : str
        Its name, with which the documents' names begin.
    sentences : int
        Total number of sentences.
    rng : random.Random
        Source of every choice.
    stocks : (Stock, Stock)
        Names of all splits, and names of the dev and test splits only.
    fresh_rate : float
        Share of referents named from the second stock.
    """
    grammars = {theme: Grammar(COMMON + WORDS + text) for theme, text in THEMES.items()}
    themes = [theme for theme in grammars for _ in range(3 if theme == "sport" else 2)]
    documents: list[Document] = []
    while sentences:
        theme = rng.choice(themes)
        size = min(sentences, rng.randint(8, 12))
        size = sentences if sentences - size < 4 else size
        cast = Cast(
            rng,
            *stocks,
            fresh_rate,
            formal=theme not in ("sport", "weather") and rng.random() < 0.5,
        )
        trees = [_sentence(grammars[theme], cast, "S_head", rng)]
        cast.start_sentence()
        trees.append(_finish(_dateline(cast, rng, byline=rng.random() < 0.15)))
        lines = rng.choice([0, 0, 0, 1, 3]) if theme != "sport" else rng.choice([0, 1, 2, 4])
        while len(trees) < size:
            symbol = "FRAG_line" if len(trees) >= size - lines and len(trees) > 3 else "S_top"
            trees.append(_sentence(grammars[theme], cast, symbol, rng))
        documents.append(Document(f"{split}{len(documents):03d}", theme, trees[:size]))
        sentences -= size
    return documents


def write(folder: Path, seed: int = 2010) -> None:
    """Write every split in every format.

    Parameters
    ----------
    folder : pathlib.Path
        Where the files are written; it is made if it is missing.
    seed : int
        Same seed, same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = Random(seed)
    stocks = make_stocks(rng)
    numbers: dict[str, int] = {}
    for split, sentences in SIZES.items():
        documents = make_documents(split, sentences, rng, stocks, FRESH[split])
        for kind, lines in (
            ("conll", conll_lines(documents)),
            ("conllu", conllu_lines(documents)),
            ("ptb", ptb_lines(documents)),
            ("coref", coref_lines(documents)),
            ("crfsuite", crfsuite_lines(documents)),
            ("libsvm", libsvm_lines(documents, numbers)),
            ("multilabel", multilabel_lines(documents, numbers)),
            ("jsonl", summary_lines(split, seed)),
        ):
            (folder / f"{split}.{kind}").write_bytes(("\n".join(lines) + "\n").encode())


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and write the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2010, help="seed of every random choice")
    parser.add_argument(
        "--folder", type=Path, default=Path(datasets.__file__).parent, help="where the files go"
    )
    options = parser.parse_args(arguments)
    write(options.folder, options.seed)


if __name__ == "__main__":
    main()
