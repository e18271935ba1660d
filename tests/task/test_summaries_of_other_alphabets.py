"""Summaries of texts in scripts other than English: words, extracts, budgets, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from structopt.errors import DataError
from structopt.task.summarization.summarization import Summarization, summaries
from tests.messages import raises

FEATURES = {"bigrams": ["bias", "count"], "sentences": ["position"]}
TEXTS = {
    "Chinese": (["今天天气很好。", "我们去公园散步。", "狗在叫。"], "去公园散步"),
    "Japanese": (["今日は晴れです。", "公園を散歩します。"], "公園を散歩"),
    "Thai": (["วันนี้อากาศดี", "เราไปสวนสาธารณะ"], "ไปสวนสาธารณะ"),
    "Russian": (["Сегодня хорошая погода.", "Мы гуляем в парке."], "гуляем в парке"),
    "German": (["Die Straße ist schön.", "Über Flüsse führen Brücken."], "Flüsse führen Brücken"),
    "Hindi": (["आज मौसम अच्छा है।", "हम पार्क में घूमते हैं।"], "हम पार्क में घूमते हैं"),
    "Arabic": (["الطقس جميل اليوم.", "نمشي في الحديقة الكبيرة."], "نمشي في الحديقة"),
}


def corpus_of(folder: Path, sentences: list[str], reference: str, **options: object):
    path = folder / "texts.jsonl"
    row = {"name": "d1", "sentences": sentences, "references": [reference]}
    path.write_text(json.dumps(row, ensure_ascii=False), encoding="utf8")
    task = Summarization(features=FEATURES, **options)
    return task, task.read(path)


@pytest.mark.parametrize("language", TEXTS)
def test_the_best_extract_has_the_words_of_the_reference(language: str, tmp_path: Path) -> None:
    sentences, reference = TEXTS[language]
    task, corpus = corpus_of(tmp_path, sentences, reference)
    encoded = task.fit(corpus)
    assert (encoded.lengths > 0).all()
    assert summaries(corpus, task.decode(encoded, encoded.gold)) == [[sentences[1]]]
    assert task.evaluate(corpus, [[2]])["rouge2_recall"] == 1.0


def test_umlauts_are_letters_of_words(tmp_path: Path) -> None:
    task, corpus = corpus_of(tmp_path, ["Die Straße ist schön.", "Er kommt."], "Straße schön")
    assert task.fit(corpus).lengths.tolist() == [4, 2]


def test_words_of_rouge_score(tmp_path: Path) -> None:
    task, corpus = corpus_of(tmp_path, ["Die Straße ist schön."], "Straße", words="ascii")
    assert task.fit(corpus).lengths.tolist() == [6]
    assert task.evaluate(corpus, [[1]])["rouge1_recall"] == 1.0


@pytest.mark.parametrize(
    ("sentences", "reference", "words", "problem", "advice"),
    [
        (["...", "!"], "Word.", "unicode", "it has no word", "Give its text"),
        (["Word."], "...", "unicode", "a reference summary has no word", "Give its text"),
        (["猫在睡觉。"], "a cat", "ascii", "it has no word", "set task.words=unicode"),
        (["a cat"], "猫", "ascii", "a reference summary has no word", "set task.words=unicode"),
    ],
)
def test_a_text_without_a_word_is_refused_with_its_name(
    sentences: list[str], reference: str, words: str, problem: str, advice: str, tmp_path: Path
) -> None:
    with raises(DataError, line=1, match=f"document d1: {problem}.*{advice}"):
        task, corpus = corpus_of(tmp_path, sentences, reference, words=words)
        task.fit(corpus)


def test_a_text_without_a_word_in_memory_is_refused() -> None:
    task = Summarization(features=FEATURES)
    with raises(DataError, line=2, match="document 2: it has no word"):
        task.encode(task.corpus([["A word."], ["..."]]))
