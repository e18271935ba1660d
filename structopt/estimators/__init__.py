"""Estimators in scikit-learn's manner: instances and outputs in memory, the same run underneath as
on the command line.

scikit-learn need not be installed; where it is, estimators are its own, for grid searches,
pipelines and cross-validation.
"""

from structopt.estimators.constituency_parser import ConstituencyParser
from structopt.estimators.dependency_parser import DependencyParser
from structopt.estimators.graph_labeler import GraphLabeler
from structopt.estimators.grid_labeler import GridLabeler
from structopt.estimators.multilabel_classifier import MultilabelClassifier
from structopt.estimators.sequence_tagger import SequenceTagger
from structopt.estimators.structured_estimator import StructuredEstimator

__all__ = [
    "ConstituencyParser",
    "DependencyParser",
    "GraphLabeler",
    "GridLabeler",
    "MultilabelClassifier",
    "SequenceTagger",
    "StructuredEstimator",
]
