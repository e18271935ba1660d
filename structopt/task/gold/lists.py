"""Gold outputs in memory that are lists of any length: of entities, of references, of labels."""

from __future__ import annotations

from typing import Any

from structopt.core.data.in_memory import is_missing
from structopt.formats.in_memory.instances import shown
from structopt.task.outputs_in_memory import GOLD, is_list


def gold_elements(output: Any, number: int, what: str, advice: str) -> list[Any]:
    """Return the elements of the output of instance `number`, from 1, or of a part of it: any
    number of them.

    Raises
    ------
    DataError
        What is no list: it says that it is none of `what`, in the plural, and gives the `advice`.
    """
    if not is_list(output):
        raise GOLD.refused(number, f"the output {shown(output)} is no list of {what}. {advice}")
    return list(output)


def gold_sets(outputs: Any, count: int) -> list[tuple[Any, ...]]:
    """Return sets of labels, one an instance, each as a tuple.

    Raises
    ------
    DataError
        Another value than a list of lists, another length, a label twice, or a missing label.
    """
    sets = []
    for number, output in enumerate(GOLD.listed(outputs, count, "[['a', 'b'], []]"), 1):
        labels = tuple(gold_elements(output, number, "labels", "Write [['a', 'b'], []]."))
        if any(map(is_missing, labels)):
            raise GOLD.refused(number, "the instance has a label without a name. Leave it out.")
        if len(set(labels)) < len(labels):
            raise GOLD.refused(
                number, f"a label stands twice in {shown(list(labels))}. Keep one of them."
            )
        sets.append(labels)
    return sets
