"""Scores by rouge-score, as JSON from and to a pipe: a process of its own, since its logging closes
the streams of others.
"""

import json
import sys

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenize import tokenize

NAMES = {"rouge1": "rouge1", "rouge2": "rouge2", "rougeL": "rougeLsum"}


class Split:
    """Takes words as they are, so that the scores are compared and not two stemmers."""

    def tokenize(self, text):
        return text.split()


def main():
    asked = json.load(sys.stdin)
    scorer, found = RougeScorer(list(NAMES.values()), tokenizer=Split()), []
    for summary, reference in asked["pairs"]:
        scores = scorer.score("\n".join(reference), "\n".join(summary))
        found.append(
            {
                ours: [scores[one].recall, scores[one].precision, scores[one].fmeasure]
                for ours, one in NAMES.items()
            }
        )
    json.dump(
        {"scores": found, "words": [tokenize(text, None) for text in asked["texts"]]}, sys.stdout
    )


if __name__ == "__main__":
    main()
