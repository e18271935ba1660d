"""Components are checked against each other by what they say as data: nothing compiled is loaded
for it.
"""

import subprocess
import sys

CODE = """
import sys
from itertools import product
from structopt.config import compatibility, registry
from structopt.errors import CompatibilityError

def made(kind):
    return [registry.create(kind, {"name": name}) for name in registry.installed(kind)]

graphs, inferences, losses, optimizers = map(made, ("factor_graph", "inference", "loss", "optimizer"))
rows = [
    *product(graphs[:1], inferences[:1], losses, optimizers[:1]),
    *product(graphs[:1], inferences[:1], losses[:1], optimizers),
    *product(graphs, inferences, losses[:1], optimizers[:2]),
]
refused = 0
for row in rows:
    try:
        compatibility.check(*row)
    except CompatibilityError:
        refused += 1
heavy = sorted(name for name in sys.modules if name in ("numba", "scipy", "highspy"))
sys.exit(f"imported: {heavy}" if heavy else 0 if refused else "nothing was refused")
"""


def test_checks_load_nothing_compiled():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
