r"""Complete graphs drawn from a random pairwise model, whose outputs are local maxima of the score.

    sum_i w_i(y_i) x_i + sum_{i<j} w_ij(y_i, y_j)

Weights and inputs x are uniform in (-1, 1). An output y is computed by iterated conditional modes:
each variable begins in the state that is best for itself; then one after another takes the state
that is best given all others, until none changes.

Source: Meshi et al. (2010), Figure 1(d).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from structopt.kernels.waist.record import Array

UNIT = 1024
"""All numbers drawn are multiples of 1/1024, so that scores are exact, in whatever order they are
summed.
"""


@dataclass(frozen=True)
class RandomModel:
    """The pairwise model of a seed; everything that is drawn is the same on every machine.

    Parameters
    ----------
    seed : int
    variables, states : int
        Of every graph.
    coupling : float
        Scale of the weights of edges.
    noise : float
        Share of the variables whose state is drawn anew, at random.
    """

    seed: int
    variables: int
    states: int
    coupling: float
    noise: float

    def weights(self) -> tuple[Array, Array]:
        """Return the weights w_i, shape (variables, states), and w_ij, shape (edges, states,
        states).
        """
        generator, K = self._generator("weights"), self.states
        nodes = _uniform(generator, (self.variables, K))
        edges = _uniform(generator, (self.variables * (self.variables - 1) // 2, K, K))
        return nodes, np.rint(self.coupling * edges * UNIT) / UNIT

    def samples(self, name: str, count: int) -> tuple[Array, Array]:
        """Draw graphs; other names give other graphs of the same model. O(variables^2 * states) a
        round and graph.

        Returns
        -------
        tuple
            Inputs x, float64, and outputs y, int32, each of shape (count, variables).
        """
        x = _uniform(self._generator(name), (count, self.variables))
        y = self._modes(x)
        for i in range(count):
            noisy = Random(f"{self.seed} {name} noise {i}")
            for j in range(self.variables):
                if noisy.random() < self.noise:
                    y[i, j] = noisy.randrange(self.states)
        return x, y

    def _generator(self, name: str) -> Random:
        # seeded by text: the same on every machine, and other numbers for each name
        return Random(f"{self.seed} {name}")

    def _modes(self, x: Array) -> Array:
        """Iterated conditional modes, int32, of the shape of x; of states that are equally good the
        first is taken.
        """
        nodes, edges = self.weights()
        d, K = nodes.shape
        # table[i, j, a, b] = w_ij(a, b), whichever of i and j is lower; 0 where i = j
        table = np.zeros((d, d, K, K))
        i, j = np.triu_indices(d, 1)
        table[i, j], table[j, i] = edges, edges.transpose(0, 2, 1)
        y = (x[:, :, None] * nodes).argmax(axis=2)
        changing, others = np.arange(len(x)), np.arange(d)
        while len(changing):
            before = y[changing].copy()
            for v in range(d):
                messages = table[v, others, :, y[changing]]
                y[changing, v] = (messages.sum(axis=1) + x[changing, v, None] * nodes[v]).argmax(
                    axis=1
                )
            changing = changing[(y[changing] != before).any(axis=1)]
        return np.asarray(y, np.int32)


def _uniform(generator: Random, shape: tuple[int, ...]) -> Array:
    """Numbers uniform over the odd multiples of 1/1024 in (-1, 1)."""
    count = int(np.prod(shape))
    numbers: Array = np.array(
        [2 * generator.getrandbits(10) + 1 - UNIT for _ in range(count)], np.float64
    )
    return numbers.reshape(shape) / UNIT
