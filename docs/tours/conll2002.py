"""Named entities of CoNLL-2002 by feature dicts, as in sklearn-crfsuite's tutorial: python
conll2002.py FOLDER [SETTINGS].
"""

import gzip
import sys
import time
from itertools import chain
from pathlib import Path

from scipy.stats import expon
from sklearn.metrics import classification_report
from sklearn.model_selection import RandomizedSearchCV

from structopt import SequenceTagger


def sentences(path):
    """Sentences of tuples (word, tag, label)."""
    blocks = gzip.decompress(path.read_bytes()).decode("utf8").strip().split("\n\n")
    return [[tuple(line.split()) for line in block.split("\n")] for block in blocks]


def word2features(sent, i):
    """The features of a word, and of its neighbours."""
    word, postag = sent[i][:2]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": postag,
        "postag[:2]": postag[:2],
    }
    for name, j in (("-1", i - 1), ("+1", i + 1)):
        if 0 <= j < len(sent):
            word, postag = sent[j][:2]
            features[name] = {
                "word.lower()": word.lower(),
                "word.istitle()": word.istitle(),
                "word.isupper()": word.isupper(),
                "postag": postag,
                "postag[:2]": postag[:2],
            }
        else:
            features["BOS" if j < i else "EOS"] = True
    return features


def show(title, weights):
    """The ten highest and the ten lowest weights of pairs: of neighbouring labels, or of a feature
    and a label.
    """
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    for name, rows in ((f"Top {title}", ranked[:10]), (f"Lowest {title}", ranked[:-11:-1])):
        print(f"\n{name}")
        for (first, second), weight in rows:
            print(f"{weight:9.3f}  {first} -> {second}")


def main(folder, settings=50):
    """Fit at c1 = c2 = 0.1, report by label, show the largest weights, and search for better c1 and
    c2 among some settings.
    """
    train, test = (sentences(Path(folder) / f"esp.{split}.gz") for split in ("train", "testa"))
    X, X_test = (
        [[word2features(sent, i) for i in range(len(sent))] for sent in sents]
        for sents in (train, test)
    )
    y, y_test = ([[label for *_, label in sent] for sent in sents] for sents in (train, test))

    started = time.perf_counter()
    crf = SequenceTagger(c1=0.1, c2=0.1, epochs=100).fit(X, y)
    print(
        f"F1 of entities {crf.score(X_test, y_test):.4f} after "
        f"{time.perf_counter() - started:.1f} s"
    )
    labels = sorted(set(crf.classes_) - {"O"}, key=lambda name: (name[1:], name[0]))
    flat = list(chain(*y_test)), list(chain(*crf.predict(X_test)))
    print(classification_report(*flat, labels=labels, digits=3, zero_division=0))

    show("transitions", crf.transition_features_)
    show("features", crf.state_features_)
    print(crf.explain(X_test, 1, top=5))

    space = {"c1": expon(scale=0.5), "c2": expon(scale=0.05)}
    search = RandomizedSearchCV(crf, space, cv=3, n_iter=int(settings), random_state=0)
    search.fit(X, y)
    print(f"\nBest of {settings} settings {search.best_params_}, F1 {search.best_score_:.4f}")
    print(f"F1 on new sentences {search.best_estimator_.score(X_test, y_test):.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
