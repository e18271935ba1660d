"""Contract suites that the core's components and every plugin's inherit, and small random problems to run them on.

A suite is a plain pytest class. Subclass it, override its fixtures, and its tests run on your component::

    class TestMyInference(InferenceSuite):
        @pytest.fixture
        def inference(self):
            return MyInference()

        @pytest.fixture(params=range(3))
        def structure(self, request):
            return MyGraph().build(random_encoded(request.param))
"""
