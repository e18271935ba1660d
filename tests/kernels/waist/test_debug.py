"""In debug mode kernels run as Python, and an access out of bounds names its file and line."""

import os
import subprocess
import sys

import numpy as np
import pytest

import structopt
from structopt.errors import StructoptError
from structopt.kernels.waist.debug import CheckedArray, checked
from structopt.kernels.waist.record import EMPTY

KERNEL = """
import numpy as np
import structopt
structopt.debug()
from numba import types
from structopt.kernels.waist.signatures import VECTOR, kernel
from structopt.kernels.waist.views import part, table

@kernel(types.float64(VECTOR, types.int64))
def read(x, n):
    return {expression}

print(read(np.arange(5.0), 5))
"""


def run(code, *arguments):
    words = [sys.executable, "-c", code, *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=dict(os.environ))


@pytest.mark.parametrize(
    "expression",
    ["x[n]", "x[-1]", "x[1 : n + 1].sum()", "part(x, 0, n + 1).sum()", "table(x, 0, 2, 3).sum()"],
)
def test_an_access_out_of_bounds_is_an_error(expression, tmp_path):
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL.format(expression=expression))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "IndexError" in done.stderr
    assert f'{script}", line 11, in read' in done.stderr


def test_debug_after_compiling_is_refused():
    from structopt.kernels.waist import signatures  # noqa: F401  # compiles kernels from now on

    with pytest.raises(StructoptError, match="debug\\(\\) comes too late"):
        structopt.debug()


@pytest.mark.nightly("runs")
def test_training_in_debug_mode_gives_the_same_weights(tmp_path):
    words = '["task=ner", "task.limit=6", "optimizer.epochs=1", "tracker=none", "quiet=true"]'
    code = f"import structopt\n{{debug}}\nprint(structopt.train({words}).weights.sum())"
    both = [run(code.format(debug=line)) for line in ("", "structopt.debug()")]
    assert [done.returncode for done in both] == [0, 0], both[1].stderr[-2000:]
    compiled, python = (float(done.stdout.split()[-1]) for done in both)
    assert python == pytest.approx(compiled, rel=1e-9)


def test_records_are_checked_deeply():
    record = checked(EMPTY._replace(floats=np.arange(3.0)))
    assert isinstance(record.floats, CheckedArray)
    assert record.floats[2] == 2.0
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        record.floats[3] = 1.0
    assert record.floats[np.array([0, 1])].tolist() == [0.0, 1.0]
    assert record.floats.reshape(1, 3)[0, 1:].tolist() == [1.0, 2.0]


SMALL = ("task.limit=3", "optimizer.epochs=1", "tracker=none", "quiet=true")
KERNEL_IS_PYTHON = """
import sys
from structopt.command.main import main
code = main(sys.argv[1:])
from structopt.kernels.chain import first_order
from structopt.kernels.waist.debug import CheckedArray, checked
import numpy as np
print(type(first_order.padded).__name__, type(checked(np.zeros(1))) is CheckedArray)
sys.exit(code)
"""


def command(*words, **environment):
    return subprocess.run(
        [sys.executable, "-c", KERNEL_IS_PYTHON, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.nightly("rest")
def test_debug_on_the_command_line(tmp_path):
    run, text = tmp_path / "run", tmp_path / "text"
    text.write_text("Ann\nslept\n")
    done = command("task=ner", *SMALL, f"hydra.run.dir={run}", "debug=true")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[-2] == "function"
    predict = ("predict", f"model={run}", f"input={text}", f"output={tmp_path / 'out'}")
    done = command(*predict, "debug=true")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[-2] == "function"


def test_numba_disable_jit_checks_bounds(tmp_path):
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL.format(expression="x[n]").replace("structopt.debug()", ""))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    assert "IndexError" in done.stderr
    assert f'{script}", line 11, in read' in done.stderr


@pytest.mark.nightly("sweeps")
def test_jobs_of_a_sweep_inherit_the_debug_mode(tmp_path):
    done = command(
        "--multirun", "task=ner", "seed=0,1", *SMALL, f"hydra.sweep.dir={tmp_path}", "debug=true"
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[-2] == "function"
    configs = sorted(tmp_path.rglob(".hydra/config.yaml"))
    assert len(configs) == 2
    assert all("debug: true" in path.read_text() for path in configs)


EVERY = """
import sys, warnings
from pathlib import Path
import structopt
structopt.debug()
from structopt import datasets
from structopt.config import registry
from structopt.errors import CompatibilityError, ConfigError

folder = Path(sys.argv[1])

def small(task, kind, count=2, end="\\n"):
    '''Return overrides: train and evaluate on the first instances of a shipped corpus.'''
    path = folder / f"{task}.{kind}"
    instances = datasets.path("train", kind).read_text(encoding="utf8").split(end)[:count]
    path.write_text("".join(one + end for one in instances), encoding="utf8")
    return [f"task={task}", f"task.train={path}", f"task.dev={path}"]

COMMON = ["optimizer.epochs=1", "tracker=none", "quiet=true"]
NER, MULTILABEL = small("ner", "conll", 3, "\\n\\n"), small("multilabel", "multilabel")
DEPENDENCY = [*small("dependency", "conllu", 2, "\\n\\n"), "features.hash_bits=10"]
CONSTITUENCY = small("constituency", "ptb")
runs = [[*NER, f"optimizer={name}"] for name in registry.installed("optimizer")]
runs += [[*MULTILABEL, f"inference={name}"] for name in registry.installed("inference")]
runs += [
    CONSTITUENCY,
    [*CONSTITUENCY, "factor_graph=span"],
    small("tagging", "conll", 3, "\\n\\n"),
    small("chunking", "conll", 3, "\\n\\n"),
    small("attributes", "crfsuite", 2, "\\n\\n"),
    small("multiclass", "libsvm", 12),
    [*small("coreference", "coref", 1, "#end document\\n"), "features.hash_bits=10"],
    small("summarization", "jsonl", 1),
    ["task=synthetic", "task.variables=5", "task.samples=2", "task.held_out=2"],
    [*NER, "factor_graph.order=2"],
    [*NER, "features.transitions=[bias,word]"],
    [*NER, "check=true"],
    [*MULTILABEL, "optimizer=dlpw"],
    [*NER, "loss=risk", "optimizer=sgd"],
    [*DEPENDENCY, "factor_graph.labeled=true"],
    [*DEPENDENCY, "factor_graph.projective=false"],
    [*DEPENDENCY, "factor_graph.projective=false", "factor_graph.single_root=false"],
    [*DEPENDENCY, "factor_graph=second_order"],
    [*DEPENDENCY, "factor_graph=second_order", "factor_graph.siblings=all"],
]
warnings.simplefilter("error", RuntimeWarning)
for number, overrides in enumerate(runs):
    try:
        structopt.train([*COMMON, *overrides], folder=folder / str(number))
    except (CompatibilityError, ConfigError) as error:
        print("refused", overrides, error)
    except Exception:
        print("failed", overrides)
        raise
"""


@pytest.mark.timeout(600)  # kernels are Python there
@pytest.mark.nightly("runs")
def test_every_component_stays_within_bounds(tmp_path):
    """Each optimizer, inference, task and graph trains in debug mode, or refuses the pair."""
    done = run(EVERY, str(tmp_path))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    refused = [line for line in done.stdout.splitlines() if line.startswith("refused")]
    assert len(refused) <= 3, done.stdout
