"""Components name their arguments, and the application writes keys."""

import pytest

from structopt.config import registry
from structopt.config.wording import KINDS, in_words, keyed, write_keys
from structopt.errors import ArgumentError, CompatibilityError, ConfigError, form_of
from structopt.loss.difference import LossDifference
from structopt.optimizer.adagrad import AdaGrad
from structopt.optimizer.eg import EG


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: AdaGrad(eta=-1.0), "eta=-1.0 must be greater than 0"),
        (
            lambda: EG(form="primal"),
            "updates per instance. Set online=False initial=0, or form='dual'.",
        ),
        (lambda: LossDifference(gamma=0.0), "Set gamma=1."),
    ],
)
def test_constructors_name_their_arguments(call, text):
    with pytest.raises(ArgumentError) as raised:
        call()
    assert isinstance(raised.value, ValueError)
    assert text in str(raised.value)
    assert "optimizer." not in str(raised.value)


def test_keys_are_written_once():
    kinds = {"eta": "optimizer", "beta": "loss", "folder": "executor"}
    error = CompatibilityError(
        "needs `beta=inf`, not beta=1, or `None`; see `folder` and `other`.",
        parameter="eta",
        value=0.1,
        remedy="Set beta=1.5, eta='auto' or `'none'`, theta=2 or loss.beta=3.",
        kinds=kinds,
    )
    for _ in range(2):
        write_keys(error)
        assert str(error) == (
            "optimizer.eta=0.1 needs loss.beta=inf, not beta=1, or null; see executor.folder and "
            "`other`. Set loss.beta=1.5, optimizer.eta=auto or none, theta=2 or loss.beta=3."
        )


def test_words_are_written_for_classes():
    error = CompatibilityError(
        "needs CRF(), SVM() or LossFamily(beta=1.0), and Focal() is none.",
        parameter="inference",
        value="LoopyBP",
        remedy="Use PerceptronLoss(); or Perceptron(), MIRA() or SGD(), or `inference=AD3()`.",
    )
    for _ in range(2):
        write_keys(error)
        assert str(error) == (
            "inference=loopy_bp needs loss=crf, svm or family loss.beta=1.0, and Focal() is none. "
            "Use loss=perceptron; or optimizer=perceptron, mira or sgd, or `inference=ad3`."
        )


def test_every_builtin_component_has_a_word():
    for kind in KINDS:
        for word, one in registry.installed(kind).items():
            name = form_of(word) + {"perceptron": "Loss"}.get(word, "") * (kind == "loss")
            assert in_words(f"{name.capitalize()}()") == f"{kind}={word}", one


def test_refused_arguments_keep_notes_and_fields():
    with pytest.raises(ConfigError) as raised, keyed({"eta": "optimizer"}):
        error = ArgumentError("is odd.", parameter="eta.x", value=3, where="here")
        error.add_note("note")
        raise error
    assert str(raised.value) == "here: optimizer.eta.x=3 is odd."
    assert raised.value.__notes__ == ["note"]
