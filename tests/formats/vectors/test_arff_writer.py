"""Writing ARFF files again with predicted labels."""

import gzip

import numpy as np
import pytest

from structopt.errors import DataError
from structopt.formats.vectors import arff_reader
from structopt.formats.vectors.arff_writer import write

TEXT = """% about
@relation r
@attribute x numeric
@attribute 'Two Words' {0,1} % a label
@attribute colour {red,'dark,blue'}
@attribute Other {0,1}
@attribute Beach {0,1}

@data
% rows
0.50,1,'dark,blue',1,0 % comment
-1,0,red,1,?
{0 2,3 1, 1 1}

{}
"""
NAMES = ["Beach", "Two Words"]
OUTPUTS = [["Beach"], [], ["Beach", "Two Words"], ["Two Words"]]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data.arff").write_text(TEXT)
    return tmp_path / "data.arff"


def test_added_labels_are_counted(tmp_path):
    source, target = tmp_path / "data.arff", tmp_path / "out.arff"
    source.write_text("@relation 'r: -C 2 -x 1'\n@attribute x numeric\n@data\n0\n")
    write(source, target, [["Beach"]], NAMES)
    assert target.read_text().startswith("@relation 'r: -C -2 -x 1'\n")
    write(target, source, [["Beach"]], NAMES)
    assert source.read_text() == target.read_text(), "labels that are there are replaced"


def test_labels_take_the_place_of_labels(path, tmp_path):
    write(path, tmp_path / "out.arff", OUTPUTS, NAMES)
    head = TEXT[: TEXT.index("0.50")]
    assert (
        tmp_path / "out.arff"
    ).read_text() == head + "0.50,0,'dark,blue',1,1\n-1,0,red,1,0\n{0 2,1 1,3 1,4 1}\n\n{1 1}\n"
    write(path, tmp_path / "out.arff.gz", OUTPUTS, NAMES)
    assert (
        gzip.decompress((tmp_path / "out.arff.gz").read_bytes())
        == (tmp_path / "out.arff").read_bytes()
    )


def test_labels_without_a_column_get_one(path, tmp_path):
    path.write_text("@attribute x numeric\n@data\n1\n{}\n{0 3}\n2\n")
    write(path, tmp_path / "out.arff", OUTPUTS, NAMES)
    assert (tmp_path / "out.arff").read_text() == (
        "@attribute x numeric\n@attribute Beach {0,1}\n@attribute 'Two Words' {0,1}\n@data\n"
        "1,1,0\n{}\n{0 3,1 1,2 1}\n2,0,1\n"
    )


def test_probabilities_and_ranks(path, tmp_path):
    p = np.array([[0.25, 1.0], [0.125, 0.0], [0.0, 0.5], [0.75, 0.00001]])
    ranked = [[(2.0, ["Beach"]), (1.5, ["Two Words", "Beach"])], *[[(1.0, [])]] * 3]
    write(
        path,
        tmp_path / "out.arff",
        OUTPUTS,
        NAMES,
        [np.stack([1 - row, row], axis=1) for row in p],
        ranked,
    )
    lines = (tmp_path / "out.arff").read_text().splitlines()
    assert lines[3] == "@attribute 'Two Words' numeric" and lines[6] == "@attribute Beach numeric"
    assert lines[5] == "@attribute Other {0,1}"
    assert lines[10:] == [
        "0.50,1.0000,'dark,blue',1,0.2500",
        "% 2 1.5 'Two Words',Beach",
        "-1,0.0000,red,1,0.1250",
        "{0 2,1 0.5000,3 1}",
        "",
        "{4 0.7500}",
    ]
    table = arff_reader.read(tmp_path / "out.arff")
    assert table.values[table.columns == 4].tolist() == [0.25, 0.125, 0.75]


def test_a_target_that_cannot_be_written(path, tmp_path):
    with pytest.raises(DataError, match="the file cannot be written"):
        write(path, tmp_path / "none" / "out.arff", OUTPUTS, NAMES)
