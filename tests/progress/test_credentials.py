"""Tests of users and passwords in addresses: what is removed, remembered and restored."""

import json
import os

import pytest

from structopt.errors import ConfigError, StructoptError
from structopt.progress import credentials
from structopt.progress.credentials import VARIABLE, hidden, removed, removed_in, restored
from tests.messages import raises

SECRET = {
    "https://ann:pw1@host:5000/x": "https://***@host:5000/x",
    "https://token@host": "https://***@host",
    "https://ann:p@w:1@host": "https://***@host",
    "postgresql+psycopg2://ann:p/w?1@db.org:5432/m": "postgresql+psycopg2://***@db.org:5432/m",
    "mysql://db/m?ssl=1&user=ann&password=pw1": "mysql://db/m?ssl=1&user=***&password=***",
    "postgresql:///m?host=db&password=pw1": "postgresql:///m?host=db&password=***",
    "mssql+pyodbc:///?odbc_connect=UID%3Dann": "mssql+pyodbc:///?odbc_connect=***",
}
PLAIN = (
    "https://host:5000/a@b",
    "http://[::1]:5000",
    "sqlite:////tmp/u:p@x/mlflow.db",
    "file:///tmp/a@b",
    "ann:pw1@host",
    "see http://host: mail a@b",
    '{"uri":"http://host","mail":"a@b"}',
)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VARIABLE, credentials.STORE, *credentials.SEPARATE):
        monkeypatch.setenv(name, "")  # which is set back afterwards
        monkeypatch.delenv(name)


@pytest.mark.parametrize(("address", "clean"), SECRET.items())
def test_removed_and_restored(address: str, clean: str) -> None:
    assert removed(address) == removed(clean) == clean
    assert restored(clean) == address
    assert str(StructoptError(f"no answer from '{address}'")) == f"no answer from '{clean}'"


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay(text: str) -> None:
    assert removed(text) == restored(text) == text
    assert VARIABLE not in os.environ


def test_all_addresses_of_a_text() -> None:
    text = "tracker.uri=a://u:p@h/x,b://v:q@g"
    assert removed(text) == "tracker.uri=a://***@h/x,b://***@g"
    assert restored("a://***@h/x") == "a://u:p@h/x"
    assert restored("b://***@g") == "b://v:q@g"


def test_nodes_of_a_config() -> None:
    node = {"name": "mlflow", "uri": "https://u:p@h", "more": ["https://u:p@h", 1, None]}
    clean = {"name": "mlflow", "uri": "https://***@h", "more": ["https://***@h", 1, None]}
    assert removed_in(node) == clean


def test_the_environment_restores(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = {"parameter": "tracker.uri", "value": "https://***@h/x"}
    with raises(ConfigError, match="MLFLOW_TRACKING_USERNAME", **lacks):
        restored("https://***@h/x")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://u:p@other")
    with raises(ConfigError, **lacks):
        restored("https://***@h/x")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://u:p@h")
    assert restored("https://***@h/x") == "https://u:p@h/x"


def test_mlflow_takes_the_user_of_a_server_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "u")
    assert restored("https://***@h/x") == "https://h/x"
    with pytest.raises(ConfigError):
        restored("postgresql://***@h/x")


def test_words_of_remembered_credentials_are_hidden() -> None:
    removed("https://ann:p%40w1@h")
    text = "no password p@w1 (p%40w1) for user 'ann' of Hannover"
    assert hidden(text) == "no password *** (***) for user '***' of Hannover"


def test_a_variable_of_another_program_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "no JSON")
    assert removed("https://u:p@h") == "https://***@h"
    assert json.loads(os.environ[VARIABLE]) == {"https://h": "u:p"}
