"""The parts of the nightly tests, and the seconds that one file of tests may take."""

PARTS = {
    "pairs": "products of optimizers, losses, inferences and graphs",
    "storms": "kills, signals and full disks in separate processes",
    "ray": "workers of Ray on this machine",
    "cluster": "nodes of Ray that are started and killed",
    "sweeps": "sweeps and searches of many jobs",
    "plugins": "plugins, built and installed as distributions",
    "experiments": "published experiments at reduced sizes",
    "documents": "commands, code and scripts of the documentation",
    "data": "real corpora in the folder STRUCTOPT_DATA",
    "fuzzing": "mutated files and folders with the seed of the day",
    "optima": "convergence to certified optima",
    "runs": "training, resuming, saving and serving in every variant",
    "rest": "other tests that take long",
}
"""Arguments of the marker `nightly`, and of the option `--nightly`."""

GATE_SECONDS = 10.0
"""Budget of a file, for its tests outside nightly."""

NIGHTLY_SECONDS = 120.0
"""Budget of a file, for its tests of one nightly part."""
