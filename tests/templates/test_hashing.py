"""Attributes hashed to slots: stable, few collisions, no vocabulary; counts of keys in pieces."""

import numpy as np
import pytest

from structopt.core.data.saved_state import SavedState
from structopt.templates.attribute_hashes import hash_of, hashed_rows, slots_of
from structopt.templates.column_templates import FeatureTemplates
from structopt.templates.key_counts import KeyCounts
from structopt.templates.template_keys import distinct_keys

WORDS = ["the", "cat", "sat", "on", "the", "mat", "the", "dog"]
OFFSETS = np.array([0, 3, 8])
TEMPLATES = ["bias", "word[-1..1]", "word[-1] & word", "prefix(word, 3)"]


def rows(table):
    return [
        table.ids[a:b].tolist() for a, b in zip(table.offsets[:-1], table.offsets[1:], strict=True)
    ]


def test_slots_are_the_same_everywhere_and_always():
    """The numbers are part of the format of models: they never change."""
    assert hash_of("word=the") == 17388376393477846748
    table = FeatureTemplates(TEMPLATES, hash_bits=20).fit({"word": WORDS}, OFFSETS)
    assert rows(table)[0] == [70511, 341710, 468079, 621074, 645429, 911074]


def test_equal_attributes_share_slots_and_others_do_not():
    """Tokens have an equal slot exactly where they have an equal attribute."""
    hashed, numbered = FeatureTemplates(TEMPLATES, hash_bits=24), FeatureTemplates(TEMPLATES)
    slots, ids = (
        rows(hashed.fit({"word": WORDS}, OFFSETS)),
        rows(numbered.fit({"word": WORDS}, OFFSETS)),
    )
    assert [len(row) for row in slots] == [len(row) for row in ids]
    for i, own in enumerate(slots):
        assert own == sorted(set(own))
        for j, other in enumerate(slots):
            assert len(set(own) & set(other)) == len(set(ids[i]) & set(ids[j]))


def test_blocks_do_not_matter_and_nothing_is_learnt():
    hashed = FeatureTemplates(TEMPLATES, hash_bits=12)
    whole = rows(hashed.fit({"word": WORDS}, OFFSETS))
    parts = [
        hashed.transform({"word": WORDS[:3]}, OFFSETS[:2]),
        hashed.transform({"word": WORDS[3:]}, OFFSETS[1:] - 3),
    ]
    assert rows(parts[0]) + rows(parts[1]) == whole
    values, arrays = hashed.state()
    assert sum(values["vocabularies"]) == 0 and not len(arrays["string_bytes"])
    restored = FeatureTemplates.restore(SavedState(values, arrays))
    assert restored.size == 4096 and rows(restored.transform({"word": WORDS}, OFFSETS)) == whole
    assert restored.describe([7]) == ["hash12=7"]


def test_lists_and_missing_columns(tmp_path):
    (tmp_path / "pets.txt").write_text("cat\ndog\n")
    hashed = FeatureTemplates(
        ["list(word, pets)", "pos"], {"pets": str(tmp_path / "pets.txt")}, hash_bits=16
    )
    table = hashed.transform({"word": WORDS}, OFFSETS, ["pos"])
    assert [len(row) for row in rows(table)] == [1, 2, 1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("values", [None, np.array([1.0, 2.0, 4.0, 8.0])])
def test_values_of_a_slot_are_added(values):
    table = hashed_rows(np.array([0, 3, 3, 4]), np.array([9, 2, 9, 9], np.int32), values, 10)
    assert rows(table) == [[2, 9], [], [9]]
    assert table.values is None if values is None else table.values.tolist() == [2.0, 5.0, 8.0]


def test_bits_are_the_upper_ones():
    assert slots_of(np.array([1 << 63, (1 << 64) - 1, 5], np.uint64), 10).tolist() == [512, 1023, 0]


@pytest.mark.parametrize("least", [1, 2, 5])
def test_counts_in_pieces_are_those_of_the_whole(least):
    keys = np.random.default_rng(0).integers(-1, 60, 1000)
    counts = KeyCounts()
    for piece in np.array_split(keys, 37):
        counts.add(piece)
    np.testing.assert_array_equal(counts.frequent(least), distinct_keys(keys, 60, least))
    assert KeyCounts().frequent(1).tolist() == []
