"""Contract suites that the core's components and every plugin's inherit, and small random problems
to run them on.

A suite is a plain pytest class. Subclass it, override its fixtures, and its tests run on your
component::

    class TestMyInference(InferenceSuite):
        @pytest.fixture
        def inference(self):
            return MyInference()

        @pytest.fixture(params=range(3))
        def structure(self, request):
            return MyGraph().build(random_encoded(request.param))

There is one for every kind: `task.TaskSuite`, `factor_graph.FactorGraphSuite`,
`inference.InferenceSuite`, `loss.LossSuite`, `cost.CostSuite`, `optimizer.OptimizerSuite`,
`tracker.TrackerSuite`, `executor.ExecutorSuite`, and `report.ReportSuite` for reports of
experiments. `components.component` makes other components by their names.
"""

from __future__ import annotations

from pkgutil import iter_modules

try:
    import pytest
except ImportError:  # structopt.check runs without it
    pass
else:  # failures show values
    names = (f"{__name__}.{module.name}" for module in iter_modules(__path__))
    pytest.register_assert_rewrite(*names)
