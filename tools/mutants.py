"""Change the code in small ways, one at a time, and count the changes that tests detect.

Usage::

    python -m tools.mutants seed --count 200    # select mutants
    python -m tools.mutants map                 # find the tests that execute each of them
    python -m tools.mutants run --json now.json --against before.json
    python -m tools.mutants coverage            # lines that all these tests execute, by package

A mutant is a flipped sign, a dropped term, an off-by-one error or a swap of two arguments
(`tools.mutation`). The map ``tools/mutants.json`` names the code and the tests, and lists the
mutants, each by its file, its function and its statement, so that reformatting changes nothing. A
statement is selected if a hash of its text is below a threshold. So unchanged code keeps its
mutants, and new code gets mutants of the same density.

Nothing is compiled (``NUMBA_DISABLE_JIT=1``). A process that has imported the libraries forks for
each mutant. The fork imports one module with the mutant in it, and runs the tests until one fails.
"""

from __future__ import annotations

import _thread
import argparse
import ast
import hashlib
import importlib
import json
import os
import re
import resource
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.mutation import located, mutated, mutations, units

Table = dict[str, Any]

TABLE, MEASURED = "tools/mutants.json", ".mutants"
ENVIRONMENT = {"NUMBA_DISABLE_JIT": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
# imported once, before forking; those that are missing are skipped
LIBRARIES = (
    "numpy scipy.optimize scipy.sparse scipy.special numba.experimental pytest xdist "
    "pytest_timeout hypothesis.strategies hypothesis.extra.numpy cvxpy highspy hydra mlflow "
    "matplotlib.pyplot sklearn.base networkx pandas"
)
OPTIONS = ("-q", "-n0", "-p", "no:cacheprovider", "--hypothesis-seed=0")
MOST_TESTS, MOST_SECONDS = 12, 15.0  # per mutant
MEMORY = 8 << 30  # bytes of address space of a process
WALL = 1200  # seconds, for a busy machine
DEAD = ("killed", "timeout")


def seed(root: Path, table: Table, options: argparse.Namespace) -> None:
    """Select the mutants, and keep the tests of those that the table already has."""
    every = {mutant["id"]: (number, mutant) for number, mutant in candidates(root, table)}
    if options.count:
        table["density"] = sorted(number for number, _ in every.values())[options.count]
    tests = {mutant["id"]: mutant["tests"] for mutant in table["mutants"]}
    new = {name: mutant for name, (number, mutant) in every.items() if number < table["density"]}
    for mutant in new.values():
        mutant["tests"] = tests.get(mutant["id"], [])
    table["mutants"] = sorted(new.values(), key=lambda m: (m["file"], m["function"], m["before"]))
    added, gone = len(new.keys() - tests.keys()), len(tests.keys() - new.keys())
    print(f"{len(new)} mutants of {len(every)} statements; {added} are new, {gone} are gone.")


def candidates(root: Path, table: Table) -> Iterator[tuple[float, Table]]:
    """List one mutant per statement that has some, with the number in [0, 1) that selects it."""
    paths = [path for folder in table["code"] for path in sorted((root / folder).rglob("*.py"))]
    for path in paths:
        file = path.relative_to(root).as_posix()
        if re.search(table["skip_files"], file):
            continue
        for unit in units(ast.parse(path.read_text(encoding="utf8"))):
            skipped = re.search(table["skip_functions"], unit.function)
            texts = {} if skipped else mutations(unit.node)
            if not texts or re.match(table["skip_statements"], unit.before):
                continue
            text = f"{table['seed']} {path.stem} {unit.function} {unit.before} {unit.ordinal}"
            digest = hashlib.sha256(text.encode()).hexdigest()
            first, second, third = (int(digest[j : j + 13], 16) for j in (0, 13, 26))
            kind = list(texts)[second % len(texts)]
            mutant = {"id": digest[40:50], "file": file, "function": unit.function, "kind": kind}
            after = texts[kind][third % len(texts[kind])]
            mutant |= {"before": unit.before, "after": after, "ordinal": unit.ordinal}
            yield first / 16**13, mutant


def assign(root: Path, table: Table, options: argparse.Namespace) -> None:
    """Give each mutant the fastest tests that execute its lines."""
    data, tests = measurements(root, table, options)
    seconds = {name: duration for name, (outcome, duration) in tests.items() if outcome == "passed"}
    for mutant in table["mutants"]:
        path = root / mutant["file"]
        unit = located(ast.parse(path.read_text(encoding="utf8")), mutant)
        lines = data.get_data().contexts_by_lineno(str(path))
        names = {name for line in unit.lines for name in lines.get(line, ())} if unit else set()
        mutant["tests"] = fastest(names, seconds)
    print(f"{sum(not m['tests'] for m in table['mutants'])} mutants are executed by no test.")


def fastest(names: Iterable[str], seconds: dict[str, float]) -> list[str]:
    """Select tests: the fastest case of each function, then the next, within the limits."""
    ranks, ranked = Counter[str](), list[tuple[int, float, str]]()
    for name in sorted(set(names) & set(seconds), key=lambda name: (seconds[name], name)):
        function = name.partition("[")[0]
        ranked.append((ranks[function], seconds[name], name))
        ranks[function] += 1
    selected, total = list[str](), 0.0
    for _, duration, name in sorted(ranked)[:MOST_TESTS]:
        if not selected or total + duration <= MOST_SECONDS:
            selected.append(name)
            total += duration
    return selected


def run(root: Path, table: Table, options: argparse.Namespace) -> None:
    """Run the tests of each mutant, and print which mutants survive."""
    import pytest

    pattern = re.compile(options.only)
    mutants = [m for m in table["mutants"] if pattern.search(f"{m['id']} {m['file']}")]
    mutants = sorted(mutants, key=lambda m: m["id"])[: options.sample]
    existing = collected(root, {name for m in mutants for name in m["tests"]}, options)

    def work(mutant: Table) -> Any:
        path = root / mutant["file"]
        tree = mutated(path.read_text(encoding="utf8"), mutant) if path.exists() else None
        names = [name for name in mutant["tests"] if name in existing]
        if tree is None or not names:
            return ["gone" if tree is None else "not covered", ""]
        if not options.unchanged:
            replace_module(path, mutant["file"], tree)
        plugin = _FirstFailure()
        code = pytest.main([*OPTIONS, "-x", *names], [plugin])
        survived = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        return ["survived" if survived else "killed", plugin.name]

    results = []
    for mutant, answer, seconds in forked(mutants, work, options.limit, options):
        status, test = answer or ("timeout", "")
        result = {key: value for key, value in mutant.items() if key != "tests"}
        results.append(result | {"status": status, "test": test, "seconds": round(seconds, 1)})
        print(f"{mutant['id']} {mutant['file']} {mutant['function']}: {status} {test}", flush=True)
        if status == "survived":
            print(f"    before: {mutant['before']}\n    after:  {mutant['after']}", flush=True)
        if options.json:
            Path(options.json).write_text(json.dumps(results, indent=1))
    print_summary(results)
    if options.against:
        compare(json.loads(Path(options.against).read_text()), results)


def collected(root: Path, names: set[str], options: argparse.Namespace) -> set[str]:
    """Select the tests that exist, and print the others."""
    import pytest

    def work(file: str) -> Any:
        plugin = _Collected()
        pytest.main([*OPTIONS, "--collect-only", file], [plugin])
        return plugin.names

    files = {name.partition("::")[0] for name in names}
    present = sorted(file for file in files if (root / file).exists())
    existing = {n for _, found, _ in forked(present, work, 600, options) for n in found or ()}
    for name in sorted(names - existing):
        print(f"There is no test {name}. `python -m tools.mutants map` assigns the tests again.")
    return names & existing


def replace_module(path: Path, file: str, tree: ast.Module) -> None:
    """Have `import` load the module of a file from a syntax tree."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    class Loader(SourceFileLoader):
        def get_code(self, fullname: str) -> Any:
            return compile(tree, str(path), "exec")

    class Finder(PathFinder):
        @classmethod
        def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
            spec = super().find_spec(name, path, target) if name == module else None
            if spec is not None:
                spec.loader = Loader(name, str(spec.origin))
            return spec

    sys.meta_path.insert(0, Finder)


def print_summary(results: list[Table]) -> None:
    """Print how many mutants died, by folder."""
    folders = defaultdict[str, Counter[str]](Counter)
    for result in results:
        for folder in (str(Path(result["file"]).parent), "all"):
            folders[folder][result["status"]] += 1
    for folder in sorted(folders, key=lambda name: (name == "all", name)):
        counts = folders[folder]
        text = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        print(f"{folder}: {sum(counts[s] for s in DEAD)} of {counts.total()} died ({text})")


def compare(before: list[Table], after: list[Table]) -> None:
    """Print which mutants died in an earlier run, and do not now."""
    now = {result["id"]: result["status"] in DEAD for result in after}
    both = [(result, now[result["id"]]) for result in before if result["id"] in now]
    lost = [result for result, dies in both if result["status"] in DEAD and not dies]
    gained = sum(dies and result["status"] not in DEAD for result, dies in both)
    print(f"Of {len(both)} mutants in both results {gained} die only now, {len(lost)} no longer.")
    for result in lost:
        print(f"    {result['id']} {result['file']} {result['function']}: {result['before']}")
        print(f"        was detected by {result['test'] or 'a timeout'}")


def print_coverage(root: Path, table: Table, options: argparse.Namespace) -> None:
    """Print the part of the lines that the tests execute, by package."""
    data, _ = measurements(root, table, options)
    packages = defaultdict[str, Counter[str]](Counter)
    for path in sorted((root / table["package"]).rglob("*.py")):
        _, statements, _, missing, _ = data.analysis2(str(path))
        parts = path.relative_to(root).parent.parts[: 3 if "kernels" in path.parts else 2]
        for package in ("/".join(parts), "all"):
            packages[package].update(lines=len(statements), missing=len(missing))
    for package in sorted(packages, key=lambda name: (name == "all", name)):
        lines, missing = packages[package]["lines"], packages[package]["missing"]
        print(f"{package:32} {100 * (1 - missing / max(lines, 1)):5.1f} % of {lines:6,} lines")


def measurements(
    root: Path, table: Table, options: argparse.Namespace
) -> tuple[Any, dict[str, tuple[str, float]]]:
    """Run the tests under coverage, one process per file; return the lines that each test executes,
    its outcome and its CPU seconds.
    """
    import coverage
    import pytest

    folder = root / MEASURED
    folder.mkdir(exist_ok=True)
    for old in [] if options.keep else list(folder.iterdir()):
        old.unlink()

    def named(kind: str, file: str) -> Path:
        return folder / f"{kind}.{file.removesuffix('.py').replace('/', '-')}"

    def work(file: str) -> Any:
        lines = coverage.Coverage(named("lines", file), source=[str(root / table["package"])])
        plugin = _Measured(lines, options)
        signal.signal(signal.SIGPROF, plugin.stop)
        _trace_threads()
        lines.start()
        pytest.main([*OPTIONS, *table["options"], "--timeout=0", file], [plugin])
        lines.stop()
        lines.save()
        return plugin.tests

    files = test_files(root, table)
    missing = [file for file in files if not named("tests", file).exists()]
    for file, tests, seconds in forked(missing, work, 3600, options):
        named("tests", file).write_text(json.dumps(tests or {}))
        counts = Counter(outcome for outcome, _ in (tests or {}).values())
        text = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        print(f"{file}: {text or 'no test ran'}; {seconds:.0f} s", flush=True)
    data = coverage.Coverage(folder / "lines")
    data.combine([str(folder)], keep=True)
    data.save()
    return data, {k: v for f in files for k, v in json.loads(named("tests", f).read_text()).items()}


def test_files(root: Path, table: Table) -> list[str]:
    """List the files of tests in the table's folders."""
    paths = [path for name in table["tests"] for path in [root / name, *(root / name).rglob("*")]]
    files = {path.relative_to(root).as_posix() for path in paths if path.is_file()}
    return sorted(file for file in files if re.search(r"(^|/)test_\w+\.py$", file))


def _trace_threads() -> None:
    """Trace threads that are started without `threading`, as those of
    `structopt.kernels.waist.interruptible`.
    """
    start = _thread.start_new_thread

    def start_traced(function: Callable[..., Any], arguments: tuple[Any, ...], *more: Any) -> int:
        def traced(*arguments: Any) -> None:
            sys.settrace(threading.gettrace())
            function(*arguments)

        return start(traced, arguments, *more)

    _thread.start_new_thread = start_traced


class _FirstFailure:
    """Notes the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    pytest_collectreport = pytest_runtest_logreport


class _Collected:
    """Notes the tests that exist."""

    names: list[str] = []

    def pytest_collection_finish(self, session: Any) -> None:
        self.names = [item.nodeid for item in session.items]


class _TooSlow(BaseException):
    pass


class _Measured:
    """Notes the outcome and CPU seconds of each test, and attributes lines to it."""

    def __init__(self, lines: Any, options: argparse.Namespace) -> None:
        self.lines, self.limit, self.cases = lines, options.seconds, options.cases
        self.tests = dict[str, list[Any]]()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Select some cases of each test function, evenly among them."""
        functions = defaultdict[str, list[Any]](list)
        for item in items:
            functions[item.nodeid.partition("[")[0]].append(item)
        items[:] = [
            item
            for cases in functions.values()
            for k, item in enumerate(cases)
            if k == 0 or k * self.cases // len(cases) > (k - 1) * self.cases // len(cases)
        ]

    def stop(self, *_: Any) -> None:
        raise _TooSlow(f"The test takes more than {self.limit} seconds.")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.lines.switch_context(nodeid)
        self.tests[nodeid] = ["passed", time.process_time()]

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.tests[nodeid][1] = round(time.process_time() - self.tests[nodeid][1], 3)
        self.lines.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self.tests[report.nodeid][0] = report.outcome

    def pytest_runtest_setup(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, self.limit)

    def pytest_runtest_teardown(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)


def forked(
    tasks: Iterable[Any], work: Callable[[Any], Any], seconds: float, options: argparse.Namespace
) -> Iterator[tuple[Any, Any, float]]:
    """Compute `work(task)` in a forked process per task; yield task, result and duration.

    The result is None if the process died, or used more than `seconds` of CPU time or, for
    processes that wait forever, `WALL` seconds of wall-clock time.
    """
    waiting, running = list(tasks)[::-1], dict[int, tuple[Any, Path, float]]()
    with TemporaryDirectory() as folder:
        while waiting or running:
            if waiting and len(running) < options.jobs:
                task, result = waiting.pop(), Path(folder, str(len(waiting)))
                process = os.fork()
                if not process:
                    _compute(work, task, result, seconds, options.verbose)
                running[process] = task, result, time.perf_counter()
                continue
            process, _ = os.waitpid(-1, os.WNOHANG)
            if process in running:  # and not another child of this process
                task, result, start = running.pop(process)
                answer = json.loads(result.read_text()) if result.exists() else None
                yield task, answer, time.perf_counter() - start
                continue
            time.sleep(0.02)
            for process, (_, _, start) in running.items():
                if time.perf_counter() - start > max(WALL, seconds):
                    os.kill(process, signal.SIGKILL)


def _compute(
    work: Callable[[Any], Any], task: Any, result: Path, seconds: float, verbose: bool
) -> None:
    """Write the result of a forked process, and end the process."""
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = f"{result}.examples"
        if not verbose:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        partial = result.with_suffix(".part")
        partial.write_text(json.dumps(work(task)))
        partial.rename(result)
    finally:
        os._exit(0)


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Count the small changes that tests detect.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="checkout")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--verbose", action="store_true", help="print the output of pytest")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("seed", help="select mutants")
    command.add_argument("--count", type=int, help="how many; default: as dense as before")
    command.set_defaults(command=seed)
    for name, function in (("map", assign), ("coverage", print_coverage)):
        command = commands.add_parser(name, help=function.__doc__)
        command.add_argument("--keep", action="store_true", help="measure only new files of tests")
        command.add_argument("--cases", type=int, default=8, help="cases of a test function")
        command.add_argument("--seconds", type=float, default=10, help="CPU time of a test")
        command.set_defaults(command=function)
    command = commands.add_parser("run", help=run.__doc__)
    command.add_argument("--only", default="", help="pattern of id or file")
    command.add_argument("--sample", type=int, help="run only so many")
    command.add_argument("--limit", type=float, default=60, help="CPU seconds of a mutant")
    command.add_argument("--unchanged", action="store_true", help="run the tests without mutants")
    command.add_argument("--json", help="file for the results")
    command.add_argument("--against", help="results of an earlier run")
    command.set_defaults(command=run)
    return parser.parse_args(words)


def main() -> None:
    """Run a command."""
    options = parse()
    root = options.root.resolve()
    table = json.loads((root / TABLE).read_text(encoding="utf8"))
    if options.command is not seed:
        os.environ.update(ENVIRONMENT, PYTHONPATH=str(root))
        os.chdir(root)
        sys.path.insert(0, str(root))
        for name in LIBRARIES.split():
            with suppress(ImportError):
                importlib.import_module(name)
    options.command(root, table, options)
    if options.command in (seed, assign):
        text = json.dumps(table, indent=1, ensure_ascii=False)
        (root / TABLE).write_text(text + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
