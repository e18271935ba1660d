"""A tour of sequences: one model family, several losses, and what a model can be asked. Run: python
docs/tours/sequences.py.
"""

import json
import tempfile
from pathlib import Path

import structopt

# The corpus that is shipped with the package: sentences with named entities. Each loss is one
# setting; the rest stays the same.
QUICK = ["task=ner", "optimizer.epochs=5", "tracker=none", "quiet=true"]
folder = Path(tempfile.mkdtemp())
models = {
    loss: structopt.train([*QUICK, f"loss={loss}"], folder / loss)
    for loss in ("crf", "svm", "softmax_margin")
}
print("F1 on the dev data")
for loss in models:
    dev = json.loads((folder / loss / "metrics.json").read_text())["dev"]
    print(f"  {loss:<14} {100 * dev['f1']:.1f}")

# Prediction: words, with the further columns that the features look at.
crf = models["crf"]
sentence = {
    "word": ["John", "Smith", "lives", "in", "New", "York", "."],
    "pos": ["NNP", "NNP", "VBZ", "IN", "NNP", "NNP", "."],
    "chunk": ["B-NP", "I-NP", "B-VP", "B-PP", "B-NP", "I-NP", "O"],
}
(labels,) = crf.predict([sentence])
print("\nThe best labels")
print(
    " ", " ".join(f"{word}/{label}" for word, label in zip(sentence["word"], labels, strict=True))
)

# A distribution over outputs: probabilities of labels, and the best outputs with theirs.
(table,) = crf.marginals([sentence])
print("\nThe likeliest label of every word")
for word, row in zip(sentence["word"], table, strict=True):
    print(f"  {word:<6} {crf.labels[row.argmax()]:<6} {row.max():.2f}")
print("\nThe three best outputs")
for score, output, probability in crf.predict_k_best([sentence], 3)[0]:
    print(f"  {score:6.2f}  {probability:.2f}  {' '.join(output)}")

# What is known of an output is kept, and the rest is the best that agrees with it.
(labels,) = crf.predict([sentence], given=[[None, None, None, None, "B-ORG", "I-ORG", None]])
print("\nWith New York an organisation")
print(" ", " ".join(labels))

# A saved model is a folder; it predicts a file into the same format.
crf.save(folder / "saved")
(folder / "new.jsonl").write_text('{"id": 7, "tokens": ["Oslo", "is", "cold"]}\n')
again = structopt.load(folder / "saved")
corpus = again.task.read(folder / "new.jsonl", labelled=False)
again.task.write_outputs(corpus, folder / "labelled.jsonl", again.predict(folder / "new.jsonl"))
print("\nA line of a file")
print(" ", (folder / "labelled.jsonl").read_text().strip())
