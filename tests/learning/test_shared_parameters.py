"""Parameters that optimizers share have one text, which every schema shows."""

import pytest

from structopt.config import registry
from structopt.config.schema import parameter_docs
from structopt.learning import options

OPTIMIZERS = sorted(
    name
    for name, one in registry.installed("optimizer").items()
    if one.distribution == "structopt-trainer"
)
SHARED = parameter_docs(options.__doc__ or "")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_parameter_has_a_text(name):
    from_source = {
        one.name: one.doc for one in registry.described(registry.installed("optimizer")[name])
    }
    from_class = {key: one.doc for key, one in registry.parameters_of("optimizer", name).items()}
    assert from_source == from_class
    assert all(from_source.values())
    assert not any("structopt.learning.options" in text for text in from_source.values())


def test_shared_texts_are_those_of_the_module():
    assert set(SHARED) == {"average", "batch_size"}
    for name in ("sgd", "adadelta"):
        parameters = registry.schema(registry.load("optimizer", name))
        assert all(parameters[key].doc == text for key, text in SHARED.items() if key in parameters)


def test_a_reference_to_something_else_than_a_module_stays():
    assert parameter_docs(
        "Parameters\n----------\na : int\n    See `structopt.formats.conll_layouts.Layouts`.\n"
    ) == {"a": "See `structopt.formats.conll_layouts.Layouts`."}
