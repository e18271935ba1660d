"""By what the objective is reported where reweighted belief propagation keeps its messages."""

from structopt.inference.trw_bp import TRWBP


def test_without_kept_messages_it_is_itself():
    given = TRWBP()
    assert given.converged() is given


def test_with_kept_messages_it_starts_from_none_and_has_more_passes():
    given = TRWBP(
        3, 1e-2, smoothing=0.25, warm_start=True, predictions="bound", decoding_temperature=0.5
    )
    reported = given.converged()
    assert not reported.warm_start
    assert (reported.passes, reported.tolerance) == (1000, 1e-6)
    assert (reported.smoothing, reported.predictions, reported.decoding_temperature) == (
        0.25,
        "bound",
        0.5,
    )
