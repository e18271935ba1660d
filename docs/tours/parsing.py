"""A tour of parsing: dependency trees, projective or not, and constituents by a grammar. Run:
python docs/tours/parsing.py.
"""

import json
import tempfile
from pathlib import Path

import structopt

QUICK = ["task.limit=400", "optimizer.epochs=3", "tracker=none", "quiet=true"]
folder = Path(tempfile.mkdtemp())


def dev_scores(run):
    """What a run has reached on the dev data."""
    return json.loads((folder / run / "metrics.json").read_text())["dev"]


# Trees whose arcs may cross, or may not; the same features, and the exact algorithm that each kind
# of tree has.
ARCS = ["task=dependency", *QUICK, "factor_graph.labeled=true", "features.hash_bits=18"]
print("Labelled attachment on the dev data")
for name, projective in (("arcs may cross", "false"), ("no arcs cross", "true")):
    parser = structopt.train([*ARCS, f"factor_graph.projective={projective}"], folder / name)
    print(f"  {name:<15} {100 * dev_scores(name)['las']:.1f}")

# Heads are counted from 1; 0 is the root.
sentence = {
    "lemma": ["the", "old", "man", "sleep", "in", "the", "garden", "."],
    "feats": ["_"] * 8,
    "form": ["The", "old", "man", "slept", "in", "the", "garden", "."],
    "upos": ["DET", "ADJ", "NOUN", "VERB", "ADP", "DET", "NOUN", "PUNCT"],
    "xpos": ["DT", "JJ", "NN", "VBD", "IN", "DT", "NN", "."],
}
(arcs,) = parser.predict([sentence])
(table,) = parser.marginals([sentence])
print("\nHeads, relations, and the probability of the head")
for m, (word, (head, relation)) in enumerate(zip(sentence["form"], arcs, strict=True)):
    print(f"  {m + 1} {word:<7} {head} {relation:<6} {table[m][head]:.2f}")

# An arc that is known changes what is best for the others.
given = [None] * 8
given[6] = 3
(arcs,) = parser.predict([sentence], given=[given])
print("\nWith 'garden' below 'man':", " ".join(f"{head}" for head, _ in arcs))

# A grammar that is read off the trees of the treebank, with weights that are learnt.
trees = structopt.train(["task=constituency", *QUICK], folder / "grammar")
f1 = dev_scores("grammar")[trees.task.main_metric]
print(f"\nBrackets on the dev data: F1 {100 * f1:.1f}")
pairs = [("the", "DT"), ("man", "NN"), ("slept", "VBD")]
for score, tree, probability in trees.predict_k_best([pairs], 2)[0]:
    print(f"  {score:6.2f}  {probability:.2f}  {tree}")
