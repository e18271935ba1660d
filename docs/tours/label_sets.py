"""A tour of label sets: labels that depend on one another, and ways to search them. Run: python
docs/tours/label_sets.py.
"""

import json
import tempfile
from pathlib import Path

import structopt

# Each instance has any number of labels. With pairs of labels in the model, the best set is a
# search over a graph with cycles.
QUICK = ["task=multilabel", "optimizer=dlpw", "optimizer.epochs=10", "tracker=none", "quiet=true"]
folder = Path(tempfile.mkdtemp())
print("On the dev data")
for name, words in {"labels alone": ["factor_graph.edges=none"], "pairs of labels": []}.items():
    model = structopt.train([*QUICK, *words], folder / name)
    dev = json.loads((folder / name / "metrics.json").read_text())["dev"]
    print(
        f"  {name:<16} micro F1 {100 * dev['micro_f1']:.1f}   sets that are right "
        f"{100 * dev['subset_accuracy']:.1f}"
    )
print(f"\nLabels: {', '.join(model.labels)}")

# An instance is a mapping from index to value; the answer is a set of labels.
instances = [{"4": 1.0, "7": 1.0}, {"30": 2.0, "31": 1.5}]
print("\nPredicted sets")
for instance, labels in zip(instances, model.predict(instances), strict=True):
    print(f"  {instance} -> {labels}")

# Other inferences apply to the same weights: relaxations, message passing, enumeration.
print("\nThe first instance, by other inferences")
for name in ("ad3", "ilp", "trw_bp", "enumeration"):
    print(f"  {name:<8} {model.with_inference(name).predict(instances[:1])[0]}")

# Probabilities, by loopy belief propagation.
(table,) = model.with_inference("loopy_bp").marginals(instances[:1])
print("\nProbabilities of labels")
for label, row in sorted(zip(model.labels, table, strict=True), key=lambda pair: -pair[1][1])[:3]:
    print(f"  {label:<8} {row[1]:.2f}")

# What is known of an instance is kept.
print(
    "\nWith one label excluded:", model.predict(instances[:1], given=[{model.labels[0]: False}])[0]
)
