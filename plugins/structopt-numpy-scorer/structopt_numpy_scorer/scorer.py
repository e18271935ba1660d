"""A scorer that is not linear in its weights, in plain numpy: attributes, a hidden layer,
labels.
"""

import numpy as np

from structopt.plugin import ConfigError
from structopt.plugin.provisional import Scorer


class TanhLayer(Scorer):
    """Scores of the labels of a token with attributes a (values v_a); other parts have a weight for
    each configuration.

        h = tanh(sum_a v_a E_a),    s = h W

    Parameters
    ----------
    units : int
        Length of h.
    """

    def __init__(self, units: int = 16) -> None:
        if units < 1:
            raise ConfigError(f"features.units={units} must be at least 1.")
        self.units = units

    def fit(self, encoded, structure, gold):
        """Lay out E, W and the weights of the other groups of parts one after the other."""
        first, *others = structure.groups
        if first.name != "label" or "label" not in encoded.tables:
            raise ConfigError(
                "features=tanh_layer needs attributes of what is labelled, as task=ner has them."
            )
        shapes = [
            (encoded.tables["label"].size, self.units),
            (self.units, first.width),
            *((1, g.width) for g in others),
        ]
        return self.restore({"shapes": shapes}, {})

    def state(self):
        """A saved model needs the shapes of the matrices, and no arrays."""
        return {"shapes": [list(shape) for shape in self.shapes]}, {}

    @classmethod
    def restore(cls, layout, arrays):
        """Make the scorer that `state` describes."""
        scorer = cls(layout["shapes"][1][0])
        scorer.shapes, scorer.dimension = layout["shapes"], sum(a * b for a, b in layout["shapes"])
        return scorer

    def initial(self, seed):
        """Random weights: from zeros, all hidden units would get equal gradients and stay equal."""
        spread = np.repeat(
            [0.1, 1 / np.sqrt(self.units), *np.zeros(len(self.shapes) - 2)],
            [a * b for a, b in self.shapes],
        )
        return np.random.default_rng([seed, self.dimension]).normal(size=self.dimension) * spread

    def prepare(self, encoded, structure):
        """Keep the attributes and the layout of the parts."""
        return encoded.tables["label"], structure

    def scores(self, theta, prepared, instances):
        """Scores of labels from the two layers; scores of other parts are weights themselves."""
        _, W, *others = self._split(theta)
        S = self._hidden(theta, prepared, instances)[0] @ W
        flat = np.zeros(int(np.diff(prepared[1].parts)[instances].sum()))
        for labels, *blocks in self._blocks(flat, prepared, instances):
            labels[:], S = S[: len(labels)], S[len(labels) :]
            for block, w in zip(blocks, others, strict=True):
                block[:] = w
        return flat

    def pullback(self, theta, prepared, instances, residuals):
        """The chain rule: from the scores to W, through tanh, to the rows of E."""
        gradient, rows = np.zeros(self.dimension), [np.zeros((0, self.shapes[1][1]))]
        W, (dE, dW, *others) = self._split(theta)[1], self._split(gradient)
        for labels, *blocks in self._blocks(residuals, prepared, instances):
            rows.append(labels)
            for block, d in zip(blocks, others, strict=True):
                d += block.sum(axis=0)
        (h, tokens, ids, values), r = self._hidden(theta, prepared, instances), np.concatenate(rows)
        dW += h.T @ r
        dE += _sums(ids, (r @ W.T * (1 - h * h))[tokens] * values, len(dE))
        return gradient

    def _split(self, vector):  # views of the matrices that a flat vector holds
        ends = np.cumsum([a * b for a, b in self.shapes])[:-1]
        return [
            flat.reshape(shape)
            for flat, shape in zip(np.split(vector, ends), self.shapes, strict=True)
        ]

    def _blocks(self, flat, prepared, instances):
        """Views of a vector over the parts of some instances: a matrix per instance and part group,
        a row per position.
        """
        for i in instances:
            sizes = [
                (group.offsets[i + 1] - group.offsets[i]) * group.width
                for group in prepared[1].groups
            ]
            *vectors, flat = np.split(flat, np.cumsum(sizes))
            yield [
                vector.reshape(-1, group.width)
                for vector, group in zip(vectors, prepared[1].groups, strict=True)
            ]

    # h of every token; and token, number and value of every attribute
    def _hidden(self, theta, prepared, instances):
        table, first = prepared[0], prepared[1].groups[0].offsets
        chosen = np.concatenate(
            [np.zeros(0, int), *(np.arange(first[i], first[i + 1]) for i in instances)]
        )
        counts = np.diff(table.offsets)[chosen]
        tokens = np.repeat(np.arange(len(chosen)), counts)
        entries = np.arange(len(tokens)) + np.repeat(
            table.offsets[chosen] - np.cumsum(counts) + counts, counts
        )
        ids, values = (
            table.ids[entries],
            np.ones((len(tokens), 1)) if table.values is None else table.values[entries, None],
        )
        return (
            np.tanh(_sums(tokens, self._split(theta)[0][ids] * values, len(chosen))),
            tokens,
            ids,
            values,
        )


def _sums(numbers, rows, size):  # row k is the sum of the rows whose number is k
    indices = numbers.astype(int)[:, None] * rows.shape[1] + np.arange(rows.shape[1])
    return np.bincount(indices.ravel(), rows.ravel(), size * rows.shape[1]).reshape(
        size, rows.shape[1]
    )
