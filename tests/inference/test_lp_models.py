"""What linear programs are made of: compact polytopes, models that graphs share, bases that visits
start from, limits.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from math import inf

import numpy as np
import pytest

from structopt.executor.threads import Threads
from structopt.factor_graph.factor_rows import FactorRows
from structopt.factor_graph.kinds import LOOPY
from structopt.factor_graph.pairwise import Pairwise
from structopt.inference.compact_polytope import compact_polytope
from structopt.inference.highs_program import Program
from structopt.inference.ilp import ILP
from structopt.inference.local_polytope import local_polytope
from structopt.inference.lp import LP
from structopt.inference.program_pool import Programs
from structopt.kernels.loopy.factors import PAIRS, TABLE
from structopt.loss.cost.hamming_normalized import HammingNormalized
from structopt.loss.family import LossFamily
from structopt.optimizer.cutting_plane import CuttingPlane
from structopt.reference.relaxation import relaxed_maximum
from structopt.testing.inference import run
from structopt.testing.problems import make_problem, random_graphs
from tests.inference.small_graphs import binary, complete, outputs, random_rows, structure_of
from tests.interrupts import SOON, interrupted_soon

pytestmark = pytest.mark.nightly("optima")


def some_tables(generator, widths=(2, 2, 3, 2, 1, 2, 1)):
    """Tables over variables of two states and of three; pairs of binary variables; a variable of
    two states in no factor.
    """
    row = FactorRows(np.array(widths, np.int32))
    for a, b in [(0, 1), (1, 2), (0, 3), (3, 1), (2, 0)]:
        row.add(TABLE, [a, b], widths[a] * widths[b])
    row.add(PAIRS, [4, 6], 1)
    return row


ROWS = [
    complete([2] * 4),
    some_tables(np.random.default_rng(0)),
    complete([2, 3, 2], loose=1),
    *random_rows(),
]
STRUCTURE = structure_of(ROWS)
PARTS = np.diff(STRUCTURE.parts)


@pytest.mark.parametrize("i", range(len(ROWS)))
def test_compact_columns_are_the_parts_of_every_output(i):
    """The columns of an output satisfy the rows and give its parts back; and they are those it has
    itself.
    """
    p = compact_polytope(STRUCTURE.record, i, int(PARTS[i]))
    for z in outputs(ROWS[i])[:50]:
        program = Program(p)
        answer = program.best_point(2 * z - 1)
        np.testing.assert_allclose(answer.z, z, atol=1e-9)
        assert answer.bound == pytest.approx(z.sum())


def test_compact_sizes():
    """One column a variable and table of two states, and three rows a table; other factors stay as
    they are.
    """
    p = compact_polytope(STRUCTURE.record, 0, int(PARTS[0]))
    assert p.matrix.shape == (3 * 6, 4 + 6)
    assert p.integral == 4
    full = local_polytope(STRUCTURE.record, 1, int(PARTS[1]))
    p = compact_polytope(STRUCTURE.record, 1, int(PARTS[1]))
    assert full.matrix.shape == (5 + 3 * 4 + 2 * 5 + 3, 13 + 3 * 4 + 2 * 6 + 1)
    assert p.matrix.shape == (1 + 3 * 3 + 2 * 5 + 3, 4 + 3 + 2 + 3 + 2 * 6 + 1)
    assert p.integral == 4 + 3 + 2


@pytest.mark.parametrize("i", [0, 1, 2])
@pytest.mark.parametrize("forbid", [0, 1, 2, 4, 7])
def test_forbidden_states_and_pairs(i, forbid):
    """Value and feasibility are those of the full description in cvxpy, whichever parts are fixed
    to 0.
    """
    generator, n, solve = (
        np.random.default_rng([i, forbid]),
        int(PARTS[i]),
        LP().kernels(LOOPY).solve,
    )
    full, infeasible = local_polytope(STRUCTURE.record, i, n), 0
    for _ in range(8):
        s = generator.normal(size=n)
        s[generator.choice(n, forbid, replace=False)] = -inf
        value, z = run(solve, STRUCTURE, i, s, 0.0)
        expected, _ = relaxed_maximum(full, s)
        assert value == pytest.approx(expected, abs=1e-6)
        assert not z[s == -inf].any()
        if value == -inf:
            infeasible += 1
            continue
        slack = full.matrix[:, :n] @ z  # these graphs have no auxiliary columns
        assert (slack >= full.lower - 1e-7).all()
        assert (slack <= full.upper + 1e-7).all()
        assert z[s > -inf] @ s[s > -inf] == pytest.approx(value, abs=1e-9)
    assert infeasible < 8


@pytest.mark.parametrize("part", range(8))
def test_each_forbidden_part_of_one_table(part):
    """Of two variables with a table, any one part forbidden: the relaxation is exact, and avoids
    it.
    """
    row = complete([2, 2])
    structure, vertices = structure_of([row]), outputs(row)
    for seed in range(5):
        s = np.random.default_rng(seed).normal(size=8)
        s[part] = -inf
        allowed = vertices[vertices[:, part] == 0]
        scores = allowed @ np.where(s == -inf, 0.0, s)
        for inference in (LP(), ILP()):
            value, z = run(inference.kernels(LOOPY).solve, structure, 0, s, 0.0)
            assert value == pytest.approx(scores.max())
            np.testing.assert_allclose(z, allowed[scores.argmax()], atol=1e-9)


def test_both_states_forbidden():
    s = np.zeros(8)
    s[:2] = -inf
    for inference in (LP(), ILP()):
        value, z = run(inference.kernels(LOOPY).solve, structure_of([complete([2, 2])]), 0, s, 0.0)
        assert value == -inf
        assert not z.any()


def test_answers_do_not_depend_on_the_visits_before():
    """The same bits from a model that has seen other scores, forbidden parts, no solution and
    integers, as from a new one.
    """
    generator, n = np.random.default_rng(3), int(PARTS[1])
    p = compact_polytope(STRUCTURE.record, 1, n)
    used = Program(p)
    for step in range(12):
        other, s = generator.normal(size=(2, n))
        other[generator.choice(n, step, replace=False)] = -inf
        used.best_point(other)
        used.best_output(other)
        for method in ("best_point", "best_output"):
            expected = getattr(Program(p), method)(s)
            answer = getattr(used, method)(s)
            assert answer.bound == expected.bound
            np.testing.assert_array_equal(answer.z, expected.z)


def test_warm_starts_find_the_same_values_with_fewer_pivots():
    structure, generator = (
        structure_of([complete([2] * 10), complete([3] * 5)]),
        np.random.default_rng(0),
    )
    for i, n in enumerate(np.diff(structure.parts).tolist()):
        program = Program(compact_polytope(structure.record, i, n))
        basis, s, pivots = np.zeros(program.kept), generator.normal(size=n), []
        for step in range(6):
            s = s + 0.02 * generator.normal(size=n)
            if step == 3:
                s[generator.choice(n, 3, replace=False)] = -inf  # the basis is no longer feasible
            expected = program.best_point(s)
            cold = program._model.getInfo().simplex_iteration_count
            answer = program.best_point(s, basis)
            pivots.append((program._model.getInfo().simplex_iteration_count, cold))
            assert answer.bound == pytest.approx(expected.bound, abs=1e-9)
            assert basis.all()
        assert pivots[0][0] == pivots[0][1]  # there was nothing to start from
        assert sum(warm for warm, _ in pivots[1:]) < sum(cold for _, cold in pivots[1:]) / 2


def test_a_warm_answer_is_a_function_of_scores_and_memory():
    n = int(PARTS[0])
    p, generator = compact_polytope(STRUCTURE.record, 0, n), np.random.default_rng(1)
    used, memory, s = Program(p), np.zeros(Program(p).kept), generator.normal(size=n)
    used.best_point(generator.normal(size=n), memory)
    copy = memory.copy()
    used.best_point(-s)
    answer, expected = used.best_point(s, memory), Program(p).best_point(s, copy)
    assert answer.bound == expected.bound
    np.testing.assert_array_equal(answer.z, expected.z)
    np.testing.assert_array_equal(memory, copy)


def test_memory_after_no_solution():
    """A basis of a program without solution is no hindrance."""
    program = Program(compact_polytope(STRUCTURE.record, 0, int(PARTS[0])))
    memory, s = np.zeros(program.kept), np.random.default_rng(2).normal(size=int(PARTS[0]))
    program.best_point(s, memory)
    assert program.best_point(np.concatenate([[-inf, -inf], s[2:]]), memory).bound == -inf
    assert program.best_point(s, memory).bound == pytest.approx(program.best_point(s).bound)


def test_learning_with_kept_bases_and_threads():
    """Cutting planes come to the same optimum with bases kept or not, with one thread or three."""
    encoded, loss = (
        random_graphs(0, (6,) * 12, 2, wide=True),
        LossFamily(inf, 1.0, HammingNormalized()),
    )
    objectives = []
    for warm_start in (False, True):
        for executor in (None, Threads(3)):
            problem = make_problem(encoded, Pairwise(), loss, LP(warm_start), 1.0)
            assert (len(problem.data.messages) > 0) == warm_start
            problem.executor = executor or problem.executor
            method = CuttingPlane()
            state = method.init(problem, np.zeros(problem.dimension))
            for _ in range(30):
                state, report = method.step(problem, state)
                if report.finished:
                    break
            objectives.append(problem.objective(method.weights(state)))
    assert max(objectives) - min(objectives) < 1e-4 * max(objectives)


def test_threads_share_models():
    """Many threads over graphs of one shape: every answer is the one of a single thread, bit by
    bit.
    """
    solve, alone = LP().kernels(LOOPY).solve, LP().kernels(LOOPY).solve
    structure = structure_of([complete([2] * 6)] * 20)
    scores = np.random.default_rng(0).normal(size=(20, int(structure.parts[1])))
    expected = [run(alone, structure, i, s, 0.0) for i, s in enumerate(scores)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: run(solve, structure, i, scores[i], 0.0), range(20)))
    for (value, z), (right, vertex) in zip(answers, expected, strict=True):
        assert value == right
        np.testing.assert_array_equal(z, vertex)


def test_graphs_of_one_shape_share_a_model_and_few_are_kept():
    structure = structure_of(
        [complete([2] * 3), complete([2] * 3), complete([2] * 4), complete([2, 3, 2])]
    )
    made = []

    def make(polytope):
        made.append(Program(polytope))
        return made[-1]

    def visit(programs, order):
        made.clear()
        for i in order:
            with programs.program(structure.record, i, int(np.diff(structure.parts)[i])):
                pass
        return len(made)

    programs = Programs(make)
    assert visit(programs, [0, 1, 2, 3, 0, 1, 2, 3]) == 3
    with programs.program(structure.record, 0, 18), programs.program(structure.record, 1, 18):
        assert len(made) == 4  # the first is lent, so there is a second
    small = Programs(make, room=made[0].size)
    assert visit(small, [0, 1, 0, 2, 0, 0]) == 3  # the larger one leaves no room for any
    with (
        pytest.raises(ZeroDivisionError),
        programs.program(structure.record, 3, int(np.diff(structure.parts)[3])),
    ):
        raise ZeroDivisionError
    assert visit(programs, [3]) == 1  # what failed is made anew


def hard_graph(seed=0, count=22):
    """A complete graph of binary variables with scores of pairs that frustrate one another."""
    row, generator = binary(count), np.random.default_rng(seed)
    pairs = [(a, b) for b in range(count) for a in range(b)]
    row.add(PAIRS, np.ravel(pairs), len(pairs))
    return structure_of([row]), np.concatenate(
        [generator.normal(size=count), generator.normal(size=len(pairs))]
    )


def test_gap_and_time_limit():
    """A search that may stop early does so, with a bound above the best score, and never above the
    relaxation's.
    """
    structure, s = hard_graph(count=17)

    def solved(inference):
        return run(inference.kernels(LOOPY).solve, structure, 0, s, 0.0)

    (exact, best), (relaxed, _) = solved(ILP()), solved(LP())
    assert best @ s == pytest.approx(exact)
    value, z = solved(ILP(gap=0.5))
    assert exact < value <= 1.5 * (z @ s) + 1e-9
    assert z @ s <= exact + 1e-9
    for seconds in (0.02, 0.1, 1e-9):  # of the second that it takes
        value, z = solved(ILP(time_limit=seconds))
        assert exact < value <= relaxed + 1e-6
        assert z @ s <= value + 1e-9
    # there was no time to find any output
    np.testing.assert_allclose(z, solved(LP())[1], atol=1e-9)


def test_time_limits_are_of_one_instance():
    """What earlier instances took does not count."""
    structure, s = hard_graph(count=12)
    exact = run(ILP().kernels(LOOPY).solve, structure, 0, s, 0.0)[0]
    solve = ILP(time_limit=2.0).kernels(LOOPY).solve
    program = Program(compact_polytope(structure.record, 0, len(s)), time_limit=2.0)
    while program._model.getRunTime() < 2.5:
        program.best_output(s)
    assert program.best_output(s).bound == pytest.approx(exact)
    assert run(solve, structure, 0, s, 0.0)[0] == pytest.approx(exact)


def test_a_long_search_is_interrupted():
    """HiGHS, which would search for minutes, hears Ctrl-C through its time limit."""
    structure = structure_of([complete([2] * 60)])
    parts, generator = int(structure.parts[-1]), np.random.default_rng(0)
    program, began = Program(compact_polytope(structure.record, 0, parts)), time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupted_soon():
        program.best_output(generator.normal(size=parts))
    assert time.monotonic() - began < SOON + 10
