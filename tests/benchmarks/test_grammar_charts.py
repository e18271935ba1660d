"""Inside-outside on the chart of a dense grammar, against a vectorised inside pass in numpy."""

import time
from statistics import median

import numpy as np
import pytest

from structopt.kernels.grammar import grammar
from structopt.kernels.grammar.charts import CHARTS

LABELS = 30


def dense_chart(n, generator):
    """Charts of one sentence: every label above every pair, one tag, which every label may stand
    above; its scores and steps.
    """
    labels, tag = np.arange(1, LABELS + 1), LABELS + 1
    rules, symbols = LABELS**3, LABELS + 2
    steps = np.array(
        sorted([(b, b) for b in labels] + [(tag, a) for a in labels] + [(b, 0) for b in labels])
    )
    lists = {
        "inner": (0, LABELS, LABELS),
        "whole": (2 * LABELS, LABELS, 1),
        "word": (3 * LABELS + 1, 1, LABELS),
    }
    kinds = [
        "whole" if e - b == n else "word" if e - b == 1 else "inner"
        for b in range(n)
        for e in range(b + 1, n + 1)
    ]
    first, bottoms, tops = np.array([lists[kind] for kind in kinds]).T
    nodes = np.cumsum([0, *(bottoms + tops)])
    parents = np.tile(labels, LABELS**2)
    none = np.zeros(0, np.int64)
    record = CHARTS.pack(
        symbols=symbols,
        rules=rules,
        steps=len(steps),
        tags=1,
        root=0,
        full=1,
        floor=0.0,
        left_pairs=np.searchsorted(np.repeat(labels, LABELS), np.arange(symbols + 1)),
        left=np.repeat(labels, LABELS),
        right=np.tile(labels, LABELS),
        pair_rules=np.arange(0, rules + 1, LABELS),
        parent=parents,
        pair=np.repeat(np.arange(LABELS**2), LABELS),
        sorted=np.argsort(parents, kind="stable"),
        below=np.searchsorted(np.sort(parents), np.arange(symbols + 1)),
        ranges=[1, LABELS] * 3,
        inner=np.arange(LABELS**2),
        inner_places=np.arange(LABELS**2),
        ends=none,
        right_ends=np.zeros(symbols + 1, np.int64),
        bottom_steps=np.searchsorted(steps[:, 0], np.arange(symbols + 1)),
        step_top=steps[:, 1],
        tag_symbol=np.array([tag]),
        tokens=np.array([0, n]),
        spans=np.array([0, len(kinds)]),
        first=first,
        bottoms=bottoms,
        tops=tops,
        node=nodes[:-1],
        node_symbols=np.concatenate([labels, labels, labels, [0], [tag], labels]),
        anchors=np.zeros(2, np.int64),
        anchor_span=none,
        anchor_split=none,
        anchor_rule=none,
    )
    s = np.zeros(rules + len(steps) + n + int(nodes[-1]))
    s[: rules + len(steps)] = generator.normal(size=rules + len(steps))
    return record, grammar.scratch(record, n, int(nodes[-1]), len(s)), s, steps


def log_sum(values, axis):
    top = values.max(axis=axis, keepdims=True)
    return np.log(np.exp(values - top).sum(axis=axis)) + np.squeeze(top, axis)


def inside_in_numpy(n, s, steps):
    """log Z, all spans of a width at once: the sum over splits, then over pairs."""
    rules = s[: LABELS**3].reshape(LABELS**2, LABELS).T
    scores = dict(zip(map(tuple, steps.tolist()), s[LABELS**3 :], strict=False))
    labels = range(1, LABELS + 1)
    same, word, root = (
        np.array([scores[pair(a)] for a in labels])
        for pair in (
            lambda a: (a, a),
            lambda a: (LABELS + 1, a),
            lambda a: (a, 0),
        )
    )
    top = np.full((n + 1, n + 1, LABELS), -np.inf)
    top[np.arange(n), np.arange(1, n + 1)] = word
    for width in range(2, n + 1):
        begin, split = np.arange(n - width + 1)[:, None], np.arange(1, width)
        left, right = top[begin, begin + split], top[begin + split, begin + width]
        pairs = log_sum(left[..., None] + right[:, :, None, :], 1).reshape(len(begin), LABELS**2)
        below = log_sum(pairs[:, None, :] + rules, 2)
        if width == n:
            return log_sum(below[0] + root, 0)
        top[begin[:, 0], begin[:, 0] + width] = below + same
    return word[0]


@pytest.mark.parametrize("n", [20, 40])
def test_dense_grammar(n):
    record, work, s, steps = dense_chart(n, np.random.default_rng(0))
    z, ours, theirs = np.zeros(len(s)), [], []
    for _ in range(7):
        begin = time.perf_counter()
        value = grammar.solve(record, 0, s, 1.0, z, np.zeros(0), work)
        ours.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        other = inside_in_numpy(n, s, steps)
        theirs.append(time.perf_counter() - begin)
    assert value == pytest.approx(other)
    print(
        f"\n{n} words: inside-outside {1e3 * median(ours):.1f} ms; inside in numpy "
        f"{1e3 * median(theirs):.1f} ms, "
        f"{median(theirs) / median(ours):.1f} times as long"
    )
