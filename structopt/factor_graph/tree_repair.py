"""Gold trees that a factor graph of trees does not contain: moved into it, left out, or refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from structopt.core.data.encoded import EncodedTrees
from structopt.errors import ConfigError
from structopt.kernels.waist.record import Array


class Requirement(NamedTuple):
    """What a graph may require of its trees, and how trees are changed to meet it.

    Attributes
    ----------
    option : str
        The parameter of the graph that asks for it.
    fault : str
        What trees do that do not meet it, for messages.
    change : callable
        Given the offsets of the sentences and heads, heads that meet it.
    moved, done : str
        What is changed, and how, for messages.
    """

    option: str
    fault: str
    change: Callable[[Array, Array], Array]
    moved: str
    done: str


def admitted(
    trees: EncodedTrees, projective: bool, single_root: bool, repair: str
) -> tuple[EncodedTrees, str]:
    """Return a corpus whose gold trees all have one root, or are projective, where the graph asks
    for that.

    Parameters
    ----------
    trees : EncodedTrees
        Returned as it is where it has no gold trees, or all are in the graph. Trees of which some
        heads are not known stay as they are: inference finds out whether the graph has a tree with
        the known ones.
    projective, single_root : bool
        What the graph asks for.
    repair : str
        ``lift``: the roots after the first become modifiers of the first (as Universal Dependencies
        attach words that are side by side), and then the shortest non-projective arc is moved to
        its head's head until none is left. ``drop``: such sentences are left out. ``refuse``: they
        are an error.

    Returns
    -------
    EncodedTrees, str
        The corpus, and what was changed (the empty string: nothing).

    Raises
    ------
    ConfigError
        With ``refuse`` at the first such sentence, with ``drop`` where no sentence is left.
    """
    if trees.heads is None:
        return trees, ""
    requirements = [ONE_ROOT] * single_root + [PROJECTIVE] * projective
    open_trees = _open_trees(trees)
    repaired, broken, changes = trees.heads, np.zeros(len(trees), bool), []
    for requirement in requirements:
        before, changed = repaired, requirement.change(trees.offsets, repaired)
        repaired = np.where(open_trees, before, changed).astype(before.dtype)
        moved = np.flatnonzero(repaired != before)
        sentences = np.unique(np.searchsorted(trees.offsets, moved, side="right") - 1)
        if len(sentences) == 0:
            continue
        fault = f"{len(sentences)} of {len(trees)} gold trees {requirement.fault}"
        if repair == "refuse":
            raise ConfigError(
                f"`repair='refuse'`: {fault}, the first in training sentence {sentences[0] + 1}.",
                remedy=f"Set {requirement.option}=False, or repair='lift' or `'drop'`.",
                kinds=dict.fromkeys(("repair", requirement.option), "factor_graph"),
            )
        broken[sentences] = True
        lifted = (
            f"{len(moved)} {requirement.moved}{' was' if len(moved) == 1 else 's were'} "
            f"{requirement.done}"
        )
        changes.append(
            f"{fault}: {lifted if repair == 'lift' else 'their sentences were left out'}"
        )
    if not changes:
        return trees, ""
    return (_with_heads(trees, repaired) if repair == "lift" else _kept(trees, ~broken)), "; ".join(
        changes
    )


def _open_trees(trees: EncodedTrees) -> Array:
    """Of every token whether some head of its sentence is not known."""
    lengths = np.diff(trees.offsets)
    if trees.free_heads is None:
        return np.zeros(int(trees.offsets[-1]), bool)
    owner = np.repeat(np.arange(len(trees)), lengths)
    return np.repeat(np.bincount(owner[trees.free_heads], minlength=len(trees)) > 0, lengths)


def _one_root(offsets: Array, heads: Array) -> Array:
    """Attach the roots of every sentence to its first."""
    roots = np.flatnonzero(heads == _positions(offsets))
    sentence = np.searchsorted(offsets, roots, side="right") - 1
    _, first, number = np.unique(sentence, return_index=True, return_inverse=True)
    changed = heads.copy()
    changed[roots] = heads[roots[first][number]]
    return changed


def _lifted(offsets: Array, heads: Array) -> Array:
    """Lift the arcs that make a tree non-projective."""
    from structopt.kernels.trees.lifting import lift

    changed = heads.astype(np.int32)
    lift(offsets, changed)
    return changed


ONE_ROOT = Requirement(
    "single_root", "have several roots", _one_root, "root", "attached to the first"
)
PROJECTIVE = Requirement("projective", "are not projective", _lifted, "arc", "lifted")


def _with_heads(trees: EncodedTrees, heads: Array) -> EncodedTrees:
    """Put other gold trees in; their arcs become candidates too."""
    if trees.candidates is None:
        return replace(trees, heads=heads)
    arcs, listed = trees.candidates
    tokens = np.arange(len(heads))
    widest = int(np.diff(trees.offsets).max())
    pairs = np.union1d(np.repeat(tokens, np.diff(arcs)) * widest + listed, tokens * widest + heads)
    counts = np.bincount(pairs // widest, minlength=len(heads))
    candidates = np.concatenate([[0], np.cumsum(counts)]), (pairs % widest).astype(np.int32)
    return replace(trees, heads=heads, candidates=candidates)


def _kept(trees: EncodedTrees, keep: Array) -> EncodedTrees:
    """Keep some of the sentences."""
    if not keep.any():
        raise ConfigError(
            "leaves no sentence to train on.",
            parameter="repair",
            value="drop",
            remedy="Set repair='lift'.",
            kinds={"repair": "factor_graph"},
        )
    lengths = np.diff(trees.offsets)
    tokens = np.repeat(keep, lengths)
    candidates = trees.candidates
    if candidates is not None:
        counts = np.diff(candidates[0])
        candidates = (
            np.concatenate([[0], np.cumsum(counts[tokens])]),
            candidates[1][np.repeat(tokens, counts)],
        )
    return replace(
        trees,
        offsets=np.concatenate([[0], np.cumsum(lengths[keep])]),
        codes=trees.codes[tokens],
        gold=None if trees.gold is None else trees.gold[tokens],
        gold_sets=None if trees.gold_sets is None else trees.gold_sets[tokens],
        allowed=None if trees.allowed is None else trees.allowed[tokens],
        heads=None if trees.heads is None else trees.heads[tokens],
        free_heads=None if trees.free_heads is None else trees.free_heads[tokens],
        candidates=candidates,
    )


def _positions(offsets: Array) -> Array:
    """Position of every token in its sentence."""
    return np.asarray(np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], np.diff(offsets)))
