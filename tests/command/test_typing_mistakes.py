"""What a new user types wrong, and what the answer says: one message, exit code 2, nothing of
Hydra's own words.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hydra._internal.utils import get_args_parser

from structopt.command import main, spelling
from tests.command.commands import Stages, failed
from tests.parts import gate_cases

JARGON = re.compile(
    r"override|struct\b|GrammarParse|LexerNo|mismatched|defaults "
    r"list|full_key|object_type|HYDRA_FULL|Traceback|use \+|Error\b"
)
C = "Did you mean 'optimizer.C'? C = 1/(lambda m), lambda the strength of the regularisation"
MISTAKES = [
    # subcommands
    ("predit model=m input=i output=o", "There is no subcommand 'predit'. Did you mean 'predict'?"),
    ("Evaluate", "There is no subcommand 'Evaluate'. Did you mean 'evaluate'?"),
    ("fit task=ner", "There is no subcommand 'fit'. Did you mean 'train'?"),
    ("tag model=m", "There is no subcommand 'tag'. Did you mean 'predict'?"),
    (
        "frobnicate",
        "'frobnicate' is neither a subcommand nor KEY=VALUE. Write for example task=ner; structopt "
        "--help shows more.",
    ),
    # words that are no KEY=VALUE
    ("loss=svm optimizer= sgd", "There are spaces around '='. Write optimizer=sgd, without them."),
    ("loss=svm optimizer =sgd", "There are spaces around '='. Write optimizer=sgd, without them."),
    ("optimizer.C", "'optimizer.C' needs a value. Write optimizer.C=VALUE"),
    ("--task ner", "'--task': options are typed without hyphens. Write task=ner"),
    (
        "--optimizer.C=1",
        "'--optimizer.C=1': options are typed without hyphens. Write optimizer.C=1",
    ),
    ("-task=ner", "'-task=ner': options are typed without hyphens. Write task=ner"),
    ("--sweep optimizer.C=1,2", "There is no flag '--sweep'. Did you mean '--multirun'?"),
    ("--multrun seed=1,2", "There is no flag '--multrun'. Did you mean '--multirun'?"),
    ("--gpu", "There is no flag '--gpu'. Flags: --multirun, --help, --version, --cfg job"),
    (
        "\u2013\u2013multirun seed=1,2",
        "'\u2013\u2013multirun' begins with a long dash. Write a hyphen: --multirun",
    ),
    (
        "label=\u201cmine\u201d",
        'has curly quotes, which no shell knows. Write straight ones: label="mine"',
    ),
    ("'task.columns={word: 0}'", "begins with a quote that your shell did not take away."),
    ("my.yaml", "my.yaml: there is no such file. Files are named by keys: task.train=FILE"),
    (
        "here.yaml",
        "here.yaml: a config file is named by its folder and its name: --config-dir . "
        "--config-name here",
    ),
    ("here.conll", "here.conll: files are named by keys. Write task.train=here.conll;"),
    (
        "run",
        "run: to go on with this run: resume=run; to apply its model: structopt predict "
        "model=run input=FILE",
    ),
    (
        "task.train=my file.txt",
        "If it belongs to the word before it, quote the two: 'task.train=my file.txt'",
    ),
    ("optimizer=", "'optimizer=' gives optimizer no value. Write optimizer=NAME, or leave it out."),
    # names of components
    ("task=NER", "task 'NER' is not installed. Did you mean 'ner'?"),
    ("task=pos", "Did you mean 'tagging'?"),
    ("task=parsing", "Did you mean 'dependency'?"),
    ("task=chunk", "Did you mean 'chunking'?"),
    ("task=crf", "Did you mean 'loss=crf'?"),
    ("factor_graph=crf", "Did you mean 'linear_chain'?"),
    ("factor_graph=mst", "Did you mean 'arc_factored'?"),
    (
        "loss=hinge",
        "loss 'hinge' is not installed. Did you mean 'svm'? Installed: crf (structopt-trainer), ",
    ),
    ("loss=max-margin", "Did you mean 'svm'?"),
    ("loss=LogLoss", "Did you mean 'crf'?"),
    (
        "optimizer=adam",
        "Did you mean 'adagrad'? The nearest there is: AdaGrad too has a learning rate of every "
        "weight.",
    ),
    ("optimizer=L-BFGS", "Did you mean 'lbfgs'?"),
    ("optimizer=bcfw", "Did you mean 'sdca'?"),
    ("optimizer=svm", "Did you mean 'loss=svm'?"),
    (
        "inference=viterbi",
        "Did you mean 'exact'? Exact takes the algorithm that fits the factor graph:",
    ),
    ("inference=gurobi", "Did you mean 'ilp'? Solved by HiGHS, which is installed already."),
    (
        "tracker=wandb",
        "Did you mean 'none'? The run folder keeps history.csv and metrics.json with every "
        "tracker.",
    ),
    ("loss.cost=0/1", "hamming_normalized, labeled_arcs, rules, weighted. Did you mean 'hamming'?"),
    # keys
    ("optimizer.c=1", "Did you mean 'C'? It takes C: float = task.default_C, epochs: int = 30, "),
    ("Optimizer.C=1", "There is no key 'Optimizer'. Did you mean 'optimizer'?"),
    ("TASK=ner", "There is no key 'TASK'. Did you mean 'task'?"),
    ("loss.Gamma=1", "Did you mean 'gamma'?"),
    ("optimizer.lr=.1", "What is called eta here is a parameter of optimizer=adagrad, eg, sgd."),
    ("optimizer=sgd optimizer.lr=.1", "Did you mean 'eta'?"),
    (
        "optimizer.eta=.1",
        "optimizer=dca has no parameter 'eta'. That is a parameter of optimizer=adagrad, eg, sgd.",
    ),
    ("optimizer.lambda=1", "Did you mean 'C'? C = 1/(lambda m)"),
    (
        "optimizer.c2=1",
        "optimizer=dca has no parameter 'c2'. That is a parameter of optimizer=lbfgs.",
    ),
    ("optimizer.beta=1", "optimizer=dca has no parameter 'beta'. Did you mean 'loss.beta'?"),
    ("C=1", C),
    ("epochs=3", "There is no key 'epochs'. Did you mean 'optimizer.epochs'?"),
    ("max_iterations=3", "Did you mean 'optimizer.epochs'?"),
    ("beta=1", "Did you mean 'loss.beta'?"),
    ("train=a.txt", "Did you mean 'task.train'?"),
    ("templates=[word]", "Did you mean 'features.templates'?"),
    ("n_jobs=2", "Did you mean 'threads'?"),
    ("output=x", "Did you mean 'hydra.run.dir'? The folder of the run, with model/ in it."),
    ("algorithm=lbfgs", "Did you mean 'optimizer'?"),
    (
        "data=train.txt",
        "data=train.txt is of experiments, and none is typed: experiment=NAME. Files of your own "
        "are ",
    ),
    (
        "experiment=martins2010_tabel1_ner",
        "_tabel1_ner'. Did you mean 'martins2010_table1_ner'? Choices: ",
    ),
    ("+optimizer=dca", "there is one already. Write optimizer=NAME, without the sign +."),
    (
        "+optimizer.C=1",
        "'+optimizer.C=' adds a key that there is already. Write optimizer.C=VALUE, without the "
        "sign +.",
    ),
    (
        "optimizer=dca,sgd",
        "names several, and a run has one optimizer. To run each: --multirun optimizer=dca,sgd",
    ),
    ("optimizer=[dca,sgd]", "To run each: --multirun optimizer=dca,sgd"),
    ("optimizer@x=dca", "A group is typed without the sign @: optimizer=NAME."),
    ("=1", "'=1' is neither a subcommand nor KEY=VALUE."),
    ("--cfg jobs", "'--cfg jobs': it takes job, hydra, all."),
    # values
    (
        "task.columns=[word,pos]",
        "task.columns=[word,pos] is a list, and task.columns takes a mapping. Set "
        "'task.columns={word: 0, pos: 1}', with",
    ),
    (
        "task.columns={word: 0}",
        "the shell divides words at spaces. Quote it whole: 'task.columns={word: 0}'",
    ),
    ("task.columns={word:0", "its bracket { is not closed. Quote such words whole, for the shell:"),
    (
        "features.templates=word",
        "is a text, and features.templates takes a list. Set 'features.templates=[word]'.",
    ),
    ("features.templates=[word[-1..1],pos]", "Write 'features.templates=[\"word[-1..1]\", pos]'"),
    ("optimizer.C=0,1", "A decimal number has a point: optimizer.C=0.1."),
    ("optimizer.epochs=1e2", "optimizer.epochs=100.0 is not an int. Set 100."),
    ("--multirun optimizer.c=1,2", "Did you mean 'C'?"),
    ("--multirun loss=svm,hinge", "loss 'hinge' is not installed. Did you mean 'svm'?"),
    # other subcommands
    ("predict --model m", "predict: '--model': options are typed without hyphens, model=VALUE."),
    ("predict m input=i", "predict: 'm' is no option: options are KEY=VALUE."),
    ("predict model=m file=f", "predict has no option 'file'. Did you mean 'input'?"),
    ("predict model=m input=i output=o n_best=3", "Did you mean 'k_best'?"),
    ("predict Model=m", "predict has no option 'Model'. Did you mean 'model'?"),
    ("evaluate model = m", "There are spaces around '='. Write model=m, without them."),
    ("compare a metric = f1", "There are spaces around '='. Write metric=f1, without them."),
    ("compare a store=x", "compare has no option 'store'. Did you mean 'uri'?"),
    (
        "components optimizer=adagard",
        "optimizer 'adagard' is not installed. Did you mean 'adagrad'",
    ),
    ("components hinge", "There is no component called 'hinge'. Did you mean 'loss=svm'?"),
    ("components losses", "There is no kind of component called 'losses'. Did you mean 'loss'?"),
    ("resume=here.conll", "resume=here.conll is a file, not a run folder."),
    ("resume=run/checkpoint", "resume=run/checkpoint: this is a part of a run. Write resume=run"),
    ("resume=run/model", "resume=run/model: this is a part of a run. Write resume=run"),
    (
        "resume=model",
        "this is a model, which has no checkpoint to go on from. To start from its weights: "
        "warm_start=model",
    ),
    (
        "resume=sweep",
        "which goes on with: structopt --multirun seed=0,1 sweep.resume=true. One of its jobs "
        "alone: ",
    ),
    ("resume=runs", "resume=runs: this is no run folder. It holds runs: resume=runs/a."),
]


@pytest.fixture
def files(stages: Stages) -> Stages:
    """Files and folders that the words name, in the working directory."""
    for folder in (
        "run/.hydra",
        "run/checkpoint",
        "run/model",
        "model",
        "sweep/0",
        "runs/a/.hydra",
    ):
        Path(folder).mkdir(parents=True)
    notes = '{"command": ["--multirun", "seed=0,1"], "parent": ""}'
    contents = {
        "sweep/sweep.json": notes,
        "sweep/0/job.json": "{}",
        "runs/a/.hydra/config.yaml": "",
        "model/manifest.json": "{}",
    }
    for name, content in {
        **contents,
        "here.yaml": "",
        "here.conll": "",
        "run/model/manifest.json": "{}",
    }.items():
        Path(name).write_text(content)
    return stages


@pytest.mark.parametrize(
    ("command", "text"),
    gate_cases(MISTAKES, "rest", MISTAKES[::3]),
    ids=[command for command, _ in MISTAKES],
)
def test_mistakes(
    files: Stages, capsys: pytest.CaptureFixture[str], command: str, text: str
) -> None:
    words = [command] if command.startswith("'") else command.split(" ")
    message = failed(capsys, *words)
    assert text in message
    assert not JARGON.search(message)
    assert not files.calls


def test_flags_are_hydra_s() -> None:
    known = {flag for action in get_args_parser()._actions for flag in action.option_strings}
    assert known == {*spelling.SWITCHES, *spelling.VALUED, "--help", "-h", "--version"}


def test_flags_of_hydra_go_through(stages: Stages, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--info", "searchpath", "task=ner"]) == 0
    assert "conf" in capsys.readouterr().out
    assert main.main(["--cfg", "job", "-p", "optimizer"]) == 0
    assert "name: dca" in capsys.readouterr().out


def test_train_may_be_typed(stages: Stages) -> None:
    assert main.main(["train", "loss=svm", "tracker=none"]) == 0
    assert stages.calls[0][1]["loss"]["name"] == "svm"


@pytest.mark.parametrize("sign", ["", "+"])
def test_experiments_with_and_without_a_sign(stages: Stages, sign: str) -> None:
    words = [
        f"{sign}experiment=martins2010_figure3",
        "tracker=none",
        "scale=small",
        "hydra.sweep.dir=s",
    ]
    main.main(words)
    assert len(stages.calls) == 3
    assert {call[1]["optimizer"]["name"] for call in stages.calls} == {"dca", "sgd", "lbfgs"}


def test_texts_with_signs_need_no_quotes(stages: Stages) -> None:
    for text in ("donn\u00e9es/a.txt", "my (1).txt", "a=b.txt", "~/x.txt", "my file.txt"):
        assert main.main([f"task.train={text}", "tracker=none"]) == 0
        assert stages.calls[-1][1]["task"]["train"] == text
