"""CoNLL-X, the format of the shared tasks of 2006 and 2007: ten columns separated by tabs.

The coarse tag is the column ``upos``, the fine one ``xpos``. Lines that begin with ``#`` are kept
as comments.
"""

from __future__ import annotations

from structopt.formats.trees.tree_rows import Layout

LAYOUT = Layout(
    title="CoNLL-X",
    names=(
        "ID",
        "FORM",
        "LEMMA",
        "CPOSTAG",
        "POSTAG",
        "FEATS",
        "HEAD",
        "DEPREL",
        "PHEAD",
        "PDEPREL",
    ),
    numbers={"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "feats": 5, "head": 6, "deprel": 7},
)
