"""One linear or integer program over a local polytope in HiGHS, solved for score after score."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from structopt.errors import ConfigError
from structopt.inference.compact_polytope import CompactPolytope
from structopt.kernels.waist import interruptible
from structopt.kernels.waist.record import Array

CLEARLY = 1e-6
"""Share of the largest score of a column above which the optimum, found up to HiGHS' tolerances,
cannot ignore another.
"""


class Answer(NamedTuple):
    """An upper bound on the maximum of s^T z, the maximum itself where the search was finished, and
    the best z found.

    `score` is s^T z; of a search for outputs that found none, whose z is the relaxation's, it is
    -inf.
    """

    bound: float
    z: Array
    score: float


class Program:
    """max s^T z over a local polytope, for one vector of scores after the other.

    Parameters
    ----------
    polytope : CompactPolytope
    time_limit : float
        Seconds after which a search for an integral point ends.
    gap : float
        Relative distance between bound and best point at which it may end.

    Notes
    -----
    A model belongs to one thread at a time. Answers depend on the arguments alone, never on earlier
    ones: the solver is cleared before it starts.
    """

    def __init__(
        self, polytope: CompactPolytope, time_limit: float = inf, gap: float = 0.0
    ) -> None:
        self.polytope, self.time_limit = polytope, time_limit
        self.rows, self.columns = (int(size) for size in polytope.matrix.shape)
        self._scores_of_columns = polytope.parts.T.tocsr()
        self._numbers = np.arange(self.columns, dtype=np.int32)
        self._integers = self._numbers[: polytope.integral]
        self._fixed_rows: list[int] = []
        self._model = _model_of(polytope)
        self._model.setOptionValue("mip_rel_gap", gap)

    @property
    def size(self) -> int:
        """Number of coefficients, by which its memory is counted."""
        return int(self.polytope.matrix.nnz + self.polytope.parts.nnz)

    @property
    def kept(self) -> int:
        """Numbers in which it keeps a basis: one a column and row."""
        return self.columns + self.rows

    def best_point(self, s: Array, basis: Array | None = None) -> Answer:
        """Maximise over the polytope.

        Parameters
        ----------
        s : float64, shape (parts,)
            -inf fixes a part to 0.
        basis : float64, shape (`kept`,), or None
            Where to start from, and what receives the basis that was found: 1 + the status of each
            column and row; all zero before the first visit.

        Returns
        -------
        Answer
            The maximum; where there is no point, the bound is -inf and z is zero.
        """
        if not self._set_scores(s):
            return self._nothing()
        self._options(presolve="off")  # costs more here than it saves
        self._model.clearSolver()
        if basis is not None and basis.any():
            self._model.setBasis(_basis_of(basis, self.columns))
        if self._run() == "infeasible":
            return self._nothing()
        if basis is not None:
            _write_basis(self._model.getBasis(), basis)
        value = self._constant + self._model.getInfo().objective_function_value
        return Answer(value, self._parts(s), value)

    def best_output(self, s: Array) -> Answer:
        """Maximise over the integral points of the polytope.

        Returns
        -------
        Answer
            As of `best_point`; where a limit was met, the best point found so far, or the
            relaxation's where none was, and the bound proved so far, which is never above the
            relaxation's.
        """
        if not len(self._integers):
            return self.best_point(s)
        if not self._set_scores(s):
            return self._nothing()
        self._model.clearSolver()
        # of all runs
        self._options(presolve="choose", time_limit=self.time_limit + self._model.getRunTime())
        with self._integral():
            status = self._run()
            if status == "infeasible":
                return self._nothing()
            info = self._model.getInfo()
            bound, gap, z = self._constant + info.mip_dual_bound, info.mip_gap, self._output(s)
        if status == "limit":
            self._options(time_limit=inf)
            relaxed = self.best_point(s)
            if z is None:
                return relaxed._replace(score=-inf)
            bound = min(bound, relaxed.bound)
        assert z is not None  # a search that ended by itself has found one
        value = float(_finite(s) @ z)
        return Answer(max(value, bound) if gap > 0 else value, z, value)

    def _output(self, s: Array) -> Array | None:
        """Parts of the best integral point found, if any; private parts are integers where the
        variables are.
        """
        import highspy

        feasible = (
            self._model.getInfo().primal_solution_status
            == highspy.SolutionStatus.kSolutionStatusFeasible
        )
        return np.round(self._parts(s)) if feasible else None

    def _set_scores(self, s: Array) -> bool:
        """Hand over costs and bounds; False where parts are fixed in ways that contradict each
        other.
        """
        p, scores = self.polytope, _finite(s)
        self._constant = float(scores @ p.constant)
        costs = self._scores_of_columns @ scores
        self._model.changeColsCost(self.columns, self._numbers, costs)
        lowest, highest, forbidden = np.zeros(self.columns), np.ones(self.columns), s == -inf
        for row in self._fixed_rows:
            self._model.changeRowBounds(row, p.lower[row], p.upper[row])
        self._fixed_rows = []
        if forbidden.any():
            ceiling, ground, rows = (numbers[forbidden] for numbers in (p.ceiling, p.ground, p.row))
            highest[ceiling[ceiling >= 0]], lowest[ground[ground >= 0]] = 0.0, 1.0
            self._fixed_rows = rows[rows >= 0].tolist()
            for row in self._fixed_rows:
                self._model.changeRowBounds(row, p.lower[row], p.lower[row])
        if (lowest > highest).any():
            return False
        self._model.changeColsBounds(self.columns, self._numbers, lowest, highest)
        self._leave_out(costs, lowest < highest)
        return True

    def _leave_out(self, costs: Array, free: Array) -> None:
        """Let rows say nothing that no maximum breaks; those of columns that are not `free`
        stay.
        """
        p, (rows, columns, signs) = self.polytope, self.polytope.spare
        if not len(rows):
            return
        needed = ~free[columns] | (
            signs * costs[columns] <= CLEARLY * np.abs(costs).max(initial=0.0)
        )
        lower, upper = np.where(needed, p.lower[rows], -inf), np.where(needed, p.upper[rows], inf)
        self._model.changeRowsBounds(len(rows), rows.astype(np.int32), lower, upper)

    def _run(self) -> str:
        """Solve; "limit" where it ended early."""
        import highspy

        limit = self._model.getOptionValue("time_limit")[1]
        try:
            # which HiGHS looks at now and then
            interruptible.call(self._model.run, stop=lambda: self._options(time_limit=0.0))
        finally:
            self._options(time_limit=limit)
        status = self._model.getModelStatus()
        known = {
            highspy.HighsModelStatus.kOptimal: "optimal",
            highspy.HighsModelStatus.kModelEmpty: "optimal",
            highspy.HighsModelStatus.kInfeasible: "infeasible",
            # all columns are bounded
            highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible",
            highspy.HighsModelStatus.kTimeLimit: "limit",
        }
        if status not in known:
            message = self._model.modelStatusToString(status)
            raise ConfigError(
                f"inference: HiGHS gave up ({message}).",
                remedy="Look for scores that are huge or not numbers.",
            )
        return known[status]

    @contextmanager
    def _integral(self) -> Iterator[None]:
        """Let the variables be integers for a while."""
        import highspy

        kinds = (highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous)
        count = len(self._integers)
        integer, continuous = (np.full(count, int(kind), np.uint8) for kind in kinds)
        self._model.changeColsIntegrality(count, self._integers, integer)
        try:
            yield
        finally:
            self._model.changeColsIntegrality(count, self._integers, continuous)

    def _options(self, **options: Any) -> None:
        for name, value in options.items():
            self._model.setOptionValue(name, value)

    def _parts(self, s: Array) -> Array:
        """Parts of the solution."""
        p = self.polytope
        z = np.clip(
            p.parts @ np.asarray(self._model.getSolution().col_value) + p.constant, 0.0, 1.0
        )
        z[s == -inf] = 0.0
        return np.asarray(z)

    def _nothing(self) -> Answer:
        return Answer(-inf, np.zeros(len(self.polytope.constant)), -inf)


def _model_of(polytope: CompactPolytope) -> Any:
    """A HiGHS model with the polytope's rows, and columns between 0 and 1."""
    import highspy

    lp, matrix = highspy.HighsLp(), polytope.matrix
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = (
        np.full(matrix.shape[1], value) for value in (0.0, 0.0, 1.0)
    )
    lp.row_lower_, lp.row_upper_ = polytope.lower, polytope.upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = (
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
    )
    lp.a_matrix_.value_ = matrix.data
    lp.sense_ = highspy.ObjSense.kMaximize
    _let_banner_go()
    model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    model.setOptionValue("output_flag", False)
    model.passModel(lp)
    return model


@cache
def _let_banner_go() -> None:
    """Make a first model while nobody sees the standard output, to which HiGHS then writes its
    name, whatever its options.
    """
    import highspy

    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # there is no standard output
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        highspy.Highs()  # type: ignore[no-untyped-call]
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _basis_of(codes: Array, columns: int) -> Any:
    """The basis that `_write_basis` wrote."""
    import highspy

    statuses = [highspy.HighsBasisStatus(k) for k in range(5)]
    listed = [statuses[code - 1] for code in codes.astype(int).tolist()]
    basis = highspy.HighsBasis()
    basis.col_status, basis.row_status, basis.valid = listed[:columns], listed[columns:], True
    return basis


def _write_basis(basis: Any, codes: Array) -> None:
    """Write 1 + the status of each column and row; zeros where there is no basis."""
    statuses = [*basis.col_status, *basis.row_status] if basis.valid else []
    codes[:] = (
        np.fromiter(map(int, statuses), float, len(codes)) + 1
        if len(statuses) == len(codes)
        else 0.0
    )


def _finite(s: Array) -> Array:
    """The scores, those of forbidden parts 0."""
    return np.where(s == -inf, 0.0, s)
