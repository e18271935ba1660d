"""Write the corpus: ``python -m tools.corpus.generate [--seed 2010] [--folder DIR]``; the same seed gives the same bytes."""
from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tools.corpus import views
from tools.corpus.cast import Cast
from tools.corpus.grammar import Grammar
from tools.corpus.lexicon import WORDS
from tools.corpus.names import Stock, make_stocks
from tools.corpus.rules import COMMON
from tools.corpus.themes import THEMES
from tools.corpus.tree import Node, drop_commas, phrase, token

SIZES = {"train": 1500, "dev": 300, "test": 300}
FRESH = {"train": 0.0, "dev": 0.27, "test": 0.29}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Document:
    """A document: its name, its theme and the derivation trees of its sentences."""

    name: str
    theme: str
    trees: list[Node]


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
        return phrase("FRAG", [token("By", "IN", "case"), cast("person-full"), token(",", ","), employer], 1)
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


def make_documents(part: str, sentences: int, rng: Random, stocks: tuple[Stock, Stock], fresh_rate: float) -> list[Document]:
    """The documents of one part.

    Parameters
    ----------
    part : str
        Its name, which starts the documents' names.
    sentences : int
        Total number of sentences.
    rng : random.Random
        Source of every choice.
    stocks : (Stock, Stock)
        Common names and names held back.
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
        cast = Cast(rng, *stocks, fresh_rate, formal=theme not in ("sport", "weather") and rng.random() < 0.5)
        trees = [_sentence(grammars[theme], cast, "S_head", rng)]
        cast.start_sentence()
        trees.append(_finish(_dateline(cast, rng, byline=rng.random() < 0.15)))
        lines = rng.choice([0, 0, 0, 1, 3]) if theme != "sport" else rng.choice([0, 1, 2, 4])
        while len(trees) < size:
            symbol = "FRAG_line" if len(trees) >= size - lines and len(trees) > 3 else "S_top"
            trees.append(_sentence(grammars[theme], cast, symbol, rng))
        documents.append(Document(f"{part}{len(documents):03d}", theme, trees[:size]))
        sentences -= size
    return documents


def conll_lines(documents: Sequence[Document]) -> list[str]:
    """Columns word, tag, chunk, entity."""
    lines = []
    for document in documents:
        lines += ["-DOCSTART- -X- O O", ""]
        for tree in document.trees:
            for leaf, chunk, entity in zip(tree.leaves(), views.chunk_tags(tree), views.entity_tags(tree), strict=True):
                lines.append(f"{leaf.word} {leaf.label} {chunk} {entity}")
            lines.append("")
    return lines


def conllu_lines(documents: Sequence[Document]) -> list[str]:
    """CoNLL-U."""
    lines = []
    for document in documents:
        for number, tree in enumerate(document.trees, 1):
            lines += [f"# newdoc id = {document.name}"] if number == 1 else []
            lines += [f"# sent_id = {document.name}-{number}", "# text = " + " ".join(views.words(tree))]
            rows = zip(tree.leaves(), views.universal_tags(tree), views.dependencies(tree), strict=True)
            for i, (leaf, tag, (head, relation)) in enumerate(rows, 1):
                lines.append("\t".join([str(i), leaf.word, "_", tag, leaf.label, "_", str(head), relation, "_", "_"]))
            lines.append("")
    return lines


def ptb_lines(documents: Sequence[Document]) -> list[str]:
    """One bracketed tree a line."""
    return [views.brackets(tree) for document in documents for tree in document.trees]


def coref_lines(documents: Sequence[Document]) -> list[str]:
    """Document, part, token number, word, tag, coreference."""
    lines = []
    for document in documents:
        lines.append(f"#begin document ({document.name}); part 000")
        for tree, column in zip(document.trees, views.coreference(document.trees), strict=True):
            for i, (leaf, cell) in enumerate(zip(tree.leaves(), column, strict=True)):
                lines.append(f"{document.name} 0 {i} {leaf.word} {leaf.label} {cell}")
            lines.append("")
        lines.append("#end document")
    return lines


def crfsuite_lines(documents: Sequence[Document]) -> list[str]:
    r"""Entity tag and a few attributes of every token, tab-separated; ``\\:`` stands for a colon, ``\\\\`` for a backslash."""
    lines = []
    for document in documents:
        for tree in document.trees:
            leaves = list(tree.leaves())
            for i, entity in enumerate(views.entity_tags(tree)):
                names = [name.replace("\\", "\\\\").replace(":", "\\:") for name in _attributes(leaves, i)]
                lines.append("\t".join([entity, *names]))
            lines.append("")
    return lines


def _attributes(leaves: Sequence[Node], i: int) -> list[str]:
    word, found = leaves[i].word, ["bias"]
    for distance in (-1, 0, 1):
        if 0 <= i + distance < len(leaves):
            leaf = leaves[i + distance]
            found += [f"w{distance}={leaf.word.lower()}", f"p{distance}={leaf.label}"]
    case = "upper" if word.isupper() else "title" if word[:1].isupper() else "lower"
    return [*found, f"case={case}", f"prefix={word[:3]}", f"suffix={word[-3:]}"]


def libsvm_lines(documents: Sequence[Document], numbers: dict[str, int]) -> list[str]:
    """Theme of every sentence, and its words as ``index:count``.

    Parameters
    ----------
    documents : sequence of Document
    numbers : dict of str to int
        The indices of the words met so far, from 1; new ones are added.
    """
    return [" ".join([document.theme, _counts(tree, numbers)]) for document in documents for tree in document.trees]


def multilabel_lines(documents: Sequence[Document], numbers: dict[str, int]) -> list[str]:
    """Theme of every sentence and the kinds of entities in it, by letters, and its words as in `libsvm_lines`."""
    lines = []
    for document in documents:
        for tree in document.trees:
            kinds = {tag[2:] for tag in views.entity_tags(tree) if tag != "O"}
            lines.append(" ".join([",".join([*sorted(kinds), document.theme]), _counts(tree, numbers)]))
    return lines


def _counts(tree: Node, numbers: dict[str, int]) -> str:
    counts = Counter(numbers.setdefault(word.lower(), len(numbers) + 1) for word in views.words(tree))
    return " ".join(f"{index}:{count}" for index, count in sorted(counts.items()))


def write(folder: Path, seed: int = 2010) -> None:
    """Write every part in every format.

    Parameters
    ----------
    folder : pathlib.Path
        Where to; it is made when missing.
    seed : int
        Same seed, same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = Random(seed)
    stocks = make_stocks(rng)
    numbers: dict[str, int] = {}
    for part, sentences in SIZES.items():
        documents = make_documents(part, sentences, rng, stocks, FRESH[part])
        for kind, lines in (("conll", conll_lines(documents)), ("conllu", conllu_lines(documents)),
                            ("ptb", ptb_lines(documents)), ("coref", coref_lines(documents)),
                            ("crfsuite", crfsuite_lines(documents)), ("libsvm", libsvm_lines(documents, numbers)),
                            ("multilabel", multilabel_lines(documents, numbers))):
            (folder / f"{part}.{kind}").write_bytes(("\n".join(lines) + "\n").encode())


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2010, help="seed of every random choice")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent, help="where the files go")
    options = parser.parse_args(arguments)
    write(options.folder, options.seed)


if __name__ == "__main__":
    main()
