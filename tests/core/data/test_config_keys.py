"""Keys that do not matter: what every purpose leaves out, and that all of them are keys."""

from structopt.config import registry
from structopt.config.composition import compose
from structopt.config.validation import Settings
from structopt.core.data.config_keys import IGNORED, Purpose, ignored, relevant

EXPECTED = {
    Purpose.RESUMING_A_RUN: {
        "optimizer.epochs",
        "optimizer.tolerance",
        "threads",
        "tracker",
        "max_expansion",
        "quiet",
    },
    Purpose.RESUMING_A_JOB: {"sweep", "resume", "tracker", "max_expansion", "quiet"},
    Purpose.RESUMING_A_SWEEP: {"hydra/launcher", "hydra.launcher", "hydra.sweep.dir", "quiet"},
    Purpose.TRACKING: {
        "tracker",
        "sweep",
        "resume",
        "check",
        "time_decoding",
        "max_expansion",
        "quiet",
    },
    Purpose.COMPARING: {
        "label",
        "tracker",
        "threads",
        "resume",
        "check",
        "data",
        "scale",
        "sweep",
        "time_decoding",
        "max_expansion",
        "quiet",
        "tuning",
        "test_curve",
    },
    Purpose.MULTIPLYING: {"data", "scale", "tuning", "label", "experiment"},
}


def test_what_does_not_matter():
    assert {purpose: set(ignored(purpose)) for purpose in EXPECTED} == EXPECTED
    data = {"train", "dev", "test", "limit", "default_C", "default_C_by"}
    assert set(ignored(Purpose.DRAWING, "task")) == data
    assert set(ignored(Purpose.SAVING, "task")) == data | {
        "labels",
        "names",
        "tagger",
        "references",
    }
    assert ignored(Purpose.SAVING, "factor_graph") == ("pruner",)
    assert ignored(Purpose.SAVING, "loss") == ()
    assert len({one.key for one in IGNORED}) == len(IGNORED) and all(one.why for one in IGNORED)


def test_they_are_keys():
    known = {*Settings.__annotations__, *registry.KINDS, "experiment"}
    assert {
        one.key.partition(".")[0] for one in IGNORED if not one.key.startswith("hydra")
    } <= known


def test_the_rest_matters():
    config = compose(["threads=2", "label=a"])
    rest = relevant(config, Purpose.COMPARING)
    assert rest == relevant(compose(["tracker=none"]), Purpose.COMPARING)
    assert {"task", "optimizer", "seed"} <= rest.keys()
    assert relevant({"name": "ner", "train": "a", "scheme": "iob2"}, Purpose.DRAWING, "task") == {
        "name": "ner",
        "scheme": "iob2",
    }
