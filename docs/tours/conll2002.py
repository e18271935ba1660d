"""Named entities of CoNLL-2002 by feature dicts, as in sklearn-crfsuite's tutorial: python docs/tours/conll2002.py FOLDER."""

import gzip
import sys
import time
from pathlib import Path

from scipy.stats import expon
from sklearn.model_selection import RandomizedSearchCV

from structopt import SequenceTagger


def sentences(path):
    """Sentences of tuples (word, tag, label)."""
    blocks = gzip.decompress(path.read_bytes()).decode("latin1").strip().split("\n\n")
    return [[tuple(line.split()) for line in block.split("\n")] for block in blocks]


def word2features(sent, i):
    """The features of a word, and of its neighbours."""
    word, postag = sent[i][:2]
    features = {
        "bias": 1.0, "word.lower()": word.lower(), "word[-3:]": word[-3:], "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(), "word.istitle()": word.istitle(), "word.isdigit()": word.isdigit(),
        "postag": postag, "postag[:2]": postag[:2],
    }  # fmt: skip
    for name, j in (("-1", i - 1), ("+1", i + 1)):
        if 0 <= j < len(sent):
            word, postag = sent[j][:2]
            features[name] = {
                "word.lower()": word.lower(), "word.istitle()": word.istitle(), "word.isupper()": word.isupper(),
                "postag": postag, "postag[:2]": postag[:2],
            }  # fmt: skip
        else:
            features["BOS" if j < i else "EOS"] = True
    return features


def main(folder):
    """Fit at c1 = c2 = 0.1, search for better ones, and show the largest weights."""
    train, test = (sentences(Path(folder) / f"esp.{split}.gz") for split in ("train", "testa"))
    X, X_test = ([[word2features(sent, i) for i in range(len(sent))] for sent in sents] for sents in (train, test))
    y, y_test = ([[label for *_, label in sent] for sent in sents] for sents in (train, test))

    started = time.perf_counter()
    crf = SequenceTagger(c1=0.1, c2=0.1, epochs=100).fit(X, y)
    print(f"F1 {crf.score(X_test, y_test):.4f} after {time.perf_counter() - started:.1f} s")

    search = RandomizedSearchCV(crf, {"c1": expon(scale=0.5), "c2": expon(scale=0.05)}, cv=3, n_iter=2, random_state=0)
    search.fit(X[:1000], y[:1000])
    print("best", search.best_params_, f"F1 {search.best_score_:.4f}")

    names, weights = crf.model_.task.attribute_names(), crf.model_.scorer.split(crf.model_.weights)[0]
    rows = ((weights[a, b], names[a], label) for a in range(len(names)) for b, label in enumerate(crf.classes_))
    for weight, name, label in sorted(rows, reverse=True)[:10]:
        print(f"{weight:7.3f} {label:8} {name}")


if __name__ == "__main__":
    main(sys.argv[1])
