"""Files that tests of formats read."""

import gzip

import pytest


@pytest.fixture
def make(request, tmp_path):
    """Writes a file, gzip if it is named so; its name is FILE of the test's module unless another
    is given.
    """
    default = getattr(request.module, "FILE", "data.txt")

    def make(content, name=default):
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return make
