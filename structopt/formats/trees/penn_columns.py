"""Dependencies of the Penn Treebank in three columns: word, part of speech, head; no relations, no
comments.

The tag is both ``upos`` and ``xpos``. Columns are separated by a tab, or in all lines of a file by
a single space.
"""

from __future__ import annotations

from structopt.formats.trees.tree_rows import Layout

LAYOUT = Layout(
    title="Penn's format",
    names=("word", "POS", "head"),
    numbers={"form": 0, "upos": 1, "xpos": 1, "head": 2},
    numbered=False,
    comments=False,
    spaces=True,
)
