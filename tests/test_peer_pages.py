"""Pages for users of other packages: the code of the other package, in blocks marked ``py``, prints
what our code above it prints.
"""

from __future__ import annotations

import importlib
import warnings

import pytest

from tests.pages import blocks
from tests.test_docs import TEXTS

PEERS = {"from_pytorch_crf.md": "torchcrf", "from_torch_struct.md": "torch_struct"}
PEERS |= {"from_skglm.md": "skglm"}


@pytest.mark.parametrize("page", PEERS)
def test_the_other_package_prints_the_same(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        importlib.import_module(PEERS[page])
    except ImportError:
        pytest.skip(f"needs {PEERS[page]}")
    namespace, printed = dict[str, object](), dict[str, str]()
    for block in blocks(TEXTS[page]):
        if block.language in ("python", "py"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the other package
                exec(compile(block.text, page, "exec"), namespace)
            printed[block.language] = capsys.readouterr().out
    assert printed["py"] == printed["python"]


@pytest.mark.parametrize("page", [*PEERS, "from_synjax.md"])
def test_pages_have_60_lines_at_most(page: str) -> None:
    assert len(TEXTS[page].splitlines()) <= 60
