"""The program of docs/dense_features.md on small random transformers: which rows it writes, and
models that are trained, saved and loaded with them.
"""

import runpy
import subprocess
import sys

import numpy as np
import pytest

import structopt
from tests.pages import ROOT, blocks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="Transformers is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="Transformers is not installed")

SENTENCES = [["Ann", "slept", "in", "Oslo"], ["Bo", "saw", "Ann"], ["unsaid", "Oslo"]]
TAGS = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-PER"], ["O", "B-LOC"]]
LONGEST = 20
"""Pieces per sentence, with the two that the tokenizer adds."""
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 8, "max_position_embeddings": LONGEST + 2}


def save(folder, tokenizer, start, end, pad, network, config):
    """Write the folder of a random transformer."""
    post = tokenizers.processors.TemplateProcessing(
        single=f"{start} $A {end}",
        special_tokens=[(one, tokenizer.token_to_id(one)) for one in (start, end)],
    )
    tokenizer.post_processor = post
    names = {"cls_token": start, "sep_token": end, "pad_token": pad}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=LONGEST, **names
    ).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {**SIZES, "vocab_size": tokenizer.get_vocab_size()}
    network(config(**sizes, pad_token_id=tokenizer.token_to_id(pad))).save_pretrained(folder)


def bert(folder):
    """Words are cut into pieces, which begin with ## within a word."""
    letters = "abcdefghijklmnopqrstuvwxyzABO"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "Ann", "sle", "un", "##said", "in", *letters]
    vocabulary = {one: index for index, one in enumerate([*pieces, *(f"##{c}" for c in letters)])}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=50)
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    kinds = transformers.BertModel, transformers.BertConfig
    save(folder, tokenizer, "[CLS]", "[SEP]", "[PAD]", *kinds)


def roberta(folder):
    """Words are bytes with a space before them, some of which are merged."""
    pieces = ["<s>", "<pad>", "</s>", *sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())]
    merges = [("\u0120", "A"), ("n", "n"), ("\u0120", "s")]
    vocabulary = {one: index for index, one in enumerate([*pieces, *map("".join, merges)])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    kinds = transformers.RobertaModel, transformers.RobertaConfig
    save(folder, tokenizer, "<s>", "</s>", "<pad>", *kinds)


@pytest.fixture(params=[bert, roberta])
def folder(request, tmp_path, monkeypatch):
    """A folder with the program of the page, a transformer and data; it is the current one."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "dense_features.md").read_text(encoding="utf8")
    (program,) = [block for block in blocks(page) if block.path == "embeddings.py"]
    (tmp_path / program.path).write_text(program.text, encoding="utf8")
    request.param(tmp_path / "transformer")
    lines = ["".join(map("{} {}\n".format, *pair)) for pair in zip(SENTENCES, TAGS, strict=True)]
    (tmp_path / "train.txt").write_text("-DOCSTART- O\n\n" + "\n".join(lines))
    return tmp_path


@pytest.fixture
def embeddings(folder):
    """The function of the program."""
    return runpy.run_path(str(folder / "embeddings.py"))["embedder"]("transformer")


def first_pieces(words):
    """Outputs at the first piece of each word, by pieces of one word after the other."""
    tokenizer = transformers.AutoTokenizer.from_pretrained("transformer")
    network = transformers.AutoModel.from_pretrained("transformer")
    pieces = [
        tokenizer([word], is_split_into_words=True, add_special_tokens=False).input_ids
        for word in words
    ]
    ids = [tokenizer.cls_token_id, *(one for word in pieces for one in word)]
    rows = network(input_ids=torch.tensor([[*ids, tokenizer.sep_token_id]])).last_hidden_state[0]
    begins = 1 + np.cumsum([0, *map(len, pieces[:-1])])
    return rows.detach().numpy()[begins], list(map(len, pieces))


def test_rows_are_those_of_first_pieces(embeddings):
    """A row depends on the sentence, and on the position of the first piece of its word."""
    counts = []
    for words in SENTENCES:
        due, pieces = first_pieces(words)
        np.testing.assert_allclose(embeddings(words), due, atol=1e-5)
        counts += pieces
    assert len(set(counts)) > 1
    first, second = embeddings(["Ann", "in"]), embeddings(["in", "Ann"])
    assert not np.allclose(first[0], second[1], atol=1e-3)


def test_words_without_pieces_have_zeros(embeddings):
    """Words after the longest sentence are cut off; a word of a space has no piece in BERT."""
    rows = embeddings(["in"] * LONGEST)
    filled = rows.any(axis=1).tolist()
    assert filled == sorted(filled, reverse=True) and filled[0] and not filled[-1]
    rows = embeddings(["in", "\u2009", "in"])
    assert rows.shape == (3, SIZES["hidden_size"]) and rows[[0, 2]].any(axis=1).all()


def test_models_read_the_matrices_of_the_program(folder, embeddings):
    """Files and sentences in memory have equal predictions, before and after saving."""
    command = [sys.executable, "embeddings.py", "transformer", "train.txt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    matrix = np.load("embeddings/train.npy")
    np.testing.assert_allclose(matrix, np.vstack([*map(embeddings, SENTENCES)]), atol=1e-6)
    overrides = ["task=ner", "task.train=train.txt", "features.templates=[bias]"]
    overrides += ['features.dense=["embeddings/*.npy"]', "tracker=none", "quiet=true"]
    model = structopt.train(overrides, folder="run")
    by_file = structopt.load("run", {"dense": "embeddings/train.npy"})
    assert by_file.predict("train.txt") == TAGS
    in_memory = [{"tokens": words, "dense": embeddings(words)} for words in SENTENCES]
    assert structopt.load("run").predict(in_memory) == TAGS
    np.testing.assert_allclose(model.scores(in_memory), by_file.scores("train.txt"), atol=1e-4)
