"""The probabilities of links as a table of text: a line for each mention with each antecedent that
is not out of the question.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structopt.formats.coreference.documents import Documents
from structopt.kernels.waist.record import Array

LEAST = 0.001
"""Links with less probability are left out."""
COLUMNS = ("document", "mention", "text", "antecedent", "antecedent_text", "probability")


def link_table(corpus: Documents, probabilities: Sequence[Array]) -> str:
    """Return the table, its columns separated by tabs.

    Parameters
    ----------
    corpus : Documents
    probabilities : float64, shape (mentions, mentions + 1), one array a document
        Of each mention that it starts an entity (column 0, written as antecedent 0), and of its
        antecedents.
    """
    lines, words = ["\t".join(COLUMNS)], corpus.cells["form"]
    for i, table in enumerate(probabilities):
        spans = corpus.mentions[corpus.offsets[i] : corpus.offsets[i + 1]].tolist()
        texts = ["(new)", *(" ".join(words[first:end]) for first, end in spans)]
        for mention, antecedent in zip(
            *(places.tolist() for places in np.nonzero(table >= LEAST)), strict=True
        ):
            cells = (
                corpus.names[i],
                mention + 1,
                texts[mention + 1],
                antecedent,
                texts[antecedent],
            )
            lines.append("\t".join([*map(str, cells), f"{table[mention, antecedent]:.3f}"]))
    return "\n".join(lines) + "\n"
