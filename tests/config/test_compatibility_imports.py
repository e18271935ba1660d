"""Components are checked against each other by what they say as data: nothing compiled is loaded
for it.
"""

import subprocess
import sys

CODE = """
import sys
from structopt.config import compatibility, registry
from structopt.errors import CompatibilityError

def made(kind):
    return [registry.create(kind, {"name": name}) for name in registry.installed(kind)]

refused = 0
losses, optimizers = made("loss"), made("optimizer")
for graph in made("factor_graph"):
    for inference in made("inference"):
        for loss, optimizer in [(losses[0], one) for one in optimizers] + [(one, optimizers[0]) for one in losses]:
            try:
                compatibility.check(graph, inference, loss, optimizer)
            except CompatibilityError:
                refused += 1
heavy = sorted(name for name in sys.modules if name in ("numba", "scipy", "highspy"))
sys.exit(f"imported: {heavy}" if heavy else 0 if refused else "nothing was refused")
"""


def test_checks_load_nothing_compiled():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
