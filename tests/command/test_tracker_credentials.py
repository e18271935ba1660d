"""Commands whose tracker's address has a user and a password: no file and no message shows them."""

import base64
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from structopt.command import main
from structopt.process import folder_lock
from structopt.progress import credentials

USER, PASSWORD = "annie", "pw-4711"
AUTHORIZATION = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
SMALL = ("task=ner", "task.limit=5", "optimizer.epochs=1", "objective_every=0", "tracker.timeout=1")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (credentials.VARIABLE, credentials.STORE, *credentials.SEPARATE):
        monkeypatch.setenv(name, "")  # which is set back afterwards
        monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A server that refuses all requests: its host, and what it was sent for authorization."""
    sent: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(self.headers["Authorization"] or "")
            self.send_response(403)
            self.end_headers()
            self.wfile.write(f"no password of {USER} fits {PASSWORD}".encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as answering:
        threading.Thread(target=answering.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{answering.server_port}", sent
        answering.shutdown()


def _check(folder: Path, *texts: str) -> None:
    """Check that no file of a folder, nor its name, nor any text has the secret."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        text = path.read_bytes().decode("utf8", "replace")
        assert USER not in text and PASSWORD not in text, path
    assert not [text for text in (*texts, *map(str, files)) if USER in text or PASSWORD in text]


def _own_tracker(folder: Path, uri: str) -> str:
    """Write a config of a tracker with an address; return the override that finds it."""
    (folder / "conf/tracker").mkdir(parents=True)
    (folder / "conf/tracker/ours.yaml").write_text(f"defaults: [mlflow]\nuri: {uri}\n")
    return f"hydra.searchpath=[{folder}/conf]"


def test_a_run_and_its_continuation(
    server: tuple[str, list[str]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, sent = server
    monkeypatch.chdir(tmp_path)
    address = f"http://{USER}:{PASSWORD}@{host}"
    monkeypatch.setattr("sys.argv", ["structopt", *SMALL, f"tracker.uri={address}"])
    with folder_lock.locked(tmp_path / "locked"):
        _check(tmp_path / "locked")
    words = (*SMALL, f"tracker.uri={address}", "hydra.run.dir=run")
    assert main.main(words) == 0
    shown = capfd.readouterr()
    assert f"http://***@{host}" in shown.err
    _check(tmp_path / "run", *shown)
    assert AUTHORIZATION in sent

    monkeypatch.delenv(credentials.VARIABLE)  # as in a new process
    assert main.main(["resume=run", "optimizer.epochs=2"]) == 2
    assert f"tracker.uri='http://***@{host}' lacks its user and password" in capfd.readouterr().err
    for more in ([f"tracker.uri={address}"], []):
        sent.clear()
        assert main.main(["resume=run", "optimizer.epochs=2", *more]) == 0
        _check(tmp_path / "run", *capfd.readouterr())
        assert AUTHORIZATION in sent
        monkeypatch.delenv(credentials.VARIABLE)
        monkeypatch.setenv(credentials.STORE, address)


def test_a_configuration_that_is_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hydra prints the nodes of files as they are."""
    uri = f"postgresql+psycopg2://{USER}:{PASSWORD}@host/db?sslmode=require"
    search = _own_tracker(tmp_path, uri)
    monkeypatch.setenv(credentials.STORE, uri)
    for flags in (["--cfg", "job"], ["--info", "all"], ["--cfg", "job", "--resolve"]):
        for words in (["tracker=ours", search], ["tracker.uri=${oc.env:MLFLOW_TRACKING_URI}"]):
            assert main.main([*SMALL, *words, *flags]) == 0
            shown = "".join(capfd.readouterr())
            assert USER not in shown and PASSWORD not in shown
            if flags[0] == "--cfg" and (words[0] == "tracker=ours" or "--resolve" in flags):
                assert "uri: postgresql+psycopg2://***@host/db?sslmode=require" in shown


@pytest.mark.nightly("sweeps")
def test_a_sweep_whose_address_is_in_a_file(
    server: tuple[str, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    host, sent = server
    search = _own_tracker(tmp_path, f"http://{USER}:{PASSWORD}@{host}")
    folder = tmp_path / "sweep"
    words = (*SMALL, "tracker=ours", search, f"hydra.sweep.dir={folder}", "seed=0,1", "loss.beta=1")
    assert main.main(["--multirun", *words]) == 0
    _check(folder, *capfd.readouterr())
    assert AUTHORIZATION in sent
    assert main.main([*(w for w in words if w != "seed=0,1"), f"hydra.run.dir={folder}/one"]) == 0
    _check(folder, *capfd.readouterr())
